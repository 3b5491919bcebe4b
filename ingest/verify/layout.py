"""The columns to compare, and the queries over them: the same texts from a source and from the lake."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import attrs
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.table import CompiledTable
from ingest.config.rules import suggest
from ingest.errors import SourceRefusedError, UsageError
from ingest.typemap.sparktype import SparkType
from ingest.typemap.sql import Sql, ident, join, sql
from ingest.verify.database import MD5_NUMBER, Checksum, Database, both
from ingest.verify.forms import Form, form_of

Mode = Literal["counts", "keys", "checksums", "full"]
SAMPLE_PARTS: Final = 10_000
_HALF: Final = 1 << 32
"""Splits a checksum, so that a billion of either half fit a bigint's sum."""
_SPARK_BUCKET: Final = sql("cast(shiftright({md5}, 28) as int) % {n}", md5=MD5_NUMBER)
CHANGE: Final = sql("_cdc_offset * 100000L + _cdc_partition")
"""The version of a stored row: the coordinates of its change, as one number."""
_RESERVED: Final = "_cdc_"


@attrs.frozen
class ComparedColumn:
    """A column on both sides: its names, and the type that the source declares."""

    name: str
    source: str
    source_type: str
    form: Form

    def in_lake(self) -> Sql:
        """Return its text in the lake."""
        return self.form.spark(ident(self.name))

    def in_source(self, database: Database) -> Sql:
        """Return its text in the source."""
        text = database.text(self.form, self.source_type, database.ident(self.source))
        if text is None:
            raise ValueError(self.name)
        return text


@attrs.frozen
class SourceTable:
    """A table of a source: the parts of its name, and its columns with their types."""

    parts: tuple[str, ...]
    columns: Mapping[str, str]


