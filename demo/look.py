"""Reads the demo's Hudi tables with plain Spark, and compares every cell with the source's own rows.

Those rows are texts in SQL Server's spelling, recorded apart from the events; Spark casts them, not `ingest`.
"""  # noqa: INP001  a script

import gzip
import json
import sys
from pathlib import Path

import attrs
from pyspark.sql import DataFrame, SparkSession

from ingest import Session
from ingest.cli.output import claim_stdout, print_table, print_text

SHOWN = {
    "sqs_testDB_dbo_customers": ("id", "credit", "vip", "updated", "loyalty", "_cdc_op", "_cdc_schema_id"),
    "sqs_testDB_dbo_widen": ("id", "n", "amt", "extra", "_cdc_op", "_cdc_schema_id"),
}
ROWS_SHOWN = 6


@attrs.frozen
class Comparison:
    """What a table holds against what the source held at the end."""

    table: str
    rows: int
    source_rows: int
    columns: int
    differing: int


def main(fixture: Path) -> int:
    """Show two tables, compare all; the exit code says whether they are equal."""
    claim_stdout()
    with Session.open("ingest.toml") as session:
        lake, names = session.settings.lake, [table.name for table in session.tables()]
        frames = {name: session.spark.read.format("hudi").load(lake.table_path(name)) for name in names}
        for name, columns in SHOWN.items():
            show(name, frames[name].select(*columns))
        results = [compare(session.spark, name, frames[name], fixture) for name in names]
    print_text("Every cell against the rows that SQL Server held at the end:")
    numbers = ("rows", "source rows", "columns", "cells that differ")
    print_table(("table", *numbers), [attrs.astuple(item) for item in results], right=numbers)
    return 1 if any(item.differing or item.rows != item.source_rows for item in results) else 0


def show(name: str, frame: DataFrame) -> None:
    """Print some of a table's rows: half of them the oldest keys, half the newest."""
    texts = frame.select(*(frame[column].cast("string") for column in frame.columns))
    rows = texts.orderBy(frame["id"]).collect()
    some = [*rows[: ROWS_SHOWN // 2], ["…"] * len(frame.columns), *rows[-ROWS_SHOWN // 2 :]]
    print_text(f"{name}, some of {len(rows)} rows:")
    print_table(frame.columns, some)
    print_text()


def compare(spark: SparkSession, name: str, frame: DataFrame, fixture: Path) -> Comparison:
    """Count the cells that differ from the source's; a missing row, or one too many, differs in its key."""
    file_name = f"{name.removeprefix('sqs_testDB_dbo_')}.json.gz"
    with gzip.open(fixture / "expected" / file_name, "rt", encoding="utf-8") as file:
        source = json.load(file)
    kinds = {column["name"]: column["type"].partition("(")[0] for column in source["columns"]}
    spark_types = dict(frame.dtypes)
    texts = spark.createDataFrame(source["rows"], ", ".join(f"`{column}` string" for column in kinds))
    expected = texts.selectExpr(
        *(f"{value_of(column, kind, spark_types[column])} as `{column}`" for column, kind in kinds.items())
    )
    result = frame.selectExpr(
        *(f"{plain_time(column) if kind == 'time' else f'`{column}`'} as `{column}`"
          for column, kind in kinds.items())
    )  # fmt: skip
    keys = " and ".join(f"e.`{key}` = f.`{key}`" for key in source["primary_key"])
    differing = " + ".join(f"sum(int(not (e.`{column}` <=> f.`{column}`)))" for column in kinds)
    (row,) = spark.sql(
        f"select {differing} as n from {{expected}} e full join {{found}} f on {keys}",  # noqa: S608  ours
        expected=expected,
        found=result,
    ).collect()
    return Comparison(name, frame.count(), len(source["rows"]), len(kinds), row["n"])


def value_of(column: str, kind: str, spark_type: str) -> str:
    """Return SQL for the value that a text of a SQL Server type means."""
    match kind:
        case "binary" | "varbinary" | "rowversion":
            return f"unhex(substring(`{column}`, 3))"
        case "time":
            return plain_time(column)
        case _:
            return f"cast(`{column}` as {spark_type})"


def plain_time(column: str) -> str:
    """Return SQL for a time of day without zeros at its end: their number is the type's, not the value's."""
    return f"rtrim('.', rtrim('0', if(`{column}` like '%.%', `{column}`, `{column}` || '.')))"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
