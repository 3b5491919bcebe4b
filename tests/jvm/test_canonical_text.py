"""The functions of canonical texts and checksums, against Spark's own, plain Python and PostgreSQL."""

import pytest
from pyspark.sql import SparkSession

from ingest.sources.forms import Form
from ingest.sources.layout import ComparedColumn, Layout
from ingest.sql.template import sql
from ingest.verify.chunks import Ranges, key_ranges

pytestmark = pytest.mark.spark

TEXTS = ("", "a", "ingest äöü €🙂", "x" * 11, "x" * 12, "0123456789" * 20)
UUIDS = (
    "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "6f5a1a0e-2b2f-4bd5-8b1a-0123456789ab", "6f5a1a0e-2b2f-4bd5-8b1a-0123456789ac",
    "A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12",
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a13",
)  # fmt: skip
NAN, INFINITY = float("nan"), float("inf")
POSTGRES_HASHES: tuple[tuple[tuple[object, ...], int], ...] = (
    ((0, 0, 0.0, "2000-01-01", True, UUIDS[0], TEXTS[0]), 1166859031561320687),
    ((-1, -1, -0.0, "1999-12-31", False, UUIDS[1], TEXTS[1]), -735508990568603978),
    ((2**31 - 1, 2**31, 0.1, "0001-01-01", True, UUIDS[2], TEXTS[2]), 7435074666437620936),
    (
        (-(2**31), -(2**31) - 1, 0.10000000000000002, "9999-12-31", False, UUIDS[3], TEXTS[3]),
        853812855912171422,
    ),
    ((7, 2**63 - 1, INFINITY, "2024-02-29", True, UUIDS[4], TEXTS[4]), 6203993916697352727),
    ((8, -(2**63), NAN, "1970-01-01", False, UUIDS[5], TEXTS[5]), 2688948720700223513),
    ((9, 2**32 + 1, -2.5, "2024-03-01", True, UUIDS[6], "x" * 13), 1693161148101681483),
    ((9, None, None, None, None, None, None), -7304068464769166460),
    ((9, None, 0.0, None, None, None, None), 6113461062878802735),
    ((9, 0, None, None, None, None, None), -5062302964120110598),
)
"""Rows, and what PostgreSQL 15 makes of them by the checksum of `ingest.sources.postgres`."""


def test_a_row_has_the_checksum_that_postgresql_gives_it(spark: SparkSession) -> None:
    """Each type at its extremes, and null; by generated code, and by the interpreter."""
    columns = "i int, b bigint, d double, h string, o boolean, k string, t string"
    rows = spark.createDataFrame([row for row, _ in POSTGRES_HASHES], columns)
    rows = rows.selectExpr("i", "b", "d", "cast(h as date) as h", "o", "k", "t").repartition(1)
    checksum = "ingest_row_postgres_hash('hhhhhhf', i, b, d, h, o, k, t) as checksum"
    expected = sorted(number for _, number in POSTGRES_HASHES)
    assert sorted(row.checksum for row in rows.selectExpr(checksum).collect()) == expected
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    try:
        assert sorted(row.checksum for row in rows.selectExpr(checksum).collect()) == expected
    finally:
        spark.conf.unset("spark.sql.codegen.wholeStage")
        spark.conf.unset("spark.sql.codegen.factoryMode")


def test_a_number_is_found_among_bounds(spark: SparkSession) -> None:
    """A bound is in the upper range; the first and the last one are open."""
    ranges = Ranges((-(2**63), -5, 10, 2**63 - 1))
    numbers = (-(2**63), -(2**63) + 1, -6, -5, 0, 9, 10, 2**63 - 2, 2**63 - 1)
    df = spark.createDataFrame([(number,) for number in numbers], "k bigint")
    chunks = [each.chunk_of(sql("k")).alias(name) for each, name in ((ranges, "chunk"), (Ranges(()), "zero"))]
    rows = df.selectExpr(*map(str, chunks)).collect()
    assert [row.chunk for row in rows] == [1, 1, 1, 2, 2, 2, 3, 3, 4]
    assert {row.zero for row in rows} == {0}


def test_ranges_have_about_equal_shares(spark: SparkSession) -> None:
    """Keys that are alike make fewer ranges; a table without rows has one."""
    layout = Layout((ComparedColumn("id", "id", "bigint", Form("integer")),), (), {})
    ranges = key_ranges(spark.range(100_000), layout, 100_000, 10)
    assert ranges.count == 10
    assert all(abs(bound - 10_000 * n) < 2_000 for n, bound in enumerate(ranges.bounds, start=1))
    assert key_ranges(spark.range(1_000).selectExpr("0 as id"), layout, 1_000, 10).count <= 2
    assert key_ranges(spark.range(0), layout, 0, 10) == key_ranges(spark.range(9), layout, 9, 1) == Ranges(())


VALUES = {
    "boolean": [True, False],
    "tinyint": [-128, 127],
    "int": [0, -1, 7, -(2**31), 2**31 - 1],
    "bigint": [0, -9, 10, 99, -100, 10**18, -(10**18), 10**18 - 1, -(2**63), 2**63 - 1],
    "decimal(5,2)": ["0.00", "-0.01", "1.10", "-999.99", "12.34"],
    "decimal(18,18)": ["0.000000000000000001", "-0.999999999999999999", "0.000000000000000000"],
    "decimal(18,0)": ["999999999999999999", "-1", "0"],
    "decimal(38,10)": ["0.0000000000", "-0.0000000001", "1234567890123456789012345678.0123456789"],
    "decimal(38,38)": ["0.00000000000000000000000000000000000001"],
    "date": ["0001-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31"],
    "timestamp_ntz": ["0001-01-01 00:00:00", "2024-02-29 23:59:59.12", "9999-12-31 23:59:59.999999"],
}
"""Values by type, as their text."""


def test_a_row_is_its_parts_between_commas(spark: SparkSession) -> None:
    """Each type at its extremes and null; free text with its octets, bytes as hexadecimal."""
    names = [f"c{n}" for n in range(len(VALUES))]
    longest = max(map(len, VALUES.values()))
    literals = [
        ", ".join(
            f"cast({'null' if n >= len(values) else repr(str(values[n]))} as {spark_type})"
            for spark_type, values in VALUES.items()
        )
        for n in range(longest)
    ]
    df = spark.sql(f"select * from values ({'), ('.join(literals)}) as t({', '.join(names)})")
    row = f"ingest_row_text('{'p' * len(names)}', {', '.join(names)})"
    rows = df.repartition(1).selectExpr(f"{row} as row").collect()
    padded = [[*values, *[""] * (longest - len(values))] for values in VALUES.values()]
    assert sorted(row.row for row in rows) == sorted(
        ",".join(str(value).replace("True", "true").replace("False", "false") for value in values)
        for values in zip(*padded, strict=True)
    )
    assert any("-9223372036854775808," in row.row for row in rows)
    mixed = spark.createDataFrame(
        [("a,é", b"\x00\xff", -0.0, "1:x"), (None,) * 4], "t string, b binary, d double, p string"
    )
    texts = mixed.selectExpr(
        "ingest_row_text('fppp', t, b, d, p) as row", "ingest_row_text('ff', t, t) as two"
    )
    assert [tuple(row) for row in texts.collect()] == [
        ("4:a,é,x00ff,0,1:x", "4:a,é,4:a,é"), (",,,", ","),
    ]  # fmt: skip
