"""The rows of a source database by JDBC, as text in canonical forms that become the table's types again.

`ingest verify` compares values by the same forms.  So each value arrives exactly, or its column is refused by
name.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import attrs
from pyspark.sql import DataFrame

from ingest.adopt.columns import (
    FittedColumn,
    FittedColumns,
    check_nulls,
    empty_column,
    first_evolution,
    with_mask,
)
from ingest.adopt.first_commit import Subject
from ingest.compile.evolve import TargetColumn
from ingest.errors import UsageError
from ingest.run.work.context import Context
from ingest.sources.databases import DATABASES
from ingest.sources.forms import Form
from ingest.sources.jdbc import Connection, Source, sources_of
from ingest.sources.layout import ComparedColumn
from ingest.sources.origin import Origin, check_database, find_origin
from ingest.sources.pairs import pair_column
from ingest.sources.queries import SourceTable
from ingest.spark.java import select_expr
from ingest.sql.template import Sql, ident, join, sql
from ingest.sql.types import SparkType, cast
from ingest.verify.rows import read_table

_NATIVE: Final = frozenset({"float", "double"})
"""Forms with a text that Spark cannot read back. The driver's own number is exact."""
_AS_IS: Final = frozenset({"text", "json", "uuid", "number", "clock3", "clock6", "zoned_clock"})
_CAST: Final = frozenset(
    {"boolean", "integer", "decimal", "small_decimal", "date", "clock_micros", "duration_micros"}
)
_LOST: Final = "a value that the table cannot hold"


@contextmanager
def open_export(
    run: Context, subject: Subject, name: str, nulls: Sequence[str] = ()
) -> Iterator[tuple[DataFrame, FittedColumns]]:
    """Connect to a source, and return the rows of a table's origin with its columns.

    `nulls` are columns to leave null if the source has no value that the table can take.
    """
    check_nulls(nulls, first_evolution(subject.plain))
    sources = sources_of(run.spark, run.settings.sources, DATABASES)
    if name not in sources:
        known = ", ".join(sources) or "no section of it"
        raise UsageError(
            f"--from jdbc {name}: is not a database of [sources.NAME]", f"The settings have {known}"
        )
    source = sources[name]
    if source.database.name != subject.table.dialect:
        problem = f"--from jdbc {name}: is {source.database.title}, and the topic comes from another database"
        raise UsageError(problem, f"Name a source of {subject.compiled.dialect.title}")
    with source.connect() as connection:
        query = source.database.current
        origin = _origin(run, subject)
        check_database(origin, name, None if query is None else connection.value(query))
        table = read_table(connection, origin)
        export = _Export(subject, source, connection, origin, table, frozenset(nulls))
        fitted = export.fit()
        yield export.read(), fitted


def _origin(run: Context, subject: Subject) -> Origin:
    """Return the table behind a topic: by the topic's events, or by its name as long as it has no events."""
    table = subject.table
    if any(mark.end > mark.begin for mark in subject.marks.values()):
        return find_origin(run.spark, run.settings.kafka, subject.compiled, subject.marks)
    names = table.topic.split(".")
    parts = next((p for p in subject.compiled.dialect.topic_parts if len(p) == len(names)), ())
    named = dict(zip(parts, names, strict=bool(parts)))
    if "table" not in named:
        raise UsageError(f"topic {table.topic}: is empty, and its name does not say which table it has")
    database = named.get("database", "")
    return Origin(table.dialect, named.get("server", ""), database, named.get("schema", ""), named["table"])


