"""Debezium's SQL Server connector, 1.9 and later."""

from ingest.dialects.dialect import Dialect, Guard, Term, number_term

# `xxxxxxxx:xxxxxxxx:xxxx`, lower-case hexadecimal (debezium: sqlserver/Lsn.java), so that text order is log
# order.  Null sorts lowest: a snapshot row has the log's end as commit LSN and no change LSN.
_NULL_LSN = "00000000:00000000:0000"


def _lsn(field: str) -> Term:
    width, c = len(_NULL_LSN), f"{{s.{field}}}"
    return Term(
        name=field,
        sort=f"ingest_padded_text(coalesce({c}, '{_NULL_LSN}'), {width})",
        text="{c}",
        fault=f"not ingest_is_lsn({c})",
    )


SQLSERVER = Dialect(
    name="sqlserver",
    title="SQL Server",
    source_records=("io.debezium.connector.sqlserver.Source",),
    source={"commit_lsn": "string", "change_lsn": "string", "event_serial_no": "long"},
    # Commit LSN, change LSN, then the number inside the pair.  SQL Server may log an update as delete and
    # insert at one change LSN, and a key change comes as d (1) and c (2) (debezium:
    # sqlserver/SqlServerOffsetContext.java, documentation: event_serial_no).
    terms=(
        _lsn("commit_lsn"),
        _lsn("change_lsn"),
        number_term("event_serial_no", "{s.event_serial_no}", "{s.event_serial_no} < 0"),
    ),
    # A snapshot row's commit LSN is the log's end when the snapshot began, and streaming continues strictly
    # after it.  So the LSN already ranks initial, repeated and incremental snapshots.  Only a row that was
    # read before the log had any LSN must be put below everything.
    rank="if({op} = 'r' and {s.commit_lsn} is null, '0', '1')",
    topic_parts=(("server", "schema", "table"), ("server", "database", "schema", "table")),
    flattened_fields=("commit_lsn",),
    time_resolution_ns=100,
    has_placeholders=True,
    caveats=(
        Guard(
            "Debezium before 3.6 sends null for a varchar/nvarchar/varbinary(max) column that an update "
            "did not change",
            ("string", "bytes"),
        ),
        Guard(
            "Debezium 2.1 streams time(4) to time(7) with milliseconds only",
            ("io.debezium.time.MicroTime", "io.debezium.time.NanoTime"),
        ),
    ),
    documentation="https://debezium.io/documentation/reference/stable/connectors/sqlserver.html",
)
