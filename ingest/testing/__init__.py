"""Test the tables that `ingest` makes of your events: builders, an assertion and a pytest plugin.

The plugin provides `ingest_servers`, `ingest_spark`, `ingest_spark_conf` and `ingest_deployment`.
"""

from ingest.testing.columns import (
    Columns,
    date,
    decimal,
    enum,
    fields_of,
    nullable,
    record,
    semantic,
    time,
    timestamp,
    variable_decimal,
    zoned_timestamp,
)
from ingest.testing.comparison import assert_table
from ingest.testing.connectors import CONNECTORS, Connector
from ingest.testing.envelopes import envelope_schema, key_schema
from ingest.testing.topic import Message, Messages, Row, Topic
from ingest.testing.wire import framed, unscaled

__all__ = [
    "CONNECTORS",
    "Columns",
    "Connector",
    "Message",
    "Messages",
    "Row",
    "Topic",
    "assert_table",
    "date",
    "decimal",
    "enum",
    "envelope_schema",
    "fields_of",
    "framed",
    "key_schema",
    "nullable",
    "record",
    "semantic",
    "time",
    "timestamp",
    "unscaled",
    "variable_decimal",
    "zoned_timestamp",
]
