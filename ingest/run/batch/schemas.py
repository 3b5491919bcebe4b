"""The writer schemas of a topic's messages, and the table compiled from them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from ingest import avro
from ingest.compile.envelope import classify
from ingest.compile.payload import WriterSchema
from ingest.compile.table import CompiledTable, compile_table
from ingest.compile.tags import tagged
from ingest.dialects import DIALECTS
from ingest.errors import SchemaError, SchemaNotFoundError, UnmappedTypeError
from ingest.kafka.sample import PER_END, sample
from ingest.names import Partition, SchemaId, Subject
from ingest.registry import FrameId, Registered, Registry, Schema, suggesting, versions_in_order
from ingest.run.batch.messages import read_schema, written_in
from ingest.settings import Settings
from ingest.tables import Feed, IdKind, id_kinds

Spans = Mapping[Partition, tuple[int, int]]
"""First offset and exclusive end of each partition."""

PayloadSchemas = tuple[tuple[WriterSchema, ...], tuple[WriterSchema, ...]]
"""The schemas of keys, and the schemas of values."""

_BY_ID: Final = frozenset[IdKind]({"id"})
_WIDER = 200
"""The number of records to read at each end if the nearest ones hold no change."""


def fetch_written(
    settings: Settings, registry: Registry, feed: Feed, ranges: Spans, retained: Spans
) -> PayloadSchemas:
    """Fetch the schemas that can be known before the range is read.  `run.batch` finds the others in it.

    For Avro, these are all versions of both subjects, deleted ones too, since their records may remain.  For
    JSON, these are the declared schema, or the schemas inside the first and the last messages of the range.
    If these are not changes (tombstones, heartbeats), the messages at the ends of the whole topic give the
    schemas.
    """
    key, value = feed.subjects.key, feed.subjects.value
    if feed.table.format == "avro" and value:
        kinds = id_kinds(feed.table.framings)
        return fetch_versions(registry, key, kinds) if key else (), fetch_versions(registry, value, kinds)
    if feed.table.schema:
        path = settings.tables_dir / feed.table.schema
        return _bare_keys(feed), (_declared(read_schema(path), path),)
    if value:
        newest = fetch_versions(registry, value)[-1]
        return _bare_keys(feed), (WriterSchema(SchemaId(-1), newest.label, newest.schema),)
    keys, values = _sampled(settings, feed, ranges)
    if any(classify(schema.schema) == "data" for schema in values):
        return keys, values
    return _sampled(settings, feed, retained, per_end=_WIDER)


def _sampled(settings: Settings, feed: Feed, spans: Spans, per_end: int = PER_END) -> PayloadSchemas:
    kafka = settings.kafka
    records = sample(kafka, feed.topic, spans, per_end=per_end)
    keys = written_in((record.key for record in records), f"keys of topic {feed.topic}")
    values = written_in((record.value for record in records), f"values of topic {feed.topic}")
    return keys or _bare_keys(feed), values


def document_keys() -> tuple[WriterSchema, ...]:
    """Return the schema of a document's key, which messages without schemas do not hold."""
    key = avro.Record("Key", (avro.Field("id", avro.Scalar("string")),))
    return (WriterSchema(SchemaId(-1), "a document's key", key),)


def _bare_keys(feed: Feed) -> tuple[WriterSchema, ...]:
    """Return the schema of keys without one, only a document's.  Other keys are columns of the row."""
    return document_keys() if DIALECTS[feed.table.dialect].is_document else ()


def _declared(schema: avro.Schema, path: Path) -> WriterSchema:
    return WriterSchema(SchemaId(-1), path.name, schema)


def fetch_versions(
    registry: Registry, subject: Subject, kinds: frozenset[IdKind] = _BY_ID
) -> tuple[WriterSchema, ...]:
    """Fetch the versions of a subject, the soft-deleted ones before the others: the last one is the latest.

    `kinds` are the kinds of ids that messages name them by.

    Raises `SchemaNotFoundError` for a subject without versions.
    """
    with suggesting(registry, subject, "Register it, or fix the table file"):
        versions = [registry.version(subject, number) for number in versions_in_order(registry, subject)]
        if not versions:
            raise SchemaNotFoundError(registry.url, f"subject {subject}")
    return tuple(
        attrs.evolve(
            _written(registry, version, label(version)),
            version=version.version,
            frame_ids=registry.frame_ids(version, kinds),
        )
        for version in versions
    )


def fetch_by_id(registry: Registry, schema_ids: Iterable[SchemaId]) -> tuple[WriterSchema, ...]:
    """Fetch schemas by id that are not versions of the subject.  Skip missing and unreadable ones."""
    schemas = []
    for schema_id in schema_ids:
        try:
            schema = registry.by_id(schema_id)
            schemas.append(_written(registry, schema, f"schema id {schema_id}"))
        except (SchemaNotFoundError, SchemaError):
            continue
    return tuple(schemas)


