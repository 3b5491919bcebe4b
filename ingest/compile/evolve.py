"""What a batch brings against what the table holds: the columns to write, and what changes.

Only changes that lose nothing pass: a new column, a wider type.  A column that the batch lacks stays, and is
null in its rows.  Everything else stops here, since Hudi would take some of it silently (int to string, for
ever) and die of the rest inside a task.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import attrs

from ingest.compile.sparktype import SparkType, reshape, widest
from ingest.compile.table import CompiledTable
from ingest.compile.variant import Variant
from ingest.errors import EvolutionError
from ingest.names import SchemaId


@attrs.frozen
class TargetColumn:
    """A column as it will be written: `sources` are the variants that carry it in this batch."""

    name: str
    spark: SparkType
    sources: tuple[Variant, ...] = ()

    def value(self, image: str) -> str:
        """Return SQL for the column's value, from a struct of variants."""
        values = [reshape(f"{image}.{v.field}", v.mapped.spark, self.spark) for v in self.sources]
        match values:
            case []:
                return f"cast(null as {self.spark})"
            case [one]:
                return one
            case _:  # a record has a value in the one variant that its writer knows
                return f"coalesce({', '.join(values)})"


@attrs.frozen
class SchemaChange:
    """A difference that this batch makes to the table's schema."""

    kind: Literal["column-added", "column-widened"]
    column: str
    type: str
    was: str = ""


@attrs.frozen
class Evolution:
    """The row's columns to write, key columns first among those that are new, and the changes they make."""

    keys: tuple[TargetColumn, ...]
    columns: tuple[TargetColumn, ...]
    changes: tuple[SchemaChange, ...]


def evolve(
    compiled: CompiledTable,
    seen: Sequence[SchemaId],
    present: Mapping[str, SparkType] | None,
) -> Evolution:
    """Fit the columns that the seen schemas wrote to the present table (None: there is none yet).

    Raises `EvolutionError` naming the column, before anything is written.
    """
    held = present or {}
    table = compiled.table.table
    keys = tuple(
        TargetColumn(name, _fit(table, name, kind, held.get(name))) for name, kind in compiled.key_columns
    )
    key_names = {column.name for column in keys}
    columns = tuple(
        TargetColumn(name, _fit_variants(table, name, variants, held.get(name)), variants)
        for name, variants in compiled.value.columns(seen).items()
        if name not in key_names
    )
    derived = tuple(
        TargetColumn(one.name, _fit(table, one.name, one.spark, held.get(one.name)))
        for one in compiled.derived
    )
    columns = (*columns, *derived)
    changes = () if present is None else tuple(_changes((*keys, *columns), present))
    return Evolution(keys, columns, changes)


def _fit_variants(table: str, name: str, variants: Sequence[Variant], present: SparkType | None) -> SparkType:
    kind = variants[0].mapped.spark
    for variant in variants[1:]:
        kind = _fit(table, name, variant.mapped.spark, kind)
    return _fit(table, name, kind, present)


def _fit(table: str, name: str, brought: SparkType, present: SparkType | None) -> SparkType:
    if present is None:
        return brought
    fitting = widest(present, brought)  # in this order: a struct keeps the order of the present fields
    if fitting is None:
        raise EvolutionError(table, name, str(brought), str(present))
    return fitting


def _changes(columns: Sequence[TargetColumn], present: Mapping[str, SparkType]) -> list[SchemaChange]:
    changes: list[SchemaChange] = []
    for column in columns:
        was = present.get(column.name)
        if was is None:
            changes.append(SchemaChange("column-added", column.name, str(column.spark)))
        elif was != column.spark:
            changes.append(SchemaChange("column-widened", column.name, str(column.spark), str(was)))
    return changes
