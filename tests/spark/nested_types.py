"""Commit nested values of every type four times, and write to `report.json` which ones came back wrong."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.hudi.table import HudiTable
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.upkeep.maintain import keep_up
from ingest.jars.artifacts import spark_jars
from ingest.names import Partition, Subject, Topic
from ingest.spark.session import start_session
from ingest.tables import Subjects, TableConfig, Target

VALUES = {
    "boolean": "true",
    "int": "-7",
    "bigint": "9223372036854775807",
    "float": "float('0.5')",
    "double": "0.1D",
    "string": "'é'",
    "binary": "X'00FF'",
    "date": "date'0001-01-01'",
    "timestamp": "timestamp'1850-01-01 00:00:00.123456Z'",
    "ntz": "timestamp_ntz'2024-03-10 02:30:00.123456'",
    "decimal": "cast('1.25' as decimal(38,10))",
    "money": "cast('1.25' as decimal(9,2))",
    "fee": "cast('-1.250000' as decimal(18,6))",
}
DDL = {"ntz": "timestamp_ntz", "decimal": "decimal(38,10)", "money": "decimal(9,2)", "fee": "decimal(18,6)"}
SHAPES = {
    "array": "array({0}, cast(null as {1}))",
    "plain": "{0}",
    "map": "map('k', {0})",
    "struct": "named_struct('a', {0}, 'b', cast(null as {1}))",
    "deep": "array(named_struct('m', map('k', array({0}))))",
    "arrays": "array(array({0}), cast(null as array<{1}>))",
    "in_struct": "array(named_struct('list', array({0}), 'element', {0}))",
    "in_structs": """array(named_struct(
        'a', {0}, 'b', named_struct('a', {0}, 'c', array(named_struct('a', {0})))))""",
}
NAMESAKES = {
    "namesakes": """array(named_struct(
        'a', cast(1 as decimal(38,10)), 'b', named_struct('a', cast(2 as decimal(5,1)))))""",
}
COLUMNS = NAMESAKES | {
    f"{shape}_{name}": template.format(value, DDL.get(name, name))
    for shape, template in SHAPES.items()
    for name, value in VALUES.items()
}
COMMITS = 4
LOADS = [("bucket", "bulk_insert"), ("bucket", "upsert"), ("global_simple", "bulk_insert")]
TARGETS = {
    "usual": [("cow", *LOADS[0]), ("mor", *LOADS[0])],
    "others": [("cow", *load) for load in LOADS[1:]],
}
MONEY = "cast(1.5 as decimal(9,2))"
CHANGES = [
    "select 'c' as _cdc_op, '0' as _cdc_position, id, 1 as v, 'a' as w from values (1), (2), (3) as t(id)",
    f"""select 'u' as _cdc_op, '1' as _cdc_position, 1 as id, 10 as v,
        array(named_struct('m', array({MONEY}))) as c""",
    f"""select 'u' as _cdc_op, '2' as _cdc_position, 2 as id, 3000000000 as v, 'b' as w,
        array(named_struct('m', array({MONEY}), 'n', {MONEY})) as c""",
    "select 'd' as _cdc_op, '3' as _cdc_position, 3 as id",
    "select 'u' as _cdc_op, '0' as _cdc_position, 1 as id, 99 as v, 'late' as w",
    "select 'u' as _cdc_op, '5' as _cdc_position, 1 as id, 99 as v, 'never' as w where false",
]
"""A column of decimals below an array is added, widened, left out; one row is deleted, another one late."""
CHANGED = f"""
    select 1 as id, 10L as v, cast(null as string) as w,
        array(named_struct('m', array({MONEY}), 'n', cast(null as decimal(9,2)))) as c
    union all
    select 2, 3000000000L, 'b', array(named_struct('m', array({MONEY}), 'n', {MONEY}))
"""


def table_of(name: str, kind: str, index: str, first_load: str) -> TableConfig:
    """Return a table file; a merge-on-read table is compacted after every second commit."""
    return TableConfig(
        name=f"{name}_{kind}_{index}_{first_load}",
        topic=Topic("s.dbo.t"),
        dialect="sqlserver",
        subjects=Subjects(value=Subject("s.dbo.t-value")),
        target=Target(type=kind, index=index, buckets=1, first_load=first_load),  # type: ignore[arg-type]
        hudi={"hoodie.compact.inline.max.delta.commits": "2"} if kind == "mor" else {},
    )


def commit(stored: HudiTable, table: TableConfig, rows: DataFrame, number: int) -> None:
    """Commit rows whose key cannot be null, and whose other columns can."""
    stored.commit(nullable(rows), table, ["id"], "upsert" if number else "load", entry(table, number))
    keep_up(stored, table)


def nullable(rows: DataFrame) -> DataFrame:
    """Let all columns be nullable but key and position, as those of a run."""
    fixed = ("id", "_cdc_op", "_cdc_position")
    names = [name for name in rows.columns if name not in fixed]
    return rows.select(*fixed, *(F.when(F.col("id") > 0, F.col(name)).alias(name) for name in names))


def entry(table: TableConfig, number: int) -> LedgerEntry:
    """Return the account of a commit."""
    offsets = {Partition(0): number}
    return LedgerEntry(f"run-{number}", table.topic, offsets, offsets)


def write(spark: SparkSession, lake: Path, *target: str) -> list[str]:
    """Commit every type several times; return the columns with another value than was written."""
    table = table_of("nested", *target)
    stored = HudiTable(spark, str(lake / table.name))
    values = ", ".join(f"{sql} as {name}" for name, sql in COLUMNS.items())
    expected = spark.sql(f"select {values}")
    for number in range(COMMITS):
        rows = expected.selectExpr(
            "'u' as _cdc_op", f"'{number}' as _cdc_position", f"{number % 2} + 1 as id", "*"
        )
        commit(stored, table, rows, number)
    rows, first = stored.rows().collect(), expected.collect()[0]
    return [f"{table.name}.{name}" for name in COLUMNS if [row[name] for row in rows] != [first[name]] * 2]


def change(spark: SparkSession, lake: Path, *target: str) -> list[str]:
    """Change a table's columns and rows; return the table's name if its rows are wrong."""
    table = table_of("changed", *target)
    stored = HudiTable(spark, str(lake / table.name))
    for number, rows in enumerate(CHANGES):
        commit(stored, table, spark.sql(rows), number)
    rows = stored.rows().select("id", "v", "w", "c").orderBy("id").collect()
    return [] if rows == spark.sql(CHANGED).collect() else [f"{table.name}: {rows}"]


def main(lake: Path, targets: Sequence[Sequence[str]]) -> None:
    """Write the report."""
    spark = start_session("nested", "local[2]", {}, spark_jars(), is_short=True)
    wrong = [
        problem for step in (write, change) for target in targets for problem in step(spark, lake, *target)
    ]
    (lake / "report.json").write_text(json.dumps({"wrong": wrong, "tables": 2 * len(targets)}))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), TARGETS[sys.argv[2]])