def in_met_order(
    registry: Registry, feed: Feed, values: Sequence[WriterSchema], met_ids: Sequence[SchemaId]
) -> tuple[WriterSchema, ...]:
    """Return the schemas of a topic, after those that a table of several topics has met, in that order.

    Columns fit each other as over versions, and a version's alias may name a column of another topic.
    """
    if not feed.source or feed.table.format != "avro":
        return tuple(values)
    own = {schema.schema_id: schema for schema in values}
    others = fetch_by_id(registry, (schema_id for schema_id in met_ids if schema_id not in own))
    known = {schema.schema_id: schema for schema in others} | own
    met = dict.fromkeys(schema_id for schema_id in met_ids if schema_id in known)
    return tuple(known[schema_id] for schema_id in met | dict.fromkeys(known))


def fetch_by_frame_id(
    registry: Registry, frame_ids: Iterable[FrameId], fetched: Sequence[WriterSchema]
) -> PayloadSchemas:
    """Fetch schemas by the ids that framings name them by, except missing and unreadable ones.

    Returns the fetched schemas, which may have such an id, and the new ones.
    """
    old_ids = {frame_id for schema in fetched for frame_id in schema.frame_ids}
    by_id: dict[SchemaId, tuple[FrameId, ...]] = {}
    for frame_id in set(frame_ids) - old_ids:
        try:
            schema_id = registry.by_frame_id(frame_id).id
        except (SchemaNotFoundError, SchemaError):
            continue
        by_id[schema_id] = (*by_id.get(schema_id, ()), frame_id)
    new_ids = by_id.keys() - {schema.schema_id for schema in fetched}

    def named(schema: WriterSchema) -> WriterSchema:
        return attrs.evolve(schema, frame_ids=(*schema.frame_ids, *by_id.get(schema.schema_id, ())))

    return tuple(map(named, fetched)), tuple(map(named, fetch_by_id(registry, sorted(new_ids))))


def label(registered: Registered) -> str:
    """Return how messages name a version."""
    return f"{registered.subject} v{registered.version} (id {registered.id})"


def _written(registry: Registry, schema: Registered | Schema, label: str) -> WriterSchema:
    *references, text = registry.with_references(schema)
    parsed = avro.with_tags(avro.parse(text, references, where=label), schema.tags)
    return WriterSchema(schema.id, label, parsed)


def compile_written(
    feed: Feed, keys: Sequence[WriterSchema], values: Sequence[WriterSchema]
) -> CompiledTable:
    """Compile a table without the schemas that cannot be compiled: their messages are rejected.

    Raises `SchemaError` or `UnmappedTypeError` if no version can be compiled.
    """
    feed = tagged(feed, keys, values)
    try:
        return compile_table(feed, keys, values)
    except (SchemaError, UnmappedTypeError) as error:
        left_out = _stranger(feed, keys, values) or _version(feed, keys, values, str(error))
        if left_out is None:
            raise
        own_keys, own_values = (tuple(s for s in part if s is not left_out[0]) for part in (keys, values))
        compiled = compile_written(feed, own_keys, own_values)
        if len(own_keys) < len(keys):
            return attrs.evolve(compiled, unmapped_keys=(left_out, *compiled.unmapped_keys))
        return attrs.evolve(compiled, unmapped=(left_out, *compiled.unmapped))


def _stranger(
    feed: Feed, keys: Sequence[WriterSchema], values: Sequence[WriterSchema]
) -> tuple[WriterSchema, str] | None:
    """Return a schema that is no version of the subjects and does not fit their versions, and the reason.

    A message names it, which may have come to the wrong topic: it must not stop the others.
    """
    fits: list[WriterSchema] = []

    def problem() -> str:
        own = (tuple(s for s in part if s.version or any(s is f for f in fits)) for part in (keys, values))
        return _problem(feed, *own)

    known = problem()
    strangers = [schema for schema in (*keys, *values) if not schema.version]
    for stranger in strangers if any(schema.version for schema in values) else ():
        fits.append(stranger)
        if (reason := problem()) not in ("", known):
            return stranger, reason if stranger.label in reason else f"{stranger.label}: {reason}"
    return None


def _version(
    feed: Feed, keys: Sequence[WriterSchema], values: Sequence[WriterSchema], problem: str
) -> tuple[WriterSchema, str] | None:
    """Return the value schema that has a problem without the others, too, if there are others."""
    for schema in values if len(values) > 1 else ():
        if _problem(feed, keys, (schema,)) == problem:
            return schema, problem
    return None


def _problem(feed: Feed, keys: Sequence[WriterSchema], values: Sequence[WriterSchema]) -> str:
    """Return the reason why schemas cannot be compiled together, or empty if they can."""
    try:
        compile_table(feed, keys, values)
    except (SchemaError, UnmappedTypeError) as error:
        return str(error)
    return ""
