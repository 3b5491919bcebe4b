"""Huawei's CDL (MRS): its own JSON (message_version 1.0) and its Debezium JSON (2.0)."""

from ingest.dialects.dialect import Dialect, Guard, number_term

CDL = Dialect(
    name="cdl",
    title="CDL",
    source_records=(),
    source={"lsn": "long"},
    # Nothing but the LSN and Kafka's order: CDL sends no `sequence` (seed: CDL JSON, tables 1 and 2).
    terms=(number_term("lsn", "{s.lsn}", "{s.lsn} is null or {s.lsn} < 0", digits=20),),
    rank="'1'",
    topic_parts=(("schema", "table"), ("server", "schema", "table")),
    has_placeholders=True,
    caveats=(
        Guard(
            "the order is that of the log, not of commits: of two transactions that overlap, a row's last "
            "change still wins, since its lock lets them change it only one after the other"
        ),
    ),
    documentation="https://support.huaweicloud.com/intl/en-us/cmpntguide-lts-mrs/mrs_01_24124.html",
)
