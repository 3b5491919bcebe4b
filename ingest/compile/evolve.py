"""Fit the columns of a batch to the table's: the columns to write, and the changes they make.

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
from ingest.compile.policy import ALL_ALLOWED, PolicyDecision, Refused, failures, new_versions, refusals
from ingest.compile.table import CompiledTable
from ingest.errors import EvolutionError
from ingest.names import SchemaId
from ingest.sql.template import Sql, join, sql
from ingest.sql.types import SparkType, in_place, null_of, reshape, widest

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
    refused: Refused = attrs.field(default=ALL_ALLOWED, hash=False)
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
    earlier: Sequence[SchemaId] = (),
    refused: Refused = ALL_ALLOWED,
) -> Evolution:
    """Fit the columns that the seen schemas wrote to the present table.

    `earlier` are the schemas of the table's earlier commits, in that order.  `refused` are the schemas that a
    policy rejects already.  Changes that must not be written are in `failing`.
    """
    seen = [schema_id for schema_id in seen if schema_id not in refused]
    order = tuple(dict.fromkeys((*earlier, *compiled.value.in_version_order(seen))))
    fits = list(_fit_columns(_Schemas(compiled, seen, order, present)))
    decisions = [
        *(decision for fit in fits for decision in fit.decisions),
        *new_versions(compiled, seen, earlier, exists=present is not None),
    ]
    newly = refusals(decisions)
    if newly:
        # Without the rejected schemas other columns may fit, and other changes remain: start again.
        evolution = evolve(compiled, seen, present, earlier, {**refused, **newly})
        return attrs.evolve(evolution, refused={**newly, **evolution.refused})
    keys = tuple(fit.column for fit in fits if fit.column and fit.is_key)
    columns = tuple(fit.column for fit in fits if fit.column and not fit.is_key)
    changes = tuple(decision.change for decision in decisions if decision.policy == "evolve")
    rewrites = _rewrites((*keys, *columns), present)
    return Evolution(keys, columns, changes, rewrites=rewrites, failing=failures(compiled, decisions))


# --- the types, against the table ----------------------------------------------------------------


@attrs.frozen
class _Fit:
    """A column with the versions that fit it, the changes this needs, and the versions that clash."""

    column: TargetColumn | None
    decisions: tuple[PolicyDecision, ...] = ()
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
    for derived in compiled.derived:
        yield _fit_type(compiled, derived.name, derived.spark, present)


def _fit_type(compiled: CompiledTable, name: str, brought: SparkType, present: Present) -> _Fit:
    """Fit a column of one type, which no single version brings.  A new one was declared."""
    current = (present or {}).get(name)
    target = brought if current is None else widest(current, brought)
    if target is None:
        change = SchemaChange("column-changed", name, str(brought), str(current))
        return _Fit(None, (PolicyDecision(change, "fail"),))
    steps = _steps(name, current, target, present)
    policies = [compiled.table.policy(step.kind) if current else "evolve" for step in steps]
    return _Fit(TargetColumn(name, target), tuple(map(PolicyDecision, steps, policies)))


def _fit_row_column(schemas: _Schemas, name: str, column_versions: Sequence[ColumnVersion]) -> Iterator[_Fit]:
    """Fit one column.  Versions that clash with it follow the policy, maybe into a separate column."""
    compiled, order, present = schemas.compiled, schemas.order, schemas.present
    units = first_met(compiled, name, order).mapped.units
    if is_clash_column(compiled, name, order, present):
        fit = _Fit(None, clashing=tuple(column_versions))
    else:
        fit = _fit(schemas, name, column_versions, units)
    yield fit
    policy = compiled.table.policy("column-changed")
    was = fit.column.spark if fit.column else (present or {}).get(name)
    pending = fit.clashing
    # Each round fills one more column.  Versions that clash with that one, too, wait for the next.
    while pending:
        unit = units.get("", "")
        before = f"{was} ({unit})" if unit else str(was)
        change = SchemaChange("column-changed", name, pending[0].mapped.described, before)
        decision = PolicyDecision(change, policy, _of(schemas.seen, pending[0]))
        if policy != "evolve":
            yield _Fit(None, (decision,))
            pending = pending[1:]
            continue
        other = clash_column(compiled, name, pending[0], order, present)
        fit = _fit(schemas, other, pending, pending[0].mapped.units)
        is_new = other not in (present or {})
        decisions = (decision, *fit.decisions) if is_new else fit.decisions
        yield attrs.evolve(fit, decisions=decisions)
        pending = fit.clashing


def _fit(
    schemas: _Schemas, name: str, column_versions: Sequence[ColumnVersion], units: Mapping[str, str]
) -> _Fit:
    """Take versions into a column, in their order, as far as types, units and policies allow."""
    present = schemas.present
    current = spark_type = (present or {}).get(name)
    accepted: list[ColumnVersion] = []
    clashing: list[ColumnVersion] = []
    stopped: list[PolicyDecision] = []
    for version in column_versions:
        wider = _widened(spark_type, version, units)
        if wider is None:
            clashing.append(version)
            continue
        steps = _steps(
            name, spark_type if current else None, wider, present if spark_type == current else None
        )
        refusing = _stopping(schemas, steps, version)
        stopped += refusing
        if not refusing:
            spark_type = wider
            accepted.append(version)
    if spark_type is None or not accepted:
        return _Fit(None, tuple(stopped), tuple(clashing))
    growing = [PolicyDecision(step, "evolve") for step in _steps(name, current, spark_type, present)]
    return _Fit(TargetColumn(name, spark_type, tuple(accepted)), (*stopped, *growing), tuple(clashing))


def _widened(
    spark_type: SparkType | None, version: ColumnVersion, units: Mapping[str, str]
) -> SparkType | None:
    """Return the type for a column's values so far and a version's, or None if they clash in type or unit."""
    if version.mapped.clash(units):
        return None
    brought = version.mapped.spark
    return brought if spark_type is None else widest(spark_type, brought)  # a struct keeps its present order


def _stopping(
    schemas: _Schemas, steps: Sequence[SchemaChange], version: ColumnVersion
) -> list[PolicyDecision]:
    """Return the decisions that keep a version's values out of the column."""
    table, writers = schemas.compiled.table, _of(schemas.seen, version)
    decisions = [PolicyDecision(step, table.policy(step.kind), writers) for step in steps]
    return [decision for decision in decisions if decision.policy != "evolve"]


def _steps(name: str, current: SparkType | None, target: SparkType, present: Present) -> list[SchemaChange]:
    """Return the changes of the table that give a column a type."""
    if current is not None:
        return list(growth(name, current, target))
    return [] if present is None else [SchemaChange("column-added", name, str(target))]


def _of(seen: Sequence[SchemaId], column_version: ColumnVersion) -> tuple[SchemaId, ...]:
    return tuple(schema_id for schema_id in column_version.writers if schema_id in seen)


def _rewrites(columns: Sequence[TargetColumn], present: Present) -> tuple[str, ...]:
    types = present or {}
    return tuple(c.name for c in columns if c.name in types and not in_place(types[c.name], c.spark))
