"""The source of a topic, read from the `source` block of the topic's events."""

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, Final
from urllib.parse import unquote

import attrs
import fastavro
from pyspark.sql import SparkSession

from ingest.compile.payload import Payload
from ingest.compile.table import CompiledTable
from ingest.decode.framing import has_framings, unframe
from ingest.decode.wire import HEADER_BYTES
from ingest.errors import SourceRefusedError, UsageError
from ingest.kafka.breaks import Watermark
from ingest.kafka.ranges import OffsetRange, TopicRanges
from ingest.kafka.read import read
from ingest.kafka.sample import sample
from ingest.names import Partition
from ingest.settings import KafkaSettings, SourceSettings
from ingest.tables import TableConfig, source_fields

_SAMPLES: Final = 20
_UNNAMED: Final = frozenset({"mysql", "oracle", "mongodb"})
"""Dialects with URLs that name no database, or another database than the tables'."""


@attrs.frozen
class Origin:
    """The table behind a topic, as its connector names it. `prefix` is the connector's `topic.prefix`."""

    dialect: str
    prefix: str
    database: str
    schema: str
    table: str

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the table's name in SQL."""
        owner = self.database if self.dialect == "mysql" else self.schema
        return (owner, self.table)

    def __str__(self) -> str:
        return ".".join(filter(None, (self.database, self.schema, self.table)))


def find_origin(
    spark: SparkSession,
    kafka: KafkaSettings,
    compiled: CompiledTable,
    marks: Mapping[Partition, Watermark],
    of_topic: Payload | None = None,
) -> Origin:
    """Read the origin from a topic's newest events.  Raises `UsageError` if they name no table.

    `of_topic` reads the source blocks of all events in a topic of several tables.
    """
    table = compiled.table
    spans = {partition: (max(mark.begin, mark.end - _SAMPLES), mark.end) for partition, mark in marks.items()}
    if has_framings(table):
        values = _unframed_values(spark, kafka, compiled, spans)
    else:
        values = [record.value for record in sample(kafka, compiled.feed.topic, spans, per_end=_SAMPLES)]
    own = source_fields(table) if table.source_table else {}
    for value in reversed(values):
        for block in _source_blocks(table, of_topic or compiled.value, value):
            text = {key: str(block.get(key) or "") for key in ("name", "db", "schema", "table", "collection")}
            if own and text["name"] != own["name"]:
                continue
            text |= own  # another table of the same connector has the same database
            named = text["table"] or text["collection"]
            if named:
                return Origin(table.dialect, text["name"], text["db"], text["schema"], named)
    problem = (
        f"table {table.name}: the newest events of topic {compiled.feed.topic} do not name their source table"
    )
    raise UsageError(
        problem, "Verify needs Debezium's whole envelope, and an event that is still in the topic"
    )


def _unframed_values(
    spark: SparkSession,
    kafka: KafkaSettings,
    compiled: CompiledTable,
    spans: Mapping[Partition, tuple[int, int]],
) -> Sequence[bytes | None]:
    """Read values of any framing, and return them in Confluent's first framing."""
    topic = compiled.feed.topic
    ranges = TopicRanges(
        topic, tuple(OffsetRange(topic, part, start, end) for part, (start, end) in sorted(spans.items()))
    )
    if ranges.is_empty:
        return ()
    messages = read(spark, ranges, kafka, min_partitions=1, headers=True)
    return [row.value for row in unframe(messages, compiled).select("value").collect()]


def _source_blocks(table: TableConfig, payload: Payload, value: bytes | None) -> Iterator[Mapping[str, Any]]:
    """Yield the `source` block of an event, if it has one."""
    if not value:
        return
    try:
        event = _decode(table, payload, value)
    except (ValueError, EOFError, IndexError, LookupError):
        return
    match event:
        case {"payload": {"source": dict() as block}} | {"source": dict() as block}:
            yield block
        case _:
            return


def _decode(table: TableConfig, payload: Payload, value: bytes) -> Any:
    if table.format != "avro":
        return json.loads(value)
    (schema_id,) = struct.unpack(">I", value[1:HEADER_BYTES])
    wire = next((w.wire for w in payload.writers if w.schema_id == schema_id and w.wire), "")
    if not wire:
        return None
    schema = fastavro.parse_schema(json.loads(wire))
    return fastavro.schemaless_reader(BytesIO(value[HEADER_BYTES:]), schema, None)


def check_any(sources: Mapping[str, SourceSettings], table: str) -> None:
    """Raise `UsageError` if the settings have no source."""
    if not sources:
        problem = f"table {table}: the settings have no source"
        raise UsageError(problem, "Add [sources.NAME] with url, user, password and driver")


def choose_source(origin: Origin, sources: Mapping[str, SourceSettings], table: str) -> str:
    """Return the name of the source that holds the origin.  Raises `UsageError` unless exactly one does."""
    check_any(sources, table)
    names = [name for name, source in sources.items() if _is_origin(origin, source)]
    if len(names) == 1:
        return names[0]
    listed = "; ".join(f"{name}: {source.url}" for name, source in sources.items())
    if names:
        problem = f"table {table}: {origin} may lie in any of the sources {', '.join(names)}"
        raise UsageError(problem, f'Tell them apart: prefix = "{origin.prefix}" in its [sources.NAME]')
    problem = f"table {table}: its topic comes from {origin} ({origin.dialect}, prefix {origin.prefix})"
    raise UsageError(f"{problem}, which is not in a source of the settings", f"Those are {listed}")


def _is_origin(origin: Origin, source: SourceSettings) -> bool:
    if source.database != origin.dialect or (source.prefix and source.prefix != origin.prefix):
        return False
    database = database_of(source.url)
    return not database or origin.dialect in _UNNAMED or database == origin.database


def database_of(url: str) -> str:
    """Return the database that a JDBC URL names, or an empty text without one."""
    if url.startswith("jdbc:sqlserver:"):
        options = (part.partition("=") for part in url.split(";")[1:])
        return next((v for k, _, v in options if k.strip().lower() in {"databasename", "database"}), "")
    path = url.partition("?")[0].rpartition("//")[2]
    return unquote(path.partition("/")[2])


def check_database(origin: Origin, name: str, found: str | None) -> None:
    """Compare the name of the connected database with the origin's."""
    if found is not None and origin.dialect in {"postgres", "sqlserver"} and found != origin.database:
        problem = f"its database is {found}, and the topic comes from {origin.database}"
        raise SourceRefusedError(name, problem, "Correct the url in [sources]")