@attrs.frozen
class Layout:
    """Keys and columns to compare, the filter, and the columns that cannot be compared, with reasons."""

    database: Database
    source_table: SourceTable
    keys: tuple[ComparedColumn, ...]
    columns: tuple[ComparedColumn, ...]
    uncompared: Mapping[str, str]
    mode: Mode = "checksums"
    where: str = ""
    sample_parts: int = SAMPLE_PARTS
    """Rows to compare, of `SAMPLE_PARTS`, by a hash of the key."""
    checksum: Checksum = attrs.field(
        default=attrs.Factory(lambda layout: layout.database.md5, takes_self=True)
    )

    @property
    def has_ranges(self) -> bool:
        """Whether the first key column is a whole number, in whose order both sides agree."""
        return self.keys[0].form.name == "integer"

    # --- the source ----------------------------------------------------------------------------

    def source_name(self) -> Sql:
        """Return the table's name in the source's SQL."""
        return join(".", map(self.database.ident, self.source_table.parts))

    def source_filter(self, *conditions: Sql | None) -> Sql:
        """Return the condition of the rows to compare."""
        sampled = None
        if self.sample_parts < SAMPLE_PARTS:
            sampled = sql("{b} < {parts}", b=self.source_bucket(SAMPLE_PARTS), parts=self.sample_parts)
        return both(Sql((self.where,)) if self.where else None, sampled, *conditions)

    def source_row(self) -> Sql:
        """Return a row's text."""
        database = self.database
        parts = [database.part(c.form, c.in_source(database)) for c in (*self.keys, *self._values())]
        return database.concat(parts)

    def source_bucket(self, buckets: int) -> Sql:
        """Return the bucket of a row, by its first key column."""
        digest = self.database.digest.of(c=self.keys[0].in_source(self.database))
        return self.database.bucket.of(h=digest, n=buckets)

    def source_range_column(self) -> Sql:
        """Return the first key column itself."""
        return self.database.ident(self.keys[0].source)

    def count_query(self, *, with_versions: bool = False) -> Sql:
        """Return the query that counts the source's rows, and sums their versions if requested."""
        return sql(
            "select count(*){versions} from {table} where {where}",
            versions=sql(", sum({v})", v=self.database.version) if with_versions else sql(""),
            table=self.source_name(), where=self.source_filter(),
        )  # fmt: skip

    def chunk_query(self, *conditions: Sql) -> Sql:
        """Return the query of one chunk: rows, and the sum of their checksums."""
        number = self.checksum.source.of(c=self.source_row())
        return sql(
            "select count(*), sum(q.n) from (select {number} as n from {table} where {where}) q",
            number=number, table=self.source_name(), where=self.source_filter(*conditions),
        )  # fmt: skip

    def bucket_query(self, buckets: int) -> Sql:
        """Return the query of all chunks by hash: bucket, rows, and the sum of their checksums."""
        number = self.checksum.source.of(c=self.source_row())
        return sql(
            "select q.b, count(*), sum(q.n) from (select {bucket} as b, {number} as n from {table} "
            "where {where}) q group by q.b",
            bucket=self.source_bucket(buckets),
            number=number,
            table=self.source_name(),
            where=self.source_filter(),
        )

    def rows_query(self, *, with_columns: bool = False, buckets: int = 0) -> Sql:
        """Return the query of rows: their keys, and their digest or every column.

        `b` is the first key column for predicates, `h` the bucket, `v` the row's version.
        """
        row, database = self.source_row(), self.database
        lead = (
            self.source_range_column()
            if self.has_ranges
            else database.exact.of(c=self.keys[0].in_source(database))
        )
        columns = [lead.alias_plain("b"), database.version.alias_plain("v")]
        columns += [key.in_source(database).alias_plain(f"k{i}") for i, key in enumerate(self.keys)]
        if buckets:
            columns.append(self.source_bucket(buckets).alias_plain("h"))
        if with_columns:
            columns += [c.in_source(database).alias_plain(f"c{i}") for i, c in enumerate(self.columns)]
        else:
            digest = row if self.mode == "full" else self.checksum.source.of(c=row)
            columns.append(digest.alias_plain("d"))
        return sql(
            "select {columns} from {table} where {where}",
            columns=join(", ", columns), table=self.source_name(), where=self.source_filter(),
        )  # fmt: skip

    # --- the lake ------------------------------------------------------------------------------

    def lake_filter(self, rows: DataFrame) -> DataFrame:
        """Return the lake's rows to compare."""
        if self.where:
            try:
                rows = rows.where(self.where)
            except AnalysisException as error:
                problem = f"--where {self.where}: Spark cannot read it: {str(error).splitlines()[0]}"
                raise UsageError(problem, "Write SQL that the source and Spark both accept") from None
        if self.sample_parts < SAMPLE_PARTS:
            parts = sql("{b} < {n}", b=self.lake_bucket(SAMPLE_PARTS), n=self.sample_parts)
            rows = rows.where(str(parts))
        return rows

    def lake_row(self) -> Sql:
        """Return a row's text."""
        parts = [c.form.part(ident(c.name)) for c in (*self.keys, *self._values())]
        return sql("concat_ws(',', {parts})", parts=join(", ", [_null_as_empty(part) for part in parts]))

    def lake_bucket(self, buckets: int) -> Sql:
        """Return the bucket of a row, by its first key column."""
        return _SPARK_BUCKET.of(c=self.keys[0].in_lake(), n=buckets)

    def lake_chunks(self, rows: DataFrame, chunk: Sql) -> dict[int, tuple[int, int]]:
        """Return rows and sum of checksums of each chunk that has rows."""
        texts = self.lake_filter(rows).selectExpr(
            str(chunk.alias("chunk")), str(self.lake_row().alias("row"))
        )
        numbers = texts.selectExpr("chunk", str(self.checksum.spark.of(c=sql("row")).alias("n")))
        sums = numbers.groupBy("chunk").agg(
            F.count("*").alias("rows"),
            F.expr("sum(shiftright(n, 32))").alias("high"),
            F.expr("sum(n & 4294967295L)").alias("low"),
        )
        return {row.chunk: (row.rows, row.high * _HALF + row.low) for row in sums.collect()}

    def lake_rows(
        self, rows: DataFrame, condition: Sql | None = None, *, with_columns: bool = False
    ) -> DataFrame:
        """Return the lake's rows as `rows_query` does; `v` is the coordinates of the change."""
        chosen = self.lake_filter(rows)
        if condition is not None:
            chosen = chosen.where(str(condition))
        columns = [key.in_lake().alias(f"k{i}") for i, key in enumerate(self.keys)]
        columns.append(CHANGE.alias("v"))
        if with_columns:
            columns += [c.in_lake().alias(f"c{i}") for i, c in enumerate(self.columns)]
        else:
            row = self.lake_row()
            columns.append((row if self.mode == "full" else self.checksum.spark.of(c=row)).alias("d"))
        return chosen.selectExpr(*map(str, columns))

    def key_names(self) -> list[str]:
        """Return the names of the key's texts."""
        return [f"k{i}" for i in range(len(self.keys))]

    def _values(self) -> tuple[ComparedColumn, ...]:
        return () if self.mode in {"keys", "counts"} else self.columns


