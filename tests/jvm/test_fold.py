"""`Fold.newest` against Spark's own `max_by` and sums."""

from pathlib import Path
from shutil import rmtree

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

pytestmark = pytest.mark.spark

ROWS = 40_000
COUNTERS = {"messages": "SUM", "newest_ms": "MAX", "seen": "OR"}
KEYS = {
    "few": "cast(hash(id, 1) % 7 as string)",
    "many": "cast(id as string)",
    "pairs, one beside the other": "cast(id div 2 as string)",
    "pairs, far from each other": f"cast(id % {ROWS // 2} as string)",
    "few, then many": f"cast(if(id < {ROWS // 4}, id % 5, id) as string)",
    "some null": "if(id % 3 = 0, null, cast(id % 100 as string))",
}


def _rows(spark: SparkSession, key: str, text: str) -> DataFrame:
    """Give rows with a key, and a place that no two of them share and that is not the order they lie in."""
    return spark.range(ROWS).repartition(3).selectExpr(
        f"{key} as key",
        "if(id % 2 = 0, 'even', 'odd') as kind",
        f"named_struct('p0', hash(id, 2) % 10, 'p1', id * 7919 % {ROWS}) as place",
        f"{text} as text",
        "id",
        "1L as messages",
        "if(id % 5 = 0, null, hash(id, 3) * 1000L) as newest_ms",
        "shiftleft(1L, cast(id % 60 as int)) as seen",
    )  # fmt: skip


def _newest(rows: DataFrame) -> DataFrame:
    spark = rows.sparkSession
    folded = spark._jvm.io.hudicdc.ingest.LatestByKey.of(rows._jdf, 2, 1, COUNTERS)  # type: ignore[union-attr] # noqa: SLF001  no other way
    return DataFrame(folded, spark)


def _referee(rows: DataFrame) -> DataFrame:
    kept = [F.max_by(name, "place").alias(name) for name in ("place", "text", "id")]
    counted = [F.sum("messages"), F.max("newest_ms"), F.bit_or("seen")]
    named = [one.alias(name) for one, name in zip(counted, COUNTERS, strict=True)]
    return rows.groupBy("key", "kind").agg(*kept, *named)


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_each_group_has_its_newest_row_and_all_counts(spark: SparkSession, key: str) -> None:
    """However many groups there are and wherever their rows lie."""
    rows = _rows(spark, key, "concat('text ', id)")
    folded, wanted = _newest(rows), _referee(rows)

    assert folded.columns == rows.columns
    assert folded.count() == wanted.count()
    assert folded.exceptAll(wanted.select(*folded.columns)).count() == 0


def test_rows_that_are_too_large_to_be_held_are_folded_behind_the_shuffle(spark: SparkSession) -> None:
    """Rows of 20,000 bytes: 16 MiB hold 800 of the 4,096 that slots are there for."""
    rows = _rows(spark, "cast(id % 2000 as string)", "repeat('x', 20000)").where("id < 4000")

    columns = rows.drop("text").columns
    folded = _newest(rows)
    assert folded.count() == 2_000
    assert folded.select(*columns).exceptAll(_referee(rows).select(*columns)).count() == 0


def test_a_look_at_what_was_folded_reads_the_source_no_more(spark: SparkSession, tmp_path: Path) -> None:
    """The shuffle's files are there: what was read and decoded is not read and decoded again."""
    source = str(tmp_path / "rows")
    _rows(spark, "cast(id % 10 as string)", "'x'").write.parquet(source)
    folded = _newest(spark.read.parquet(source))
    rmtree(source)
    assert [folded.count(), folded.count()] == [10, 10]
