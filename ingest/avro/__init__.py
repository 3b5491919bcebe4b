"""Avro schemas as frozen values, and the one parser.

`parse` turns the text of a registry, with the texts that it references, into a `Schema`.  `render` returns
the JSON of its wire form.  This package does not know Debezium, Spark or registries.

Parsing follows the Avro 1.11 specification (https://avro.apache.org/docs/1.11.1/specification/), with two
liberties that real registries need.  A logical type that its physical type cannot carry is kept as a note
instead of refused (Oracle's negative scales).  Defaults are not validated, because they never reach the wire.
"""

from ingest.avro.names import find_ambiguous, is_name
from ingest.avro.parser import MAX_DEPTH, parse
from ingest.avro.schema import (
    PHYSICALS,
    Array,
    Enum,
    Field,
    Fixed,
    MapOf,
    Notes,
    Nullable,
    Physical,
    Record,
    Scalar,
    Schema,
    Union,
    not_null,
)
from ingest.avro.tagging import with_tags
from ingest.avro.wire import render, wire_name

__all__ = [
    "MAX_DEPTH",
    "PHYSICALS",
    "Array",
    "Enum",
    "Field",
    "Fixed",
    "MapOf",
    "Notes",
    "Nullable",
    "Physical",
    "Record",
    "Scalar",
    "Schema",
    "Union",
    "find_ambiguous",
    "is_name",
    "not_null",
    "parse",
    "render",
    "wire_name",
    "with_tags",
]
