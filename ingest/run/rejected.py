"""What stops a range: its first record that cannot be read, by its place; and what may still save it."""

from collections.abc import Sequence
from typing import Final

import attrs
from pyspark.sql import DataFrame

from ingest.compile.side import Written
from ingest.compile.table import CompiledTable, compile_table
from ingest.decode.diagnosis import first_reject, unknown_frames, unknown_ids
from ingest.decode.format import FORMATS
from ingest.errors import DecodeError, SchemaError, UnmappedTypeError
from ingest.kafka.read import fetch_record
from ingest.names import Partition, Topic
from ingest.registry import Registry
from ingest.run.messages import written_in
from ingest.run.schemas import Sides, fetch_by_id
from ingest.settings import KafkaSettings
from ingest.tables import Table

_ID_HEADERS: Final = frozenset({"__key_schema_id", "__value_schema_id"})
"""Where Confluent's HeaderSchemaIdSerializer puts the schema's GUID; the payload is bare Avro then."""


def compile_written(
    table: Table, keys: Sequence[Written], values: Sequence[Written], messages: DataFrame
) -> CompiledTable:
    """Compile a table; a version that cannot be compiled stops only a range that holds a record of it.

    Raises `DecodeError` for the first such record.
    """
    try:
        return compile_table(table, keys, values)
    except (SchemaError, UnmappedTypeError) as error:
        culprit = next((one for one in values if _problem(table, keys, one) == str(error)), None)
        if culprit is None:
            raise
        _refuse_written_by(culprit, table, messages, error)
        others = [one for one in values if one is not culprit]
        if not others:
            raise
        return compile_written(table, keys, others, messages)


def explain_reject(
    kafka: KafkaSettings, rejects: DataFrame, compiled: CompiledTable, count: int
) -> DecodeError:
    """Return the error that names the first rejected record, and looks at its headers too."""
    error = first_reject(rejects, compiled, count)
    place = Topic(error.topic), Partition(error.partition), error.offset
    record = fetch_record(kafka.bootstrap_servers, kafka.properties, *place)
    named = sorted(_ID_HEADERS.intersection(name for name, _ in record.headers)) if record else []
    if not named:
        return error
    return attrs.evolve(error, reason=f"a schema id in the header {' and '.join(named)} is not supported yet")


def fetch_more(registry: Registry, rejects: DataFrame, compiled: CompiledTable, known: Sides) -> Sides:
    """Find the schemas of rejected records that are no versions of a subject, or that were not sampled."""
    keys, values = known
    if compiled.table.format == "avro":
        named = zip(unknown_ids(rejects, compiled), known, strict=True)
        more = [
            fetch_by_id(registry, set(ids).difference(one.schema_id for one in tried)) for ids, tried in named
        ]
        return more[0], more[1]
    if any(not one.frame for one in values):
        return (), ()  # declared: what a message holds is not looked at
    topic = compiled.table.topic
    new_keys = written_in(unknown_frames(rejects, "key", compiled.key), f"keys of topic {topic}", keys)
    frames = unknown_frames(rejects, "value", compiled.value)
    return new_keys, written_in(frames, f"values of topic {topic}", values)


def _problem(table: Table, keys: Sequence[Written], value: Written) -> str:
    """Say why one version cannot be compiled; empty if it can."""
    try:
        compile_table(table, keys, (value,))
    except (SchemaError, UnmappedTypeError) as error:
        return str(error)
    return ""


def _refuse_written_by(culprit: Written, table: Table, messages: DataFrame, error: Exception) -> None:
    written = messages.where(FORMATS[table.format].written_by(culprit, "value"))
    for first in written.select("partition", "offset").orderBy("partition", "offset").limit(1).collect():
        raise DecodeError(table.topic, first.partition, first.offset, str(error)) from error
