"""Plain records, of no connector: transaction metadata, heartbeats and the like, as tables of their own."""

from ingest.dialects.dialect import Dialect

RECORD = Dialect(
    name="record",
    title="Plain records",
    source_records=(),
    source={},
    terms=(),
    rank="'1'",
    topic_parts=(),
)
