"""Debezium's Oracle connector, 1.9 and later, by LogMiner or XStream."""

from ingest.dialects.dialect import Dialect, Guard, Term, number_term

_SCN_WIDTH = 20  # an SCN is an unsigned number of up to 64 bits, written as decimal text of any length
_LCR_WIDTH = 80

# Up to 2.4 an event has the last commit SCN of its redo thread.  This is the event's commit SCN only if it
# ends a transaction.  It is null from a snapshot to the thread's first commit, and old on a RAC thread that
# was idle.  A transaction that was open at the snapshot has an SCN below the snapshot's.  No value of such an
# event orders it, so Kafka's order applies.  From 2.5 on every event has its own commit SCN (debezium:
# CommitScn.store, AbstractLogMinerEventProcessor.handleCommit, v1.9.7 to v2.5.0).  Without a version the
# older is assumed.
_BY_KAFKA = "coalesce({early}, true)".format(
    early=" or ".join(
        f"startswith({{s.version}}, '{version}.')"
        for version in ("0", "1", "2.0", "2.1", "2.2", "2.3", "2.4")
    )
)

# XStream sends no commit SCN before 3.3.  The LCR position begins with it: commit SCN and SCN, eight bytes
# each, each with eight more, then the version (Oracle: XStreamUtility.getCommitSCNFromPosition).
_LCR_DIGITS = 66
_LCR_COMMIT = (
    f"if(length({{s.lcr_position}}) = {_LCR_DIGITS}, conv(left({{s.lcr_position}}, 16), 16, 10), null)"
)


def _padded(scn: str) -> str:
    return f"ingest_padded_text({scn}, {_SCN_WIDTH})"


def _no_number(field: str) -> str:
    return f"not ingest_is_number({{s.{field}}}, {_SCN_WIDTH})"


_SCN, _COMMIT_SCN = _padded("coalesce({s.scn}, '')"), _padded("coalesce({s.commit_scn}, '')")

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
            sort=_padded(f"if({_BY_KAFKA}, '', coalesce({{s.commit_scn}}, {_LCR_COMMIT}, {{s.scn}}, ''))"),
            text="{c}",
            fault=f"coalesce({{s.commit_scn}}, {{s.scn}}) is null or {_no_number('commit_scn')}",
        ),
        Term(
            name="offset",
            sort=f"if({_BY_KAFKA} and coalesce({{op}} != 't', true), offset, 0L)",
            text="ingest_padded_number({c}, 19)",
            fault="not ingest_is_number(replace(substring_index({s.version}, '.', 2), '.', ''), 9)",
            fault_field="version",
            within_partition=True,
        ),
        # Of rows in other partitions only the SCN says that they are older than a truncate, which holds the
        # table's lock until it commits.
        Term(
            name="scn",
            sort=f"if({_BY_KAFKA} and {{op}} <=> 't', greatest({_SCN}, {_COMMIT_SCN}), {_SCN})",
            text="{c}",
            fault=_no_number("scn"),
        ),
        number_term("txSeq", "{s.txSeq}", "{s.txSeq} < 0"),
        # XStream: hexadecimal of any length, longer is later (debezium: oracle/xstream/LcrPosition.java).
        Term(
            name="lcr_position",
            sort=f"ingest_padded_text(coalesce({{s.lcr_position}}, ''), {_LCR_WIDTH})",
            text="{c}",
            fault=f"not ingest_is_hex({{s.lcr_position}}, {_LCR_WIDTH})",
        ),
    ),
    rank="'2'",  # '1' is in tables of an earlier ingest, whose positions lose against all others
    topic_parts=(("server", "schema", "table"),),
    flattened_fields=("commit_scn", "scn"),
    other_ops={"t": "truncate"},
    has_placeholders=True,
    has_infinity=True,
    caveats=(
        Guard("Oracle stores '' as null", ("string",)),
        Guard(
            "events of Debezium before 2.5 are ordered by Kafka's offsets: after a restart of the connector "
            "rows may show an earlier state until all events that it sends again are read"
        ),
        Guard("Debezium 2.1 sends RAW as null", ("bytes",)),
        Guard(
            "months of an interval are counted as 30.4375 days; interval.handling.mode = string keeps them",
            ("io.debezium.time.MicroDuration",),
        ),
    ),
    documentation="https://debezium.io/documentation/reference/stable/connectors/oracle.html",
)
