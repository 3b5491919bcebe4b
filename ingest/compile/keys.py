"""The key of a table: the columns that identify a row, from message keys, from the rows, or from both."""

from collections.abc import Sequence

from ingest import avro
from ingest.compile.column_versions import (
    Image,
    compile_columns,
    merged_type,
    reader_json,
    readers,
    target_name,
    wire_json,
)
from ingest.compile.document import document_key
from ingest.compile.envelope import Envelope
from ingest.compile.payload import CompiledWriter, Payload, WriterSchema
from ingest.config.rules import suggest
from ingest.dialects import Dialect
from ingest.errors import SchemaError
from ingest.names import SchemaId
from ingest.sql.types import Simple, SparkType
from ingest.tables import SOURCE, Feed


def message_key(keys: Sequence[WriterSchema]) -> tuple[str, ...]:
    """Return the columns of the newest message key."""
    newest = keys[-1].schema if keys else None
    return tuple(field.name for field in newest.fields) if isinstance(newest, avro.Record) else ()


def unique_key(envelope: Envelope) -> tuple[str, ...]:
    """Return the columns of the unique key that the envelope carries, if any."""
    return tuple(field.name for field in envelope.unique.fields) if envelope.unique else ()


def no_key(feed: Feed, keys: Sequence[WriterSchema]) -> SchemaError:
    """Return the error of a table whose messages do not identify a row."""
    todo = "Name the columns that are unique: [key] columns = [...]"
    if keys:
        return SchemaError(keys[-1].label, "$", "is not a record, so it names no key columns", todo)
    problem = "has no key schema, so its rows have no identity"
    return SchemaError(f"topic {feed.topic}", "$key", problem, todo)


def bare_key(feed: Feed, envelope: Envelope, names: Sequence[str]) -> tuple[WriterSchema, ...]:
    """Return the schema of JSON keys that hold none, to compare them with the row: its key columns."""
    if feed.table.format == "avro" or feed.table.key.mismatch == "ignore":
        return ()
    fields = tuple(field for field in envelope.row.fields if field.name in names)
    return (WriterSchema(SchemaId(-1), "the message key", avro.Record("Key", fields)),) if fields else ()


def compile_keys(feed: Feed, dialect: Dialect, keys: Sequence[WriterSchema]) -> Payload:
    """Compile the schemas of message keys. Raises SchemaError."""
    written = [writer for writer in keys if isinstance(writer.schema, avro.Record)]
    images = [
        Image(w.schema_id, w.label, w.schema, w.version) for w in written if isinstance(w.schema, avro.Record)
    ]
    column_versions = compile_columns(feed, dialect, images, "$")
    if dialect.is_document:
        column_versions = document_key(column_versions)
    writers = tuple(
        CompiledWriter(
            writer.schema_id,
            writer.label,
            "data",
            wire_json(image.record, image, column_versions),
            image.fields(column_versions),
            writer.frame,
            writer.version,
            image.record,
            writer.frame_ids,
        )
        for writer, image in zip(written, images, strict=True)
    )
    return Payload(writers, column_versions, reader_json("K", readers(column_versions)))


def key_columns_of(feed: Feed, payload: Payload, names: Sequence[str]) -> tuple[tuple[str, SparkType], ...]:
    """Return the key columns with their types.

    Raises SchemaError for a column that does not exist, or whose mask or type could merge two keys.
    """
    columns, topic = payload.columns(), f"topic {feed.topic}"
    key_columns = []
    for name in (target_name(feed.table, name) for name in names):
        if name not in columns:
            problem, todo = "is not a column and cannot be a key", suggest(name, columns)
            raise SchemaError(topic, f"$.{name}", problem, todo)
        mask = columns[name][0].mapped.mask
        if mask and mask != "hash":
            problem = f"is a key column, and the mask '{mask}' would merge rows of different keys"
            raise SchemaError(topic, f"$.{name}", problem, 'A key can have the mask "hash"')
        lossy = next((v.mapped.merges for v in columns[name] if v.mapped.merges), "")
        if lossy:
            raise SchemaError(
                topic,
                f"$.{name}",
                f"is a key column, and its type loses {lossy}: two keys could become one",
                f'Keep all of it: [columns.{name}] nanos = "string", time = "string" or type = "string"',
            )
        key_columns.append((name, merged_type(columns[name], topic)))
    return tuple(key_columns)


def source_column(feed: Feed) -> tuple[tuple[str, SparkType], ...]:
    """Return the part of the key that names the topic, if the table has several."""
    return ((SOURCE, Simple("string")),) if feed.source else ()
