"""`LatestByKey` against Spark's own aggregates."""

import json
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.spark.java import java_rows, jvm_of

pytestmark = pytest.mark.spark

ROWS = 40_000
COUNTERS = {"messages": "SUM", "newest_ms": "MAX", "seen": "OR"}
COMBINE = json.dumps(COUNTERS)
EVENT = ("sort_key", "text", "id")
KEYS = {
    "few": "cast(hash(id, 1) % 7 as string)",
    "many": "cast(id as string)",
    "adjacent pairs": "cast(id div 2 as string)",
    "distant pairs": f"cast(id % {ROWS // 2} as string)",
    "few, then many": f"cast(if(id < {ROWS // 4}, id % 5, id) as string)",
    "some null": "if(id % 3 = 0, null, cast(id % 100 as string))",
}
PARTIAL = {"some": "hash(id, 4) % 3 = 0", "most": "hash(id, 4) % 300 != 0", "all": "true", "no": "false"}
MANY_TASKS = 17
"""More than the session has after a shuffle."""


def _rows(spark: SparkSession, key: str, text: str) -> DataFrame:
    """Return rows with a key and a unique sort key, in another order than that of the sort key."""
    return spark.range(ROWS).repartition(3).selectExpr(
        f"{key} as key",
        "if(id % 2 = 0, 'even', 'odd') as kind",
        f"named_struct('p0', hash(id, 2) % 10, 'p1', id * 7919 % {ROWS}) as sort_key",
        f"{text} as text",
        "id",
        "1L as messages",
        "if(id % 5 = 0, null, hash(id, 3) * 1000L) as newest_ms",
        "shiftleft(1L, cast(id % 60 as int)) as seen",
    )  # fmt: skip


def _combiner(spark: SparkSession) -> Any:
    return jvm_of(spark).io.hudicdc.ingest.latest.LatestByKey


def _newest(rows: DataFrame, *, in_one_task: bool = False, tasks: int = 0) -> DataFrame:
    spark = rows.sparkSession
    combiner = _combiner(spark)
    if in_one_task:
        return DataFrame(combiner.ofFew(java_rows(_sorted(rows)), 2, 1, COMBINE), spark)
    return DataFrame(combiner.of(java_rows(rows), 2, 1, COMBINE, tasks), spark)


def _sorted(rows: DataFrame) -> DataFrame:
    return DataFrame(_combiner(rows.sparkSession).sorted(java_rows(rows.coalesce(1)), 3), rows.sparkSession)


def _referee(rows: DataFrame) -> DataFrame:
    newest = [F.max_by(name, "sort_key").alias(name) for name in EVENT]
    return rows.groupBy("key", "kind").agg(*newest, *_counters())


def _counters() -> list[Column]:
    counters = [F.sum("messages"), F.max("newest_ms"), F.bit_or("seen")]
    return [counter.alias(name) for counter, name in zip(counters, COUNTERS, strict=True)]


def _with_partial(rows: DataFrame, *, in_one_task: bool = False) -> DataFrame:
    spark, event = rows.sparkSession, f"struct({', '.join(EVENT)})"
    given = rows.selectExpr(
        *(column for column in rows.columns if column != "partial"),
        "partial",
        f"if(false, {event}, null) as base",
        f"if(false, array({event}), null) as later",
    )
    combiner = _combiner(spark)
    if in_one_task:
        reduced = combiner.withPartialOfFew(java_rows(_sorted(given)), 2, 1, len(EVENT), COMBINE)
    else:
        reduced = combiner.withPartial(java_rows(given), 2, 1, len(EVENT), COMBINE, MANY_TASKS)
    return DataFrame(reduced, spark).drop("partial")


def _partial_referee(rows: DataFrame) -> DataFrame:
    """Return the partial rows after the newest whole one, in order, as SQL says it."""
    grouped = rows.withColumn("event", F.struct(*EVENT)).groupBy("key", "kind")
    lists = grouped.agg(
        F.max(F.expr("if(partial, null, event)")).alias("whole"),
        F.collect_list(F.expr("if(partial, event, null)")).alias("partials"),
        *_counters(),
    ).withColumn(
        "later",
        F.expr(
            "array_sort(filter(partials, e -> whole is null or e.sort_key > whole.sort_key), (a, b) -> "
            "case when a.sort_key < b.sort_key then -1 when a.sort_key > b.sort_key then 1 else 0 end)"
        ),
    )
    newest = "if(size(later) = 0, whole, element_at(later, -1))"
    return lists.selectExpr(
        "key",
        "kind",
        *(f"{newest}.{name} as {name}" for name in EVENT),
        *COUNTERS,
        "if(size(later) = 0, null, whole) as base",
        "if(size(later) = 0, null, later) as later",
    )


