"""Looks at rows on both sides: find rows that differ, and whether they still differ after nothing changed."""

from contextlib import AbstractContextManager
from typing import Final, Protocol

import attrs
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.sources.layout import Layout
from ingest.sql.template import Sql
from ingest.verify.delivery import LogReader
from ingest.verify.lake import LakeRows

MANY_KEYS: Final = 20_000
"""Values of the first key column that are looked up one by one. Above this number, read the whole source."""
KEYS_PER_QUERY: Final = 500
_NUMBERS: Final = ("d", "v")

_CONFIRMED: Final = "confirmed"
_EQUAL: Final = "equal"


@attrs.frozen
class Part:
    """A part of both sides, given by conditions for the source's queries and one for the lake.

    Without conditions it is all rows.
    """

    predicates: tuple[Sql, ...] = ()
    lake: Sql | None = None
    buckets: int = 0


class SourceRows(Protocol):
    """The rows of a table in its source, with the columns of `Layout.lake_rows`."""

    def errors(self) -> AbstractContextManager[None]:
        """Translate driver exceptions into `IngestError`s."""
        ...

    def count(self, *, with_versions: bool = False) -> tuple[int, ...]:
        """Return the number of rows, and on request the sum of their versions if rows have one."""
        ...

    def of_part(self, part: Part) -> DataFrame:
        """Return the rows of a part, with their checksum."""
        ...

    def of_keys(self, rows: DataFrame, *, with_columns: bool = False) -> DataFrame:
        """Return at least the rows that have one of the keys."""
        ...


@attrs.frozen
class Opened:
    """A source that is open: its log, and the rows of one table with the columns to compare."""

    log: LogReader
    layout: Layout
    rows: SourceRows


def leads_of(rows: DataFrame) -> list[str] | None:
    """Return the values of the first key column, or None if there are more than `MANY_KEYS`."""
    leads = [row.k0 for row in rows.select("k0").distinct().limit(MANY_KEYS + 1).collect()]
    return leads if len(leads) <= MANY_KEYS else None


@attrs.frozen
class Looks:
    """Reads rows of both sides by their keys."""

    layout: Layout
    source: SourceRows
    stored: LakeRows

    def differing(self, part: Part) -> DataFrame:
        """Return the rows of a part that differ: their keys, and digest, version and number on each side."""
        rows = self._pairs(part, self.stored.read())
        return rows.where(f"not ({_SAME})")

    def again(self, rows: DataFrame) -> DataFrame:
        """Look at rows again, and add the column `verdict`.

        It is `equal`, `confirmed` (differs, and is unchanged on both sides) or null.
        """
        names = self.layout.key_names()
        lake = self._lake_rows_of(rows)
        source = _by_key(self.source.of_keys(rows), self.layout, "s")
        before = rows.select(*names, *(F.col(c).alias(f"{c}_before") for c in _STATE))
        pairs = before.join(source, names, "left").join(lake, names, "left")
        unchanged = " and ".join(f"{column} <=> {column}_before" for column in _STATE)
        verdict = f"case when {_SAME_OR_GONE} then '{_EQUAL}' when {unchanged} then '{_CONFIRMED}' end"
        return pairs.selectExpr(*names, *_STATE, f"{verdict} as verdict")

    def columns_of(self, rows: DataFrame) -> DataFrame:
        """Return every compared column of rows on both sides: `s_c0`, `t_c0` and so on."""
        names, count = self.layout.key_names(), len(self.layout.columns)
        columns = [f"c{index}" for index in range(count)]
        source = self.source.of_keys(rows, with_columns=True)
        source = source.select(*names, *(F.col(c).alias(f"s_{c}") for c in columns))
        lake = self.layout.lake_rows(self._lake_with_leads(rows), with_columns=True)
        lake = lake.select(*names, *(F.col(c).alias(f"t_{c}") for c in columns))
        return rows.join(source, names, "left").join(lake, names, "left")

    def _pairs(self, part: Part, stored: DataFrame) -> DataFrame:
        # The lake's snapshot is fixed here, before the source is read.
        lake = _by_key(self.layout.lake_rows(stored, part.lake), self.layout, "t")
        source = _by_key(self.source.of_part(part), self.layout, "s")
        return source.join(lake, self.layout.key_names(), "full_outer")

    def _lake_rows_of(self, rows: DataFrame) -> DataFrame:
        return _by_key(self.layout.lake_rows(self._lake_with_leads(rows)), self.layout, "t")

    def _lake_with_leads(self, rows: DataFrame) -> DataFrame:
        """Return the lake's rows with the first key column of any of the rows."""
        leads = F.broadcast(rows.select(F.col("k0").alias("_lead")).distinct())
        stored = self.stored.read()
        return stored.join(leads, F.expr(str(self.layout.keys[0].in_lake())) == F.col("_lead"), "left_semi")


_STATE: Final = ("s_d", "s_v", "s_n", "t_d", "t_v", "t_n")
_SAME: Final = "s_d <=> t_d and s_n <=> 1 and t_n <=> 1"
_SAME_OR_GONE: Final = f"({_SAME}) or (s_n is null and t_n is null)"


def _by_key(rows: DataFrame, layout: Layout, side: str) -> DataFrame:
    """Return one row for each key, with the number of rows that had it."""
    names = layout.key_names()
    numbers: list[Column] = [F.max(F.col(name)).alias(f"{side}_{name}") for name in _NUMBERS]
    return rows.groupBy(*names).agg(*numbers, F.count(F.lit(1)).alias(f"{side}_n"))


def read_once(rows: DataFrame) -> tuple[DataFrame, int]:
    """Read rows once, and return them with their number.

    Cut the plan: each look uses the rows of the one before several times, and cached rows keep their plan,
    which Spark would analyse again, several times larger with every look.
    """
    cut = rows.localCheckpoint()
    return cut, cut.count()


def verdict_is(rows: DataFrame, verdict: str | None) -> DataFrame:
    """Return the rows of a verdict."""
    condition = F.col("verdict").isNull() if verdict is None else F.col("verdict") == verdict
    return rows.where(condition).drop("verdict")