@attrs.frozen
class _Export:
    subject: Subject
    source: Source
    connection: Connection
    origin: Origin
    table: SourceTable
    nulls: frozenset[str]

    def targets(self) -> tuple[tuple[TargetColumn, ...], tuple[TargetColumn, ...]]:
        evolution = first_evolution(self.subject.plain)
        return evolution.keys, evolution.columns

    def fit(self) -> FittedColumns:
        """Fit the columns of the source to the table's."""
        keys, columns = self.targets()
        return FittedColumns.of(
            [self._fit(column) for column in keys],
            [self._fit_or_empty(column) for column in columns],
            self.table.columns,
        )

    def _pair(self, column: TargetColumn) -> ComparedColumn | str:
        compiled, database = self.subject.plain, self.source.database
        pair = pair_column(compiled, column.name, {column.name: column.spark}, database, self.table)
        if isinstance(pair, ComparedColumn) and not _can_read(pair.form):
            return f"{pair.source_type} has no text that becomes a {column.spark} again"
        return pair

    def _fit_or_empty(self, column: TargetColumn) -> FittedColumn | str:
        fitted = self._fit(column)
        if isinstance(fitted, str) and column.name in self.nulls:
            return empty_column(column, self.subject.compiled)
        return fitted

    def _fit(self, column: TargetColumn) -> FittedColumn | str:
        pair = self._pair(column)
        if isinstance(pair, str):
            return f"column {column.name} ({column.spark}): {pair}"
        value = _value(pair.form, ident(column.name), column.spark)
        lost = None if pair.form.name in _NATIVE else ident(_lost_name(column.name))
        fitted = FittedColumn(
            column.name, column.spark, value, "same", pair.source, pair.source_type, lost, _LOST
        )
        return with_mask(fitted, self.subject.compiled)

    def read(self) -> DataFrame:
        """Return the rows, each value under the name of its column, in ranges of the first key column."""
        keys, columns = self.targets()
        pairs = {column.name: self._pair(column) for column in (*keys, *columns)}
        good = {name: pair for name, pair in pairs.items() if isinstance(pair, ComparedColumn)}
        database = self.source.database
        selected: list[Sql] = []
        for name, pair in good.items():
            column = database.ident(pair.source)
            is_native = pair.form.name in _NATIVE
            value = column if is_native else pair.in_source(database)
            selected.append(sql("{c} as {name}", c=value, name=database.ident(name)))
            if not is_native:
                lost = sql("case when {c} is not null and ({t}) is null then 1 else 0 end", c=column, t=value)
                selected.append(sql("{c} as {name}", c=lost, name=database.ident(_lost_name(name))))
        first = good.get(keys[0].name)
        lead = database.ident(first.source) if first else sql("1")
        selected.append(sql("{lead} as {b}", lead=lead, b=database.ident(_RANGE)))
        query = sql("select {columns} from {table}", columns=join(", ", selected), table=self._table_name())
        predicates = self._ranges(first) if first and first.form.name == "integer" else ()
        rows = self.source.read(query, predicates).coalesce(self.source.settings.parallel)
        return select_expr(rows, *(_read_back(name, good) for name in rows.columns if name != _RANGE))

    def _table_name(self) -> Sql:
        return join(".", map(self.source.database.ident, self.table.parts))

    def _ranges(self, key: ComparedColumn) -> Sequence[Sql]:
        """Return ranges of the first key column with about `chunk_rows` rows each, if the keys are dense."""
        database, settings = self.source.database, self.source.settings
        query = sql(
            "select min({c}), max({c}), count(*) from {table}",
            c=database.ident(key.source),
            table=self._table_name(),
        )
        ((low, high, count),) = self.connection.rows(query, 3)
        if low is None or high is None:
            return ()
        first, last = int(low), int(high)
        chunks = max(1, min(_CHUNKS, -(-int(count or 0) // settings.chunk_rows)))
        bounds = sorted({first + (last - first + 1) * index // chunks for index in range(1, chunks)})
        column = database.ident(_RANGE)
        starts: list[int | None] = [None, *bounds]
        ends: list[int | None] = [*bounds, None]
        return [_between(column, start, end) for start, end in zip(starts, ends, strict=True)]


_RANGE: Final = "ingest_range"
_CHUNKS: Final = 256


def _between(column: Sql, start: int | None, end: int | None) -> Sql:
    low = [sql("{c} >= {n}", c=column, n=start)] if start is not None else []
    high = [sql("{c} < {n}", c=column, n=end)] if end is not None else []
    return join(" and ", [*low, *high]) if low or high else sql("1 = 1")


def _lost_name(name: str) -> str:
    return f"ingest_lost_{name}"


def _read_back(name: str, pairs: Mapping[str, ComparedColumn]) -> str:
    """Return a column as the driver gave it, or the mark of a lost value as a boolean."""
    return str(ident(name) if name in pairs else sql("{c} = 1", c=ident(name)).alias(name))


def _can_read(form: Form) -> bool:
    others = ("binary", "timestamp", "timestamp3", "instant")
    return form.item is None and form.name in {*_NATIVE, *_AS_IS, *_CAST, *others}


def _value(form: Form, text: Sql, spark_type: SparkType) -> Sql:
    """Return the value of a text."""
    if form.name in _AS_IS:
        return text
    if form.name == "binary":
        return sql("unhex({c})", c=text)
    if form.name == "instant":
        return sql("cast(concat({c}, 'Z') as timestamp)", c=text)
    if form.in_utc:
        return sql("cast(concat({c}, 'Z') as timestamp)", c=text)
    return cast(text, spark_type)
