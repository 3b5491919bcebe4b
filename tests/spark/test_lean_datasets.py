"""Lean datasets give what Spark's own give, and make an encoder only for what needs it."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.spark.java import frame_of, java_rows, java_session, jvm_of, select_expr

pytestmark = pytest.mark.spark

SCHEMA = "id int not null, text string, part struct<a: int, b: array<bigint>>"
ROWS = [(3, "x", (1, [5])), (1, None, (2, [])), (2, "x", None)]

STEPS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "no step": lambda rows: rows,
    "select": lambda rows: rows.selectExpr("*", "id + 1 as next", "part.b as `b.c`"),
    "columns": lambda rows: rows.select(F.col("text"), F.expr("stack(2, id, -id)")),
    "where": lambda rows: rows.where("text = 'x'").where(F.col("id") > 2),
    "replace": lambda rows: rows.withColumns({"text": F.lit("y"), "more": F.col("id")}),
    "rename and drop": lambda rows: rows.withColumnRenamed("text", "t").drop("part"),
    "sort": lambda rows: rows.sortWithinPartitions(F.desc("text"), "id"),
}
OTHERS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "aggregate": lambda rows: rows.groupBy("text").agg(F.max("id"), F.count("*")),
    "join": lambda rows: rows.join(rows.selectExpr("id", "text as other"), "id"),
    "union": lambda rows: rows.unionByName(rows.selectExpr("id", "text"), allowMissingColumns=True),
    "rows for users": lambda rows: rows.sparkSession.createDataFrame(rows.rdd, rows.schema),
    "order": lambda rows: rows.orderBy(F.desc("id")).limit(2),
}


@pytest.fixture(scope="module")
def plain(spark: SparkSession) -> DataFrame:
    """Return rows of Spark's own dataset."""
    return spark.createDataFrame(ROWS, SCHEMA)


@pytest.fixture
def lean(plain: DataFrame) -> DataFrame:
    """Return the same rows of a lean dataset."""
    spark = plain.sparkSession
    of, rows = jvm_of(spark).io.hudicdc.ingest.spark.LeanDataset.of, java_rows(plain)
    return frame_of(spark, of(java_session(spark), rows.queryExecution().toRdd(), rows.schema()))


def has_encoder(rows: DataFrame) -> bool:
    """Return whether a lean dataset has made its encoder.  Fails for another dataset."""
    field = java_rows(rows).getClass().getDeclaredField("own")
    field.setAccessible(True)
    return field.get(java_rows(rows)) is not None


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_the_steps_of_a_batch_make_no_encoder(
    plain: DataFrame, lean: DataFrame, step: Callable[[DataFrame], DataFrame]
) -> None:
    """They give the rows of Spark's own, in the same order."""
    expected, result = step(plain), step(lean)
    assert (result.schema, result.collect()) == (expected.schema, expected.collect())
    assert not has_encoder(lean)
    assert not has_encoder(result)


@pytest.mark.parametrize("step", OTHERS.values(), ids=OTHERS)
def test_other_steps_give_the_rows_of_sparks_own(
    plain: DataFrame, lean: DataFrame, step: Callable[[DataFrame], DataFrame]
) -> None:
    """In any order."""
    expected, result = step(plain), step(lean)
    assert result.schema == expected.schema
    assert sorted(map(str, result.collect())) == sorted(map(str, expected.collect()))


def test_an_encoder_that_is_asked_for_has_the_columns_of_the_rows(lean: DataFrame) -> None:
    """Spark needs it to give rows to users, for one."""
    result = lean.selectExpr("id", "part")
    assert java_rows(result).exprEnc().schema().json() == java_rows(result).schema().json()
    assert has_encoder(result)


def test_one_call_selects_all_expressions(plain: DataFrame) -> None:
    """Also those with characters that the call has to escape."""
    expressions = ("*", "id + 1", """'"\\ \n\u00e9\U0001f600' as `a"\\b`""", "part.b")
    expected, result = plain.selectExpr(*expressions), select_expr(plain, *expressions)
    assert (result.schema, result.collect()) == (expected.schema, expected.collect())
