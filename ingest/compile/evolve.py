"""Fit the columns of a batch to those of the table: the columns to write, and the changes they make.

By default only lossless changes pass: a new column, a wider type.  A column that the batch lacks stays, and
is null in its rows.  All other changes stop here: Hudi would accept some of them silently (int to string,
permanently) and fail inside a task for the rest.  The table file's `[evolution]` sets other policies.

There are two comparisons.  The *types* of the batch must fit the table, whichever version they come from: an
old version that arrives late is not a change.  And a version new to the table is compared with the one before
it, for changes that types do not show.
"""

from collections.abc import Iterator, Mapping, Sequence

import attrs

from ingest.compile.clashes import Present, clash_column, first_met, is_clash_column
from ingest.compile.column_versions import ColumnVersion
from ingest.compile.diff import SchemaChange, growth
from ingest.compile.policy import PolicyDecision, failures, new_versions, refusals
from ingest.compile.table import CompiledTable
from ingest.errors import EvolutionError
from ingest.names import SchemaId
from ingest.typemap.sparktype import SparkType, in_place, null_of, reshape, widest
from ingest.typemap.sql import Sql, join, sql

__all__ = ["Evolution", "Present", "TargetColumn", "evolve"]


@attrs.frozen
class TargetColumn:
    """A column to write: `sources` are the column versions that carry it in this batch."""

    name: str
    spark: SparkType
    sources: tuple[ColumnVersion, ...] = ()

    def value(self, image: Sql) -> Sql:
        """Return the column's value, from a struct of column versions."""
        values = [reshape(image.field(v.field), v.mapped.spark, self.spark) for v in self.sources]
        match values:
            case []:
                return null_of(self.spark)
            case [value]:
                return value
            case _:  # a record has a value in the one version that its writer has
                return sql("coalesce({values})", values=join(", ", values))


@attrs.frozen
class Evolution:
    """The row's columns to write, key columns first among those that are new, and the changes they make.

    `refused` are schemas with changes to reject, and why.  `rewrites` are the stored columns that Hudi cannot
    widen in place: the whole table is rewritten.  `failing` are the changes that must not be written at all,
    see `check`.
    """

    keys: tuple[TargetColumn, ...]
    columns: tuple[TargetColumn, ...]
    changes: tuple[SchemaChange, ...]
    refused: Mapping[SchemaId, str] = attrs.field(factory=dict, hash=False)
    rewrites: tuple[str, ...] = ()
    failing: tuple[EvolutionError, ...] = ()

    def check(self) -> None:
        """Raise `EvolutionError` for the first change that must not be written."""
        if self.failing:
            raise attrs.evolve(self.failing[0], further=len(self.failing) - 1)


def evolve(
    compiled: CompiledTable,
    seen: Sequence[SchemaId],
    present: Present,
    known: Sequence[SchemaId] = (),
) -> Evolution:
    """Fit the columns that the seen schemas wrote to the present table.

    `known` are the schemas of the table's earlier commits, in that order.  What must not be written is in
    `failing`.
    """
    seen = [one for one in seen if one not in compiled.refused]
    order = tuple(dict.fromkeys((*known, *compiled.value.in_version_order(seen))))
    fits = list(_fit_columns(_Schemas(compiled, seen, order, present)))
    met = [
        *(one for fit in fits for one in fit.met),
        *new_versions(compiled, seen, known, exists=present is not None),
    ]
    refused = refusals(met)
    if refused:
        without = attrs.evolve(compiled, refused={**compiled.refused, **refused})
        evolution = evolve(without, seen, present, known)
        return attrs.evolve(evolution, refused={**refused, **evolution.refused})
    keys = tuple(fit.column for fit in fits if fit.column and fit.is_key)
    columns = tuple(fit.column for fit in fits if fit.column and not fit.is_key)
    changes = tuple(one.change for one in met if one.policy == "evolve")
    rewrites = _rewrites((*keys, *columns), present)
    return Evolution(keys, columns, changes, rewrites=rewrites, failing=failures(compiled, met))


# --- the types, against the table ----------------------------------------------------------------


@attrs.frozen
class _Fit:
    """A column that takes some of its variants, the changes this means, and the variants that clash."""

    column: TargetColumn | None
    met: tuple[PolicyDecision, ...] = ()
    clashing: tuple[ColumnVersion, ...] = ()
    is_key: bool = False


@attrs.frozen
class _Schemas:
    """The schemas of a batch, all schemas in the order in which the table met them, and its columns."""

    compiled: CompiledTable
    seen: Sequence[SchemaId]
    order: Sequence[SchemaId]
    present: Present


