"""A wider or longer row reaches the table, and the rows of before read back right."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ingest.sql.types import in_place, parse_ddl

if TYPE_CHECKING:
    from tests.hudi.conftest import Lake

pytestmark = pytest.mark.spark
KEY = "id int not null"


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_widened_and_added_columns_read_back_right(lake: "Lake", kind: str) -> None:
    """Old rows show the same values in the wider types, the added column as null and last in the order.

    A float keeps its text, and so becomes another number (see `in_place`).
    """
    table = lake.table("evolved", type=kind, buckets=1)
    old = "i int, f float, d int, s decimal(10,2), z string"
    new = "i bigint, f double, n array<int>, d double, s decimal(20,4), z string"
    before: tuple[Any, ...] = (7, 0.1, 7, Decimal("1.25"), "z")
    wide: tuple[Any, ...] = (2**40, 0.1, [1], 0.5, Decimal("12345678901234.1234"), "y")
    lake.commit(table, lake.changes(f"{KEY}, {old}", *(("c", "1", key, *before) for key in (1, 2, 3))))
    lake.commit(table, lake.changes(f"{KEY}, {new}", ("u", "2", 2, *wide)))
    lake.commit(table, lake.changes(f"{KEY}, {old}", ("u", "3", 3, *before)))

    retained = (7, 0.1, 7.0, Decimal("1.2500"), "z", None)
    changed = (2**40, 0.1, 0.5, Decimal("12345678901234.1234"), "y", [1])
    assert lake.rows(table, "id", "i", "f", "d", "s", "z", "n") == [
        (1, *retained),
        (2, *changed),
        (3, *retained),
    ]
    assert lake.open(table).fields() == (
        ("_cdc_op", "string", True),
        ("_cdc_position", "string", False),
        ("id", "int", False),
        ("i", "bigint", True),
        ("f", "double", True),
        ("d", "double", True),
        ("s", "decimal(20,4)", True),
        ("z", "string", True),
        ("n", "array<int>", True),
    )


WIDENED: Final = {
    "flat": ("int", "bigint", "1"),
    "whole": ("int", "double", "1"),
    "exact": ("decimal(5,2)", "decimal(9,2)", "1"),
    "same": ("struct<a:int>", "struct<a:int>", "named_struct('a', 1)"),
    "added": ("struct<a:int>", "struct<a:int,b:string>", "named_struct('a', 1)"),
    "added_in": ("array<struct<a:int>>", "array<struct<b:string,a:int>>", "array(named_struct('a', 1))"),
    "field": ("struct<a:int>", "struct<a:bigint>", "named_struct('a', 1)"),
    "item": ("array<int>", "array<bigint>", "array(1)"),
    "value": ("map<string,float>", "map<string,double>", "map('k', 1)"),
    "exact_in": ("array<decimal(5,2)>", "array<decimal(9,2)>", "array(1)"),
    "deep": ("array<map<string,struct<a:int>>>", "array<map<string,struct<a:bigint>>>",
             "array(map('k', named_struct('a', 1)))"),
}  # fmt: skip
"""Columns: the type before and after, and a value."""


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_plain_spark_reads_the_older_files_of_columns_widened_in_place(
    lake: "Lake", outer_spark: SparkSession, kind: str
) -> None:
    """And refuses the others, which a run rewrites; a session of ours reads them as well."""
    table = lake.table("widened", type=kind, buckets=2)
    before = {name: f"cast({value} as {was})" for name, (was, _, value) in WIDENED.items()}
    after = {
        name: f"cast({'null' if name.startswith('added') else value} as {wider})"
        for name, (_, wider, value) in WIDENED.items()
    }
    for number, values in ((1, before), (2, after)):  # a bucket each
        columns = ", ".join(f"{value} as {name}" for name, value in values.items())
        rows = lake.spark.sql(
            f"select 'c' as _cdc_op, '{number}' as _cdc_position, {number} as id, {columns}"
        )
        nullable = [F.when(F.col("id") > 0, F.col(name)).alias(name) for name in WIDENED]
        lake.commit(table, rows.select("_cdc_op", "_cdc_position", "id", *nullable))

    plain = outer_spark.newSession()
    plain.conf.set("spark.sql.parquet.enableNestedColumnVectorizedReader", "true")  # Spark's default
    readable = set()
    for name in WIDENED:
        try:
            plain.read.format("hudi").load(lake.path(table)).select("id", name).collect()
        except Py4JJavaError:
            continue
        readable.add(name)

    assert readable == {
        name for name, (was, wider, _) in WIDENED.items() if in_place(parse_ddl(was), parse_ddl(wider))
    }
    assert len(lake.frame(table).select(*WIDENED).collect()) == 2


def test_a_dropped_column_stays_and_is_null_in_new_rows(lake: "Lake") -> None:
    """The table keeps the values of older rows."""
    table = lake.table("dropped")
    lake.commit(table, lake.changes(f"{KEY}, a int, b int", ("c", "1", 1, 1, 1), ("c", "1", 2, 1, 1)))
    lake.commit(table, lake.changes(f"{KEY}, a int", ("u", "2", 2, 2)))

    assert lake.rows(table, "id", "a", "b") == [(1, 1, 1), (2, 2, None)]
