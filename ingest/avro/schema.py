"""Avro schemas as frozen values: a closed set."""

from typing import Literal

import attrs

Physical = Literal["null", "boolean", "int", "long", "float", "double", "bytes", "string"]
PHYSICALS: tuple[Physical, ...] = (
    "null", "boolean", "int", "long", "float", "double", "bytes", "string",
)  # fmt: skip


@attrs.frozen
class Notes:
    """Annotations next to a physical type that do not change its bytes."""

    connect_name: str = ""
    logical: str = ""
    precision: int | None = None
    scale: int | None = None
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def semantic(self) -> str:
        """The meaning: `connect.name`, else `logicalType`, else nothing."""
        return self.connect_name or self.logical

    def parameter(self, name: str) -> str | None:
        """Return one of `connect.parameters`."""
        return dict(self.parameters).get(name)


@attrs.frozen
class Scalar:
    """A primitive type."""

    physical: Physical
    notes: Notes = Notes()


@attrs.frozen
class Enum:
    """An enumeration.  Its values are read as text."""

    name: str
    symbols: tuple[str, ...]
    notes: Notes = Notes()


@attrs.frozen
class Fixed:
    """A number of bytes that is always the same."""

    name: str
    size: int
    notes: Notes = Notes()


@attrs.frozen
class Array:
    """A list."""

    items: "Schema"
    notes: Notes = Notes()


@attrs.frozen
class MapOf:
    """A map from text."""

    values: "Schema"
    notes: Notes = Notes()


@attrs.frozen
class Field:
    """A field of a record.  `default` is JSON, or None for a field without a default."""

    name: str
    type: "Schema"
    default: str | None = None
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """Tags that the registry's users gave its values, such as `PII`."""


@attrs.frozen
class Record:
    """A struct.  `name` is its full name."""

    name: str
    fields: tuple[Field, ...]
    notes: Notes = Notes()

    def field(self, name: str) -> Field | None:
        """Return the field of that exact name."""
        return next((field for field in self.fields if field.name == name), None)


@attrs.frozen
class Nullable:
    """A union of null and one other type.  `null_first` gives the order of the branches on the wire."""

    of: "Schema"
    null_first: bool = True


@attrs.frozen
class Union:
    """Any other union, also one with a single branch, because a branch number precedes its value."""

    branches: tuple["Schema", ...]


Schema = Scalar | Enum | Fixed | Array | MapOf | Record | Nullable | Union


def not_null(schema: Schema) -> Schema:
    """Return the schema without a null branch around it."""
    return schema.of if isinstance(schema, Nullable) else schema
