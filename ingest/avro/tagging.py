"""Tags of fields from outside of a schema's text."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

import attrs

from ingest.avro.schema import Array, Field, MapOf, Nullable, Record, Schema, Union

Tags = Iterable[tuple[str, tuple[str, ...]]]


def with_tags(schema: Schema, tags: Tags) -> Schema:
    """Add tags to the fields that paths name: `Record.field`, by the full or short name, with wildcards."""
    rules = tuple(tags)
    return _tagged(schema, rules) if rules else schema


def _tagged(schema: Schema, tags: tuple[tuple[str, tuple[str, ...]], ...]) -> Schema:
    match schema:
        case Record():
            return attrs.evolve(schema, fields=tuple(_field(schema, field, tags) for field in schema.fields))
        case Nullable():
            return attrs.evolve(schema, of=_tagged(schema.of, tags))
        case Array():
            return attrs.evolve(schema, items=_tagged(schema.items, tags))
        case MapOf():
            return attrs.evolve(schema, values=_tagged(schema.values, tags))
        case Union():
            return attrs.evolve(schema, branches=tuple(_tagged(branch, tags) for branch in schema.branches))
        case _:
            return schema


def _field(record: Record, field: Field, tags: tuple[tuple[str, tuple[str, ...]], ...]) -> Field:
    added = tuple(tag for path, names in tags if _fits(record, field, path) for tag in names)
    return attrs.evolve(field, type=_tagged(field.type, tags), tags=(*field.tags, *added))


def _fits(record: Record, field: Field, path: str) -> bool:
    """Tell whether a path names a field.  A doubtful path does, since a tag hides values."""
    pattern = path.replace("**", "*")
    names = (record.name, record.name.rpartition(".")[2])
    return field.name == path or any(fnmatchcase(f"{name}.{field.name}", pattern) for name in names)
