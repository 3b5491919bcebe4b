"""Debezium's PostgreSQL connector, 1.9 and later, and openGauss's fork of 1.8."""

from ingest.dialects.dialect import Dialect, Guard, number_term

_DIGITS = 20
_NUMERIC = ("org.apache.kafka.connect.data.Decimal", "io.debezium.data.VariableScaleDecimal")

# `sequence` is JSON text of two numbers, ["last commit LSN","LSN"], the first null before any commit.  The
# functions return -1 for other text.
_LAST_COMMIT = "ingest_first_number({s.sequence})"
_LAST_LSN = "ingest_last_number({s.sequence})"
_LSN = f"coalesce({_LAST_LSN}, {{s.lsn}})"


POSTGRES = Dialect(
    name="postgres",
    title="PostgreSQL",
    source_records=("io.debezium.connector.postgresql.Source",),
    source={"sequence": "string", "lsn": "long"},
    # Events come in commit order, and `lsn` is the change's own position in the log: a transaction that began
    # early and commits late has small ones.  `sequence` starts with the commit before the event, and rows of
    # an incremental snapshot have only this commit (debezium: postgresql/SourceInfo.java, connection/Lsn).
    terms=(
        number_term("sequence", f"coalesce({_LAST_COMMIT}, {_LSN})", f"{_LAST_LSN} < 0", _DIGITS),
        number_term("lsn", _LSN, f"{_LSN} is null or {_LSN} < 0", _DIGITS),
    ),
    rank="'1'",
    topic_parts=(("server", "schema", "table"),),
    flattened_fields=("lsn", "sequence"),
    # openGauss adds to Debezium's (opengauss/debezium: Envelope.java).  Operations that do not change a row
    # are counted.
    other_ops={"t": "truncate", "tc": "truncate", "m": "message", "l": "ddl", "i": "index"},
    has_placeholders=True,
    has_offsets=False,
    has_infinity=True,
    caveats=(
        Guard("numeric NaN arrives as null", _NUMERIC),
        Guard(
            "months of an interval are counted as 30.4375 days; interval.handling.mode = string keeps them",
            ("io.debezium.time.MicroDuration",),
        ),
        Guard("a snapshot drops the era of dates BC", ("io.debezium.time.Date",)),
    ),
    without_key="PostgreSQL refuses updates and deletes of a table without a key that is in a publication, "
    "unless it has `replica identity full`",
    documentation="https://debezium.io/documentation/reference/stable/connectors/postgresql.html",
)
