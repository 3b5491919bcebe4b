"""Snapshot reads of a merge-on-read table under updates, and the writer's CPU, by `[target] compact_at`."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any, Final

import attrs
from pyspark.sql import DataFrame, SparkSession
from small import cpu_seconds

from ingest.hudi.table import HudiTable
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.upkeep.maintain import keep_up, maintain
from ingest.jars.artifacts import spark_jars
from ingest.names import Subject, Topic
from ingest.spark.java import empty_rows, jvm_of
from ingest.spark.session import start_session
from ingest.tables import Subjects, TableConfig, Target

ROWS: Final = 300_000
CHANGES: Final = 20_000
RUNS: Final = int(os.environ.get("RUNS", "10"))
POLICIES: Final = {
    "copy on write": Target(type="cow"),
    "default": Target(type="mor"),
    "compact_at = 0.1": Target(type="mor", compact_at=0.1),
}
DDL: Final = (
    "_cdc_op string, _cdc_position string not null, id int not null, name string, code string, qty int, "
    "amount decimal(12,2), day date, at timestamp, city string, run bigint, flag boolean, ratio double, "
    "note string"
)


@attrs.frozen
class Costs:
    """CPU seconds of one policy: the ten runs with their upkeep, and a read after each of them."""

    runs: float
    reads: tuple[float, ...]
    plain: float
    """A read once everything is compacted."""


def costliest_read() -> float:
    """Return the costliest read after ten runs, with `compact_at`, over a read of the compacted table."""
    spark = start_session("bench", "local[2]", {"spark.driver.memory": "3g"}, spark_jars())
    with TemporaryDirectory() as folder:
        _measure(spark, Path(folder, "warm"), Target(type="mor"), runs=2)
        figures = {
            name: _shown(name, _measure(spark, Path(folder, str(number)), target))
            for number, (name, target) in enumerate(POLICIES.items())
        }
    return figures["compact_at = 0.1"]


def _shown(name: str, costs: Costs) -> float:
    """Print the costs of a policy.  Return the costliest read as a multiple of the plain one."""
    most, average = max(costs.reads) / costs.plain, mean(costs.reads) / costs.plain
    runs = f"runs {costs.runs:.1f} s, plain read {costs.plain:.2f} s"
    print(f"  {name}: {runs}, reads {most:.1f} x at most, {average:.1f} x on average", flush=True)
    return most


def _measure(spark: SparkSession, folder: Path, target: Target, runs: int = RUNS) -> Costs:
    """Load a table and commit runs of changes, one key in fifteen."""
    topic = Topic("bench")
    table = TableConfig("t", topic, "sqlserver", subjects=Subjects(value=Subject("t-value")), target=target)
    stored = HudiTable(spark, f"{folder}/t")
    _commit(stored, table, 0, _rows(spark, ROWS, 0, 0, 1))
    runs_s, reads = 0.0, []
    for run in range(1, runs + 1):
        rows = _rows(spark, CHANGES, run, run, ROWS // CHANGES)
        runs_s += _cpu_s(spark, partial(_commit, stored, table, run, rows))
        reads.append(_read_s(stored))
    maintain(stored, table)
    return Costs(runs_s, tuple(reads), median(_read_s(stored) for _ in range(5)))


def _rows(spark: SparkSession, count: int, run: int, start: int, step: int) -> DataFrame:
    frame = spark.range(count).selectExpr(f"cast(id * {step} + {start} as int) id").selectExpr(
        "'u' _cdc_op", f"'{run:05}' _cdc_position", "id",
        f"md5(concat(id, '-{run}')) name", f"substring(md5(concat(id, '-{run}')), 1, 8) code",
        "id * 7 % 1000 qty", "cast(id * 1.01 as decimal(12,2)) amount",
        "date_add(date'2026-01-01', id % 365) day", "timestamp_micros(1700000000000000 + id * 1000003L) at",
        "concat('city-', id % 500) city", f"cast({run} as bigint) run", "id % 2 = 0 flag", "id * 1.5D ratio",
        "concat('note ', sha1(cast(id as string))) note",
    )  # fmt: skip
    return empty_rows(spark, DDL).union(frame)


def _commit(stored: HudiTable, table: TableConfig, run: int, rows: DataFrame) -> None:
    entry = LedgerEntry(f"run-{run}", table.topic, {}, {})
    stored.commit(rows, table, ("id",), "upsert" if run else "load", entry)
    keep_up(stored, table)


def _read_s(stored: HudiTable) -> float:
    """Return the CPU of a read of all rows and columns."""
    rows = stored.spark.read.format("hudi").load(stored.path)
    return _cpu_s(stored.spark, lambda: rows.write.format("noop").mode("overwrite").save())


def _cpu_s(spark: SparkSession, work: Callable[[], Any]) -> float:
    """Return the CPU seconds of the JVM and of Python meanwhile."""
    pid = int(jvm_of(spark).java.lang.ProcessHandle.current().pid())
    before = cpu_seconds(pid)
    work()
    return cpu_seconds(pid) - before
