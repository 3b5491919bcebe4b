"""Which row of the type table a type has: by its name, its physical type and the table's policies."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

import attrs

from ingest import avro
from ingest.dialects import Dialect
from ingest.sql.template import sql
from ingest.tables import Types
from ingest.typemap.rows import (
    POLICIES,
    TYPES,
    TYPES_BY_TICK,
    TYPES_IN_UTC,
    TYPES_OF_DURATIONS,
    TYPES_OF_OPTIONS,
    TypeRow,
)

Rows = Mapping[tuple[str, str, str], TypeRow]
"""Rows of the type table by (semantic, physical, policy)."""

WALL_CLOCK: Final = "wall clock, as if in UTC"
"""The unit of a timestamp without a zone that is stored as one with a zone: the two never share a column."""

_VENDOR_NAMES = ("cdc.data.Decimal", "cdc.data.timestamp")
"""Names that CDL puts behind a vendor's package, which varies."""

_MEANINGS = ("io.debezium.", "org.apache.kafka.")
_PLAIN_RECORDS = "io.debezium.connector."
"""Parts of events: source blocks, table changes."""


def semantic_of(notes: avro.Notes) -> str:
    """Return the name of a type in the type table: `connect.name`, else `logicalType`, else empty."""
    name = notes.semantic
    return next((vendor for vendor in _VENDOR_NAMES if name.endswith(f".{vendor}")), name)


@cache
def rows_of(dialect: Dialect) -> Rows:
    """Return the rows of a source: its special rows replace the general ones."""
    return MappingProxyType(
        {
            **TYPES,
            **(TYPES_BY_TICK[dialect.time_resolution_ns] if dialect.time_resolution_ns else {}),
            **(TYPES_OF_DURATIONS if dialect.has_durations else {}),
            **(TYPES_OF_OPTIONS if dialect.escapes_enums else {}),
            **({} if dialect.has_offsets else TYPES_IN_UTC),
        }
    )


def find_row(notes: avro.Notes, physical: str, types: Types, rows: Rows) -> TypeRow | None:
    """Find the row of a scalar among the rows of its source."""
    row = _find(notes, physical, types, rows)
    is_wall_clock = row is not None and row.spark == "timestamp_ntz"
    return _in_utc(row) if row and is_wall_clock and types.timestamps == "utc" else row


def _in_utc(row: TypeRow) -> TypeRow:
    """Return the row that stores a wall clock as the instant at which UTC shows it."""
    value = sql("cast({value} as timestamp)", value=row.sql)  # the run's session zone is UTC
    unit = f"{row.unit}; stored as if in UTC"
    return attrs.evolve(row, spark="timestamp", sql=value, unit=unit, stored=WALL_CLOCK)


def _find(notes: avro.Notes, physical: str, types: Types, rows: Rows) -> TypeRow | None:
    semantic = semantic_of(notes)
    policy = {"time": types.time, "nanos": types.nanos}.get(POLICIES.get(semantic, ""), "")
    policy = "string" if (semantic.endswith("IsoTimestamp") and policy == "bigint") else policy
    return rows.get((semantic, physical, policy))


def find_structure(notes: avro.Notes, physical: str) -> TypeRow | None:
    """Find the row of a record, an array or a map by its name, if it has one."""
    return TYPES.get((notes.connect_name, physical, "")) if notes.connect_name else None


def has_meaning(notes: avro.Notes, physical: str) -> bool:
    """Tell whether a structure's name must have a row.

    Every record is named by its topic or its path, unless Debezium or Connect give the name a meaning.
    """
    name = notes.connect_name
    if physical != "record":
        return bool(name)
    return name.startswith(_MEANINGS) and not name.startswith(_PLAIN_RECORDS)
