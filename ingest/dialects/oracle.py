"""Debezium's Oracle connector, 1.9 and later, by LogMiner or XStream."""

from ingest.dialects.dialect import Dialect, Guard, Term, number_term

_SCN_WIDTH = 20  # an SCN is an unsigned number of up to 64 bits, written as decimal text of any length
_LCR_WIDTH = 80

# Up to 2.4 only the last event of a transaction carries its own commit SCN, the others that of the commit
# before: there the SCN of the change says nothing more, and Kafka's order decides.  From 2.5 on every event
# has its own (debezium: AbstractLogMinerEventProcessor.handleCommit, v1.9.7 … v2.5.0).
_EARLY = " or ".join(
    f"startswith({{s.version}}, '{version}.')" for version in ("1", "2.0", "2.1", "2.2", "2.3", "2.4")
)


def _padded(scn: str) -> str:
    return f"lpad({scn}, {_SCN_WIDTH}, '0')"


def _no_number(field: str) -> str:
    c = f"{{s.{field}}}"
    return f"length({c}) > {_SCN_WIDTH} or length(translate({c}, '0123456789', '')) > 0"


ORACLE = Dialect(
    name="oracle",
    title="Oracle",
    source_records=("io.debezium.connector.oracle.Source",),
    source={
        "version": "string",
        "scn": "string",
        "commit_scn": "string",
        "lcr_position": "string",
        "txSeq": "long",
    },
    terms=(
        Term(
            name="commit_scn",
            sort=_padded("coalesce({s.commit_scn}, {s.scn}, '')"),
            text="{c}",
            fault=f"coalesce({{s.commit_scn}}, {{s.scn}}) is null or {_no_number('commit_scn')}",
        ),
        Term(
            name="scn",
            sort=_padded(f"if({_EARLY}, '', coalesce({{s.scn}}, ''))"),
            text="{c}",
            fault=_no_number("scn"),
        ),
        number_term("txSeq", "{s.txSeq}", "{s.txSeq} < 0"),
        # XStream: hexadecimal of any length, longer is later (debezium: oracle/xstream/LcrPosition.java).
        Term(
            name="lcr_position",
            sort=f"lpad(coalesce({{s.lcr_position}}, ''), {_LCR_WIDTH}, '0')",
            text="{c}",
            fault=f"length({{s.lcr_position}}) > {_LCR_WIDTH}",
        ),
    ),
    rank="'1'",
    topic_parts=(("server", "schema", "table"),),
    flattened_fields=("commit_scn", "scn"),
    other_ops={"t": "truncate"},
    has_placeholders=True,
    has_infinity=True,
    caveats=(
        Guard("Oracle stores '' as null"),
        Guard("Debezium 2.1 sends RAW as null"),
        Guard(
            "months of an interval are counted as 30.4375 days; interval.handling.mode = string keeps them",
            ("io.debezium.time.MicroDuration",),
        ),
    ),
    documentation="https://debezium.io/documentation/reference/stable/connectors/oracle.html",
)