@pytest.mark.parametrize("in_one_task", [False, pytest.param(True, marks=pytest.mark.pairs)])
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_each_group_has_its_newest_row_and_all_counts(
    spark: SparkSession, key: str, *, in_one_task: bool
) -> None:
    """However many groups there are and wherever their rows are."""
    rows = _rows(spark, key, "concat('text ', id)")
    combined, expected = _newest(rows, in_one_task=in_one_task), _referee(rows)

    assert combined.columns == rows.columns
    assert combined.count() == expected.count()
    assert combined.exceptAll(expected.select(*combined.columns)).count() == 0


@pytest.mark.parametrize("key", [KEYS["few"], KEYS["distant pairs"], KEYS["some null"]])
@pytest.mark.parametrize("partial", PARTIAL.values(), ids=PARTIAL)
@pytest.mark.parametrize("in_one_task", [False, pytest.param(True, marks=pytest.mark.pairs)])
def test_each_group_has_the_partial_rows_after_its_newest_whole_row(
    spark: SparkSession, key: str, partial: str, *, in_one_task: bool
) -> None:
    """In order, with the whole row before them; groups that end with a whole row have only that."""
    rows = _rows(spark, key, "concat('text ', id)").withColumn("partial", F.expr(partial))
    combined, expected = _with_partial(rows, in_one_task=in_one_task), _partial_referee(rows)

    assert combined.count() == expected.count()
    assert combined.exceptAll(expected.select(*combined.columns)).count() == 0


def test_the_whole_row_of_an_event_wins_over_its_partial_copy(spark: SparkSession) -> None:
    """Two rows of one group with the same order are one event, whichever comes first."""
    events = [(key, n, is_partial) for n, is_partial in enumerate([True, False]) for key in ("a", "b")]
    events += [("b", 2, True)]
    rows = spark.createDataFrame(events, "key string, n int, partial boolean").selectExpr(
        "key", "'k' as kind", "named_struct('p0', if(n = 2, 1, 0)) as sort_key", "string(n) as text",
        "n as id", "1L as messages", "1L as newest_ms", "1L as seen", "partial",
    )  # fmt: skip
    results = {row["key"]: row for row in _with_partial(rows).collect()}
    assert (results["a"]["text"], results["a"]["later"], results["a"]["messages"]) == ("1", None, 2)
    assert (results["b"]["base"]["text"], [row["text"] for row in results["b"]["later"]]) == ("1", ["2"])


def test_rows_too_large_for_the_slots_are_combined_after_the_shuffle(spark: SparkSession) -> None:
    """Of rows of 20,000 bytes, 800 fill the 16 MiB of the 4,096 slots."""
    rows = _rows(spark, "cast(id % 2000 as string)", "repeat('x', 20000)").where("id < 4000")

    columns = rows.drop("text").columns
    combined = _newest(rows)
    assert combined.count() == 2_000
    assert combined.select(*columns).exceptAll(_referee(rows).select(*columns)).count() == 0


def test_a_second_evaluation_does_not_read_the_source_again(spark: SparkSession, tmp_path: Path) -> None:
    """It reads the files of the shuffle, or the rows that one task kept at the first evaluation."""
    source = str(tmp_path / "rows")
    _rows(spark, "cast(id % 10 as string)", "'x'").write.parquet(source)
    reduced = _newest(spark.read.parquet(source), in_one_task=True)
    shuffled = [_newest(spark.read.parquet(source), tasks=tasks) for tasks in (0, MANY_TASKS)]
    assert reduced.count() == 10
    rmtree(source)
    assert [rows.count() for rows in (reduced, *shuffled, *shuffled)] == [10] * 5


def test_few_rows_are_reduced_and_counted_in_one_job_of_one_task(spark: SparkSession) -> None:
    """Nothing is shuffled: an aggregate of the result runs in the same task."""
    rows = _rows(spark, KEYS["many"], "'x'").localCheckpoint()
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()  # noqa: SLF001  no public way
    jobs = scheduler.numTotalJobs()
    assert _newest(rows, in_one_task=True).groupBy("kind").count().collect()
    assert scheduler.numTotalJobs() - jobs == 1


def test_few_reduced_rows_leave_their_plan_behind_after_their_first_job(spark: SparkSession) -> None:
    """A task comes with the lineage of its rows: with a local master, later ones start at the kept rows."""
    newest = _newest(_rows(spark, KEYS["few"], "'t'"), in_one_task=True)
    lineage = [newest.rdd.toDebugString()]
    newest.collect()
    lineage.append(newest.rdd.toDebugString())
    assert [b"LocalCheckpointRDD" in text for text in lineage] == [False, True]
    assert newest.count() == len(newest.collect())