def _null_as_empty(part: Sql) -> Sql:
    return sql("coalesce({part}, '')", part=part)


def make_layout(
    compiled: CompiledTable,
    stored: Mapping[str, SparkType],
    database: Database,
    source: SourceTable,
    *,
    mode: Mode = "checksums",
    only: Sequence[str] = (),
) -> Layout:
    """Pair the lake's columns with the source's, each with its form; `only` names the columns to compare."""
    _check_only(only, stored)
    key_names = [name for name, _ in compiled.key_columns]
    pairs: dict[str, ComparedColumn | str] = {
        name: _pair(compiled, name, spark_type, database, source)
        for name, spark_type in stored.items()
        if not name.startswith(_RESERVED)
    }
    keys = tuple(_key(pairs[name], name, compiled.table.name, database) for name in key_names)
    columns = [
        (name, pair) for name, pair in pairs.items() if name not in key_names and (not only or name in only)
    ]
    uncompared = {name: pair for name, pair in columns if isinstance(pair, str)}
    if not only:
        uncompared |= _only_in_source(compiled, source, pairs)
    values = tuple(pair for _, pair in columns if isinstance(pair, ComparedColumn))
    return Layout(database, source, keys, values, uncompared, mode)


def _check_only(only: Sequence[str], stored: Mapping[str, SparkType]) -> None:
    unknown = [name for name in only if name not in stored]
    if unknown:
        problem = f"--columns: {unknown[0]} is not a column of the table"
        raise UsageError(problem, suggest(unknown[0], list(stored)))


def _only_in_source(
    compiled: CompiledTable, source: SourceTable, pairs: Mapping[str, ComparedColumn | str]
) -> dict[str, str]:
    """Return the source's columns that the table lacks, with the reason."""
    matched = {pair.source for pair in pairs.values() if isinstance(pair, ComparedColumn)}
    excluded = {name for name, column in compiled.table.columns.items() if column.exclude}
    return {
        name: "is excluded by the table file" if name in excluded else "is not a column of the table"
        for name in source.columns
        if name not in matched and _event_name(name) not in pairs
    }


def _pair(
    compiled: CompiledTable, name: str, stored: SparkType, database: Database, source: SourceTable
) -> ComparedColumn | str:
    """Return a column of the lake with its column in the source, or the reason why it has none."""
    versions = [
        v for v in (*compiled.key.column_versions, *compiled.value.column_versions) if v.column == name
    ]
    if not versions:
        return "no schema of the topic has it"
    newest = versions[-1]
    names = [column for column in source.columns if column == newest.origin] or [
        column for column in source.columns if _event_name(column) == newest.origin
    ]
    if len(names) != 1:
        return "is not a column of the source" if not names else f"may be any of {', '.join(names)}"
    source_type = source.columns[names[0]]
    form = form_of(newest.mapped, stored)
    if isinstance(form, str):
        return form
    if database.text(form, source_type, sql("c")) is None:
        return f"{source_type} and {stored} have no common form"
    return ComparedColumn(name, names[0], source_type, form)


def _key(pair: ComparedColumn | str, name: str, table: str, database: Database) -> ComparedColumn:
    if isinstance(pair, str):
        problem = f"table {table}: key column {name} cannot be compared: {pair}"
        raise SourceRefusedError(database.title, problem, "Rows without comparable keys cannot be verified")
    return pair


def _event_name(column: str) -> str:
    """Return the name that events may have for a column (`field.name.adjustment.mode = avro`)."""
    adjusted = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in column)
    return f"_{adjusted}" if adjusted[:1].isdigit() else adjusted
