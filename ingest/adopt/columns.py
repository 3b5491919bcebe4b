"""Fit the columns of rows from elsewhere to a compiled table.

Names fit by a column's name in the source or its new name, in any letter case.  Types fit if the table's type
holds every value.  With `accepts_physical`, the numbers and texts that an event carries also fit: a writer
without semantic types stored them as they came.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, Self

import attrs

from ingest.compile.column_versions import ColumnVersion
from ingest.compile.evolve import Evolution, TargetColumn, evolve
from ingest.compile.table import CompiledTable
from ingest.config.rules import suggest
from ingest.errors import UsageError
from ingest.json_values import JsonValue
from ingest.masking import Mask, Masking
from ingest.sql.names import folded
from ingest.sql.template import Sql, ident, sql
from ingest.sql.types import Simple, SparkType, null_of, parse_ddl, reshape, widest
from ingest.tables import Feed
from ingest.typemap.mapped import Mapped
from ingest.typemap.masks import masked
from ingest.typemap.rows import VALUE

Fit = Literal["same", "wider", "converted", "null"]
_STORED_AS: Final = {"tinyint": Simple("int"), "smallint": Simple("int")}
_PHYSICAL: Final = {"int": "int", "long": "bigint", "float": "float", "double": "double", "string": "string",
                    "bytes": "binary", "boolean": "boolean"}  # fmt: skip

_DECODED: Final = {
    "": VALUE,
    "date": sql("date_from_unix_date({c})"),
    "local-timestamp-millis": sql("timestamp_ntz'1970-01-01' + {c} * interval '0.001' second"),
    "local-timestamp-micros": sql("timestamp_ntz'1970-01-01' + {c} * interval '0.000001' second"),
}
"""The values that Spark's decoder makes of values on the wire, by Avro's logical type."""


@attrs.frozen
class FittedColumn(JsonValue):
    """A column of the table, made from the rows' column `origin`. The origin is empty if the column is null.

    `fault` is true for a row with a value that the table cannot take, for the reason `fault_reason`.
    """

    json_keys = "column=name type from=origin|null from_type=origin_type|null fit mask"

    name: str
    spark: SparkType
    value: Sql
    fit: Fit
    origin: str = ""
    origin_type: str = ""
    fault: Sql | None = None
    fault_reason: str = ""
    mask: Mask | None = None

    @property
    def type(self) -> str:
        """The column's type, as Spark writes it."""
        return str(self.spark)


@attrs.frozen
class FittedColumns:
    """The table's columns, the rows' columns that the table does not take, and the misfits."""

    keys: tuple[FittedColumn, ...]
    columns: tuple[FittedColumn, ...]
    dropped: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, keys: Sequence[FittedColumn | str], columns: Sequence[FittedColumn | str], rows: Iterable[str]
    ) -> Self:
        """Sort out columns and the reasons why some do not fit. `rows` are the rows' column names."""
        origins = {column.origin for column in _fitted((*keys, *columns))}
        dropped = tuple(name for name in rows if name not in origins)
        problems = tuple(column for column in (*keys, *columns) if isinstance(column, str))
        return cls(_fitted(keys), _fitted(columns), dropped, problems)

    @property
    def all(self) -> tuple[FittedColumn, ...]:
        """Return the key's columns, then the others."""
        return (*self.keys, *self.columns)


def _fitted(columns: Iterable[FittedColumn | str]) -> tuple[FittedColumn, ...]:
    return tuple(column for column in columns if isinstance(column, FittedColumn))


def unmasked(feed: Feed) -> Feed:
    """Return a feed without masks: its compiled columns have the types before they are masked."""
    columns = {name: attrs.evolve(column, mask=None) for name, column in feed.table.columns.items()}
    return attrs.evolve(feed, table=attrs.evolve(feed.table, columns=columns), masking=Masking())


def first_evolution(compiled: CompiledTable) -> Evolution:
    """Return the columns of a new table, by all versions of its schema."""
    return evolve(compiled, [i for i in compiled.schema_ids if i not in compiled.misfits], None)


def fit_columns(
    compiled: CompiledTable,
    plain: CompiledTable,
    rows: Mapping[str, str],
    nulls: Sequence[str],
    *,
    accepts_physical: bool,
) -> FittedColumns:
    """Fit columns, given with their types in DDL, to a table. `plain` is the table without masks.

    `nulls` are the table's columns to leave null.  Raises `UsageError` if the table lacks one of them.
    """
    evolution = first_evolution(plain)
    evolution.check()
    check_nulls(nulls, evolution)
    fitter = _Fitter(compiled, plain, rows, frozenset(nulls), accepts_physical)
    keys = [fitter.fit(column, is_key=True) for column in evolution.keys]
    columns = [fitter.fit(column) for column in evolution.columns]
    return FittedColumns.of(keys, columns, rows)


def check_nulls(nulls: Sequence[str], evolution: Evolution) -> None:
    """Raise `UsageError` if the table lacks a column to leave null."""
    names = [column.name for column in (*evolution.keys, *evolution.columns)]
    for name in nulls:
        if name not in names:
            raise UsageError(f"--null {name}: is not a column of the table", suggest(name, names))


