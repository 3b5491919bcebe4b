"""Messages of SQL Server's, position by hand, and the rows that ingest makes of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from pyspark.sql import DataFrame, SparkSession

from ingest.compile.evolve import evolve
from ingest.compile.table import CompiledTable
from ingest.decode.events import decode_events
from ingest.order.batch_counts import BatchCounts
from ingest.order.changes import Changes, Stored
from ingest.order.columns import types_of
from ingest.order.latest import latest_by_key
from ingest.order.models import count_batch, model_of
from ingest.testing import framed
from tests.compile.sqlserver import ID, KEY_ID, VALUE_ID, Json, envelope, key

MESSAGE = "partition int, offset bigint, key binary, value binary"


def source(**fields: Any) -> dict[str, Any]:
    """Make a source block's value."""
    texts = dict.fromkeys(("version", "connector", "name", "db", "schema", "table"), "x")
    position = {"commit_lsn": "00000025:00000d98:00a2", "change_lsn": None, "event_serial_no": None}
    return {**texts, "ts_ms": 1_700_000_000_123, "snapshot": "false", "sequence": None, **position, **fields}


def change(
    op: str, after: Mapping[str, Any] | None, before: Mapping[str, Any] | None = None, **at: Any
) -> dict[str, Any]:
    """Make an envelope's value; `at` are fields of the source."""
    return {"before": before, "after": after, "source": source(**at), "op": op, "ts_ms": 1}


@attrs.frozen
class Topic:
    """The schemas of a topic, from which its messages are made."""

    versions: Sequence[Mapping[str, Json]]
    keys: Mapping[str, Json] = attrs.field(factory=lambda: ID)

    def key(self, **columns: Any) -> bytes:
        """Encode a message key."""
        return framed(KEY_ID, key(self.keys), columns)

    def value(self, event: Mapping[str, Any], version: int = 0) -> bytes:
        """Encode an event with one version's schema."""
        return framed(VALUE_ID + version, envelope(self.versions[version]), event)

    def row(self, row: Mapping[str, Any], version: int = 0, **at: Any) -> tuple[bytes, bytes]:
        """Encode a row that was read, with its key."""
        return self.key(**{name: row[name] for name in self.keys}), self.value(
            change("r", row, **at), version
        )


def frame(
    spark: SparkSession,
    messages: Sequence[tuple[bytes | None, bytes | None]],
    offsets: Sequence[int] | None = None,
) -> DataFrame:
    """Make the frame that the Kafka room gives: partition 0, offsets from 100 where none are given."""
    places = range(100, 100 + len(messages)) if offsets is None else offsets
    rows = [(0, n, _array(k), _array(v)) for n, (k, v) in zip(places, messages, strict=True)]
    return spark.createDataFrame(rows, MESSAGE)


def _array(payload: bytes | None) -> bytearray | None:
    return None if payload is None else bytearray(payload)


def changes_of(messages: DataFrame, compiled: CompiledTable, stored: DataFrame | None = None) -> Changes:
    """Decode messages, keep the newest change of each key, and count them, as a run does."""
    latest = latest_by_key(decode_events(messages, compiled), compiled).persist()
    counts = count_batch(latest, compiled)
    evolution = evolve(compiled, counts.schema_ids, types_of(stored) if stored else None)
    return Changes(latest, compiled, evolution, counts)


def rows_of(messages: DataFrame, compiled: CompiledTable) -> tuple[BatchCounts, DataFrame]:
    """Take messages the whole way to the rows that would be written, as a run does."""
    changes = changes_of(messages, compiled)
    return changes.counts, model_of(compiled).rows(changes, Stored(), None)
