"""The tags of a schema's fields, and the masks that a deployment has for them.

A tag is in the field itself (`confluent:tags`), in the parameters of its type (Connect's `tags`), or in the
metadata that the registry keeps with the schema.  One anywhere within a column's type counts for the column.
"""

from collections.abc import Iterator, Sequence
from typing import Final, assert_never

import attrs

from ingest import avro
from ingest.compile.payload import WriterSchema
from ingest.masking import strictest
from ingest.tables import Feed

PARAMETERS: Final = ("confluent:tags", "tags")
"""The parameters whose value is a list of tags, comma separated."""


def tagged(feed: Feed, keys: Sequence[WriterSchema], values: Sequence[WriterSchema]) -> Feed:
    """Return a feed with the masks that tags give its columns, in any version of its keys or values."""
    tags = feed.masking.tags
    if not tags:
        return feed
    columns = dict(feed.masking.columns)
    for schema in (*keys, *values):
        for field in _fields(schema.schema):
            masks = [tags[tag] for tag in tags_of(field) if tag in tags]
            mask = strictest([*masks, *([columns[field.name]] if field.name in columns else [])])
            if mask:
                columns[field.name] = mask
    return attrs.evolve(feed, masking=attrs.evolve(feed.masking, columns=columns))


def _fields(schema: avro.Schema) -> Iterator[avro.Field]:
    """Yield every field, of nested records too: only the row's columns are looked up by name."""
    for inner in _parts(schema):
        if isinstance(inner, avro.Record):
            yield from inner.fields


def tags_of(field: avro.Field) -> set[str]:
    """Return the tags of a field and of everything within its type."""
    tags = set(field.tags)
    for schema in _parts(field.type):
        match schema:
            case avro.Record(fields=fields, notes=notes):
                tags |= {tag for inner in fields for tag in inner.tags} | _in_notes(notes)
            case avro.Nullable() | avro.Union():
                pass
            case avro.Scalar(notes=notes) | avro.Enum(notes=notes) | avro.Fixed(notes=notes):
                tags |= _in_notes(notes)
            case avro.Array(notes=notes) | avro.MapOf(notes=notes):
                tags |= _in_notes(notes)
            case _:
                assert_never(schema)
    return tags


def _in_notes(notes: avro.Notes) -> set[str]:
    texts = filter(None, map(notes.parameter, PARAMETERS))
    return {tag.strip(' []"') for text in texts for tag in text.split(",")}


def _parts(schema: avro.Schema) -> Iterator[avro.Schema]:
    """Yield a schema and all schemas within it."""
    yield schema
    match schema:
        case avro.Record(fields=fields):
            for field in fields:
                yield from _parts(field.type)
        case avro.Nullable(of=inner) | avro.Array(items=inner) | avro.MapOf(values=inner):
            yield from _parts(inner)
        case avro.Union(branches=branches):
            for branch in branches:
                yield from _parts(branch)
        case avro.Scalar() | avro.Enum() | avro.Fixed():
            pass
        case _:
            assert_never(schema)
