"""The columns to compare, and their texts and checksums in Spark, for rows of the lake or documents."""

from collections.abc import Mapping
from typing import Final, Literal

import attrs
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.errors import UsageError
from ingest.sources.database import MD5, Checksum, Database, HashChecksum
from ingest.sources.forms import TEXTS, Form
from ingest.spark.java import select_expr
from ingest.sql.template import Sql, ident, join, literal, sql, word

Mode = Literal["counts", "keys", "checksums", "full"]
SAMPLE_PARTS: Final = 10_000
_HALF: Final = 1 << 32
"""Splits a checksum so that the sum of a billion halves fits a bigint."""
_SPARK_BUCKET: Final = sql("cast(shiftright(ingest_md5_number({c}), 28) as int) % {n}")
_ROW_TEXT: Final = "ingest_row_text"
CHANGE: Final = sql("coalesce(_cdc_offset * 100000L + _cdc_partition, -1L)")
"""The version of a stored row: the coordinates of its change, as one number."""


@attrs.frozen
class ComparedColumn:
    """A column on both sides: its names, and the type that the source declares."""

    name: str
    source: str
    source_type: str
    form: Form
    is_hashed: bool = False
    """Whether a row's checksum hashes the value itself instead of its text."""

    def in_lake(self) -> Sql:
        """Return its text in the lake."""
        return self.form.spark(ident(self.name))

    def in_source(self, database: Database) -> Sql:
        """Return its text in the source."""
        text = database.text(self.form, self.source_type, database.ident(self.source))
        if text is None:
            raise ValueError(self.name)
        return text

    def in_source_row(self, database: Database) -> Sql:
        """Return it as a part of its row in the source."""
        return database.part(self.form, self.in_source(database))

    def in_lake_row(self) -> Sql:
        """Return it as the functions of whole rows take it."""
        return ident(self.name) if self.is_hashed else self.form.in_row(ident(self.name))

    @property
    def letter(self) -> str:
        """How the functions of whole rows take it."""
        return "h" if self.is_hashed else "f" if self.form.name in TEXTS else "p"

    def hashed_by(self, checksum: Checksum | HashChecksum) -> "ComparedColumn":
        """Return it as a checksum takes it."""
        is_hashed = isinstance(checksum, HashChecksum) and checksum.has(self.form, self.source_type)
        return attrs.evolve(self, is_hashed=is_hashed)


@attrs.frozen
class Layout:
    """Keys and columns to compare, the filter, and the columns that cannot be compared, with reasons."""

    keys: tuple[ComparedColumn, ...]
    columns: tuple[ComparedColumn, ...]
    uncompared: Mapping[str, str]
    mode: Mode = "checksums"
    where: str = ""
    source_where: str = ""
    """The condition of the table's own rows, in the source's SQL."""
    sample_parts: int = SAMPLE_PARTS
    """Rows to compare, of `SAMPLE_PARTS`, by a hash of the key."""
    checksum: str = MD5
    """Spark's function of a row's values that gives its checksum."""

    @property
    def has_ranges(self) -> bool:
        """Whether the first key column is a whole number, in whose order both sides agree."""
        return self.keys[0].form.name == "integer"

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

    def with_checksum(self, checksum: Checksum | HashChecksum) -> "Layout":
        """Return the layout with a checksum of the source."""
        keys, columns = (
            tuple(column.hashed_by(checksum) for column in group) for group in (self.keys, self.columns)
        )
        return attrs.evolve(self, keys=keys, columns=columns, checksum=checksum.spark)

    def lake_row(self, function: str) -> Sql:
        """Return a function of the row's values: `source_row` or a checksum of it."""
        columns = (*self.keys, *self.values())
        return sql(
            "{function}({letters}, {values})",
            function=word(function),
            letters=literal("".join(column.letter for column in columns)),
            values=join(", ", [column.in_lake_row() for column in columns]),
        )

    def lake_bucket(self, buckets: int) -> Sql:
        """Return the bucket of a row, by its first key column."""
        return _SPARK_BUCKET.of(c=self.keys[0].in_lake(), n=buckets)

    def lake_chunks(self, rows: DataFrame, chunk: Sql) -> dict[int, tuple[int, int]]:
        """Return rows and sum of checksums of each chunk that has rows."""
        numbers = self.lake_filter(rows).selectExpr(
            str(chunk.alias("chunk")), str(self.lake_row(self.checksum).alias("n"))
        )
        sums = numbers.groupBy("chunk").agg(
            F.count("*").alias("rows"),
            F.expr("sum(shiftright(n, 32))").alias("high"),
            F.expr("sum(n & 4294967295L)").alias("low"),
        )
        return {row.chunk: (row.rows, row.high * _HALF + row.low) for row in sums.collect()}

    def lake_rows(
        self,
        rows: DataFrame,
        condition: Sql | None = None,
        *,
        with_columns: bool = False,
        version: Sql = CHANGE,
    ) -> DataFrame:
        """Return rows as `Queries.rows_query` does, with their version as `v`."""
        chosen = self.lake_filter(rows)
        if condition is not None:
            chosen = chosen.where(str(condition))
        columns = [key.in_lake().alias(f"k{i}") for i, key in enumerate(self.keys)]
        columns.append(version.alias("v"))
        if with_columns:
            columns += [c.in_lake().alias(f"c{i}") for i, c in enumerate(self.columns)]
        else:
            row = self.lake_row(_ROW_TEXT if self.mode == "full" else self.checksum)
            columns.append(row.alias("d"))
        return select_expr(chosen, *map(str, columns))

    def key_names(self) -> list[str]:
        """Return the names of the key's texts."""
        return [f"k{i}" for i in range(len(self.keys))]

    def values(self) -> tuple[ComparedColumn, ...]:
        """Return the columns that the mode compares."""
        return () if self.mode in {"keys", "counts"} else self.columns