def empty_column(column: TargetColumn, compiled: CompiledTable) -> FittedColumn:
    """Return a column that is null in all rows."""
    return with_mask(FittedColumn(column.name, column.spark, null_of(column.spark), "null"), compiled)


@attrs.frozen
class _Fitter:
    compiled: CompiledTable
    plain: CompiledTable
    rows: Mapping[str, str]
    nulls: frozenset[str]
    accepts_physical: bool

    def fit(self, column: TargetColumn, *, is_key: bool = False) -> FittedColumn | str:
        """Return the fitted column, or the reason why it does not fit."""
        versions = self._versions(column)
        origin = self._origin(column.name, versions)
        if origin is None:
            if column.name in self.nulls and not is_key:
                return empty_column(column, self.compiled)
            kind = "key column" if is_key else "column"
            return f"{kind} {column.name} ({column.spark}) is missing"
        typed = self._typed(column, versions, origin)
        return typed if isinstance(typed, str) else with_mask(typed, self.compiled)

    def _versions(self, column: TargetColumn) -> Sequence[ColumnVersion]:
        if column.sources:
            return column.sources
        versions = (*self.plain.key.column_versions, *self.plain.value.column_versions)
        return [version for version in versions if version.column == column.name]

    def _origin(self, name: str, versions: Iterable[ColumnVersion]) -> str | None:
        """Return the column of the rows: exact names first, then others in case, the newest version first."""
        names = dict.fromkeys((name, *(version.origin for version in reversed(list(versions)))))
        by_folded = {folded(each): each for each in self.rows}
        exact = next((each for each in names if each in self.rows), None)
        return exact or next((by_folded[folded(each)] for each in names if folded(each) in by_folded), None)

    def _typed(
        self, column: TargetColumn, versions: Sequence[ColumnVersion], origin: str
    ) -> FittedColumn | str:
        ddl, target, value = self.rows[origin], column.spark, ident(origin)
        stored = parse_type(ddl)
        if stored is not None and widest(stored, target) == target:
            fit: Fit = "same" if stored == target else "wider"
            fitted = FittedColumn(column.name, target, reshape(value, stored, target), fit, origin, ddl)
            missing = _is_placeholder(versions, value) if fit == "same" else None
            reason = "the connector's placeholder of a value that an update left out"
            return attrs.evolve(fitted, fault=missing, fault_reason=reason)
        mapped = _physical(versions, stored) if self.accepts_physical else None
        if mapped is None:
            renamed = "" if origin == column.name else f" (from {origin})"
            return (
                f"column {column.name}{renamed} is a {ddl}, which does not fit {target}{_hint(ddl, target)}"
            )
        converted = reshape(mapped.convert(value), mapped.spark, target)
        fault, reason = mapped.fails(value), f"a value that is not a {target}"
        return FittedColumn(column.name, target, converted, "converted", origin, ddl, fault, reason)


def with_mask(column: FittedColumn, compiled: CompiledTable) -> FittedColumn:
    """Mask the values of a column that the table holds masked."""
    mask = compiled.masks.get(column.name)
    if mask is None:
        return column
    mapped = Mapped("", "", column.spark, None)
    salt_id = compiled.feed.masking.salt_id
    result = masked(mapped, mask, salt_id) or masked(mapped, "redact", "")
    if result is None:
        raise TypeError(f"{column.spark} has no form for the mask {mask}")
    return attrs.evolve(column, value=result.convert(column.value), spark=result.spark, mask=mask)


def parse_type(ddl: str) -> SparkType | None:
    """Parse a type of foreign rows, as Hudi would store it, or return None if tables here lack the type."""
    try:
        return _STORED_AS.get(ddl) or parse_ddl(ddl)
    except ValueError:
        return None


def _physical(versions: Sequence[ColumnVersion], stored: SparkType | None) -> Mapped | None:
    """Return the one conversion of a column's versions, if the rows hold the values that an event carries."""
    mapped = {version.mapped.sql: version.mapped for version in versions}
    if len(mapped) != 1:
        return None
    (only,) = mapped.values()
    reader = only.reader if isinstance(only.reader, Mapping) else {"type": only.reader}
    decoded = _DECODED.get(str(reader.get("logicalType", "")))
    name = reader.get("type")
    if decoded is None or not isinstance(name, str) or str(stored) != _PHYSICAL.get(name):
        return None
    return attrs.evolve(only, sql=only.sql.of(c=decoded), fault=only.fault and only.fault.of(c=decoded))


def _is_placeholder(versions: Sequence[ColumnVersion], value: Sql) -> Sql | None:
    """Return a condition that is true if another writer stored the connector's placeholder as a value."""
    conditions = (version.mapped.is_unavailable(value) for version in versions)
    return next((condition for condition in conditions if condition is not None), None)


def _hint(ddl: str, target: SparkType) -> str:
    if {ddl, str(target)} == {"timestamp", "timestamp_ntz"}:
        policy = "utc" if ddl == "timestamp" else "ntz"
        return f': [types] timestamps = "{policy}" stores wall clocks so'
    return ""