def _fit_columns(schemas: _Schemas) -> Iterator[_Fit]:
    """Fit keys, then the row's columns, then those that are made of a document."""
    compiled, present = schemas.compiled, schemas.present
    for name, kind in compiled.key_columns:
        yield attrs.evolve(_fit_type(compiled, name, kind, present), is_key=True)
    key_names = {name for name, _ in compiled.key_columns}
    for name, column_versions in compiled.value.columns(schemas.seen).items():
        if name not in key_names:
            yield from _fit_row_column(schemas, name, column_versions)
    for one in compiled.derived:
        yield _fit_type(compiled, one.name, one.spark, present)


def _fit_type(compiled: CompiledTable, name: str, brought: SparkType, present: Present) -> _Fit:
    """Fit a column of one type, which no single version brings; one that is new was declared."""
    held = (present or {}).get(name)
    kind = brought if held is None else widest(held, brought)
    if kind is None:
        change = SchemaChange("column-changed", name, str(brought), str(held))
        return _Fit(None, (PolicyDecision(change, "fail"),))
    steps = _steps(name, held, kind, present)
    met = tuple(PolicyDecision(one, compiled.table.policy(one.kind) if held else "evolve") for one in steps)
    return _Fit(TargetColumn(name, kind), met)


def _fit_row_column(schemas: _Schemas, name: str, column_versions: Sequence[ColumnVersion]) -> Iterator[_Fit]:
    """Fit one column; versions that clash with it go where the policy says, maybe to their own column."""
    compiled, order, present = schemas.compiled, schemas.order, schemas.present
    units = first_met(compiled, name, order).mapped.units
    if is_clash_column(compiled, name, order, present):
        fit = _Fit(None, clashing=tuple(column_versions))
    else:
        fit = _fit(schemas, name, column_versions, units)
    yield fit
    policy = compiled.table.policy("column-changed")
    was = fit.column.spark if fit.column else (present or {}).get(name)
    left = fit.clashing
    while left:
        unit = units.get("", "")
        before = f"{was} ({unit})" if unit else str(was)
        change = SchemaChange("column-changed", name, left[0].mapped.described, before)
        met = PolicyDecision(change, policy, _of(schemas.seen, left[0]))
        if policy != "evolve":
            yield _Fit(None, (met,))
            left = left[1:]
            continue
        other = clash_column(compiled, name, left[0], order, present)
        fit = _fit(schemas, other, left, left[0].mapped.units)
        is_new = other not in (present or {})
        yield attrs.evolve(fit, met=(met, *fit.met) if is_new else fit.met)
        left = fit.clashing


def _fit(
    schemas: _Schemas, name: str, column_versions: Sequence[ColumnVersion], units: Mapping[str, str]
) -> _Fit:
    """Take versions into a column, in their order, as far as types, units and policies allow."""
    compiled, present = schemas.compiled, schemas.present
    held = (present or {}).get(name)
    kind = held
    taken: list[ColumnVersion] = []
    clashing: list[ColumnVersion] = []
    stopped: list[PolicyDecision] = []
    for column_version in column_versions:
        brought = column_version.mapped.spark
        fitting = brought if kind is None else widest(kind, brought)  # a struct keeps the present order
        if fitting is None or column_version.mapped.clash(units):
            clashing.append(column_version)
            continue
        steps = _steps(name, kind if held else None, fitting, present if kind == held else None)
        met = [
            PolicyDecision(step, compiled.table.policy(step.kind), _of(schemas.seen, column_version))
            for step in steps
        ]
        if any(one.policy != "evolve" for one in met):
            stopped += (one for one in met if one.policy != "evolve")
            continue
        kind = fitting
        taken.append(column_version)
    if kind is None or not taken:
        return _Fit(None, tuple(stopped), tuple(clashing))
    made = [PolicyDecision(step, "evolve") for step in _steps(name, held, kind, present)]
    return _Fit(TargetColumn(name, kind, tuple(taken)), (*stopped, *made), tuple(clashing))


def _steps(name: str, held: SparkType | None, kind: SparkType, present: Present) -> list[SchemaChange]:
    """Return what the table has to change so that a column has a type."""
    if held is not None:
        return list(growth(name, held, kind))
    return [] if present is None else [SchemaChange("column-added", name, str(kind))]


def _of(seen: Sequence[SchemaId], column_version: ColumnVersion) -> tuple[SchemaId, ...]:
    return tuple(one for one in column_version.writers if one in seen)


def _rewrites(columns: Sequence[TargetColumn], present: Present) -> tuple[str, ...]:
    held = present or {}
    return tuple(c.name for c in columns if c.name in held and not in_place(held[c.name], c.spark))
