"""Planned queries give what the queries themselves give, batch after batch."""

import attrs
import pytest
from pyspark.sql import DataFrame, SparkSession

from ingest.spark.java import jvm_of
from ingest.spark.planned_queries import Plans, plans_of

pytestmark = pytest.mark.spark


@attrs.define
class Counted:
    """A query that counts how often it is planned."""

    expressions: tuple[str, ...] = ("id", "concat(text, '!') as text")
    times: int = 0

    def __call__(self, rows: DataFrame) -> DataFrame:
        """Apply the query."""
        self.times += 1
        return rows.where("id % 2 = 1").selectExpr(*self.expressions)


def batch(spark: SparkSession, *ids: int) -> DataFrame:
    """Return rows in several partitions."""
    return spark.createDataFrame([(number, f"t{number}") for number in ids], "id int, text string")


def test_a_query_is_planned_once_for_all_batches_with_its_inputs(spark: SparkSession) -> None:
    """Each batch has its own rows; other inputs or other columns are planned anew."""
    plans, query = Plans(), Counted()
    for first in (1, 11, 21):
        rows = plans.apply("q", ("a",), query, batch(spark, first, first + 1, first + 2))
        assert [tuple(row) for row in rows.collect()] == [(n, f"t{n}!") for n in (first, first + 2)]
        assert [tuple(row) for row in rows.where("id > 2").collect()][-1] == (first + 2, f"t{first + 2}!")
    assert query.times == 1

    plans.apply("q", ("b",), query, batch(spark, 1))
    assert query.times == 2
    wider = batch(spark, 1).selectExpr("'x' as more", "cast(id as bigint) as id", "text")
    assert plans.apply("q", ("b",), query, wider).collect() == query(wider).collect()
    assert query.times == 4


def test_a_query_is_compiled_for_its_second_batch(spark: SparkSession) -> None:
    """Spark interprets the first batch: most processes have no other one."""
    compiled = jvm_of(spark).org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    batch(spark, 0).collect()  # Spark compiles the scan of such rows once a process
    plans, query, counts = Plans(), Counted(("id", "repeat(reverse(text), 2) as text")), []
    for first in (1, 11, 21):
        before = compiled.getCount()
        rows = plans.apply("once", (), query, batch(spark, first))
        assert [tuple(row) for row in rows.collect()] == [(first, 2 * f"t{first}"[::-1])]
        counts.append(compiled.getCount() - before)
    assert (counts[0], counts[1] > 0, counts[2]) == (0, True, 0)


def test_an_aggregate_of_a_planned_query_is_right_for_each_batch(spark: SparkSession) -> None:
    """Also for a batch without rows."""
    plans = Plans()

    def count(rows: DataFrame) -> DataFrame:
        return rows.groupBy("text").count()

    counts = [
        {row["text"]: row["count"] for row in plans.apply("c", (), count, batch(spark, *ids)).collect()}
        for ids in ((1, 1, 2), (), (2, 2, 2))
    ]
    assert counts == [{"t1": 2, "t2": 1}, {}, {"t2": 3}]


def test_a_query_that_reads_something_else_is_planned_for_each_batch(spark: SparkSession) -> None:
    """A plan holds one input: the rows of another table would stay those of the first batch."""
    plans, other = Plans(), batch(spark, 1, 2)

    def join(rows: DataFrame) -> DataFrame:
        return rows.join(other.selectExpr("id"), "id")

    for ids in ((1, 3), (2, 4)):
        assert [row["id"] for row in plans.apply("j", (), join, batch(spark, *ids)).collect()] == [ids[0]]


def test_sessions_do_not_share_plans(spark: SparkSession) -> None:
    """Each has settings of its own."""
    assert plans_of(spark) is plans_of(spark)
    assert plans_of(spark) is not plans_of(spark.newSession())


def test_more_tables_than_plans_still_find_some_of_them(spark: SparkSession) -> None:
    """They take turns, so that the plan used the longest time ago is the next one to be used."""
    plans, query, turns = Plans(most=10), Counted(), 8
    for first in range(1, 2 * turns, 2):
        rows = batch(spark, first)
        for table in range(11):
            assert plans.apply(f"q{table}", (), query, rows).collect() == [(first, f"t{first}!")]
    assert 11 + turns - 1 <= query.times < 11 * turns * 2 // 3


def test_a_query_whose_code_is_too_large_to_compile_runs_without_it(spark: SparkSession) -> None:
    """Java allows 64 KB in a method; Spark then interprets the query, and so does a planned one."""
    branches = " ".join(f"when id = {number} then concat(text, '{number}')" for number in range(2_000))
    plans, query = Plans(), Counted(("id", f"case {branches} end as text"))
    for first in (1, 11):
        rows = plans.apply("large", (), query, batch(spark, first, first + 1))
        assert [tuple(row) for row in rows.collect()] == [(first, f"t{first}{first}")]
    assert query.times == 1
