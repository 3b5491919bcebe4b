"""Plain records without a connector: transaction metadata, heartbeats and the like, as separate tables."""

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
