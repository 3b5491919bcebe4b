"""Test the tables that `ingest` makes of your events: builders, an assertion and a pytest plugin.

The plugin provides `ingest_servers`, `ingest_spark`, `ingest_spark_conf` and `ingest_deployment`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from ingest.testing.deployment import Deployment

__all__ = [
    "CONNECTORS",
    "Columns",
    "Connector",
    "Deployment",
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


def __getattr__(name: str) -> Any:
    """Import on first use: pytest loads this package wherever `ingest` is installed."""
    if name == "Deployment":
        return import_module("ingest.testing.deployment").Deployment
    raise AttributeError(f"module 'ingest.testing' has no attribute '{name}'")
