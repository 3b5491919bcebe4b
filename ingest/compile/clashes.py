"""Columns of versions that clash: `amount_v2` holds the `amount` of version 2, of another type or unit.

Such a name may later become one of the source's own.  The schemas in the order in which the table met them
say whose column it is, whatever the registry has deleted since.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Final

from ingest.compile.column_versions import ColumnVersion
from ingest.compile.table import CompiledTable
from ingest.names import SchemaId
from ingest.sql.types import SparkType, widest

Present = Mapping[str, SparkType] | None
"""The table's columns, or None before its first commit."""

_CLASH_NAME: Final = re.compile(r"(?P<base>.+)_v(?P<version>\d+)", re.DOTALL)


def first_met(compiled: CompiledTable, name: str, order: Sequence[SchemaId]) -> ColumnVersion:
    """Return the version of a column that the table met first, in the `order` of the schemas."""
    versions = compiled.value.columns()[name]
    return min(versions, key=lambda version: _rank(version, order))


def clash_column(
    compiled: CompiledTable,
    name: str,
    column_version: ColumnVersion,
    order: Sequence[SchemaId],
    present: Present,
) -> str:
    """Name the column of a version that clashes: one that the table has for it, or after its version."""
    own = compiled.value.columns()
    clashes = [
        column
        for column in present or {}
        if _base(column) == name and (column not in own or is_clash_column(compiled, column, order, present))
    ]
    for column in clashes:
        units = _units_of(compiled, column)
        if widest((present or {})[column], column_version.mapped.spark) and not column_version.mapped.clash(
            units
        ):
            return column
    used = {*(present or {}), *own}
    writer = compiled.value.writer(column_version.writers[0])
    first = (writer.version if writer else 0) or len(clashes) + 2
    return next(column for number in count(first) if (column := f"{name}_v{number}") not in used)


def is_clash_column(compiled: CompiledTable, name: str, order: Sequence[SchemaId], present: Present) -> bool:
    """Return whether a column was made for a version that clashes, before the source had one so named."""
    own, base = compiled.value.columns(), _base(name)
    if base not in own or name not in (present or {}) or name not in own:
        return False
    first = first_met(compiled, base, order)
    clashing = [
        _rank(version, order)
        for version in own[base]
        if version.mapped.clash(first.mapped.units) or not widest(first.mapped.spark, version.mapped.spark)
    ]
    return min(clashing, default=len(order)) < min(_rank(version, order) for version in own[name])


def home_of_newest(compiled: CompiledTable, name: str, present: Mapping[str, SparkType]) -> str:
    """Return the stored column that has the values of a column's newest version: its own, or a clash's."""
    own = compiled.value.columns()
    newest = own[name][-1]
    homes = (name, *(column for column in present if _base(column) == name and column not in own))
    units = {name: own[name][0].mapped.units}
    return next(
        (
            home
            for home in homes
            if home in present
            and widest(present[home], newest.mapped.spark) == present[home]
            and not newest.mapped.clash(units.get(home) or _units_of(compiled, home))
        ),
        name,
    )


def base_of(compiled: CompiledTable, name: str) -> str:
    """Return the column that a stored column was made for: itself, or the one with which it clashes."""
    own, base = compiled.value.columns(), _base(name)
    return base if name not in own and base in own else name


def _base(name: str) -> str:
    match = _CLASH_NAME.fullmatch(name)
    return match["base"] if match else ""


def _units_of(compiled: CompiledTable, column: str) -> Mapping[str, str]:
    """Return the units of a clash's column, by the version in its name, or nothing if that is gone."""
    match = _CLASH_NAME.fullmatch(column)
    number, base = (int(match["version"]), match["base"]) if match else (0, "")
    writers = {writer.schema_id for writer in compiled.value.writers if writer.version == number}
    versions = compiled.value.columns().get(base, ())
    return next((v.mapped.units for v in versions if writers.intersection(v.writers)), {})


def _rank(version: ColumnVersion, order: Sequence[SchemaId]) -> int:
    ranks = {schema_id: rank for rank, schema_id in enumerate(order)}
    return min(ranks.get(schema_id, len(order)) for schema_id in version.writers)
