"""Many tables in one Spark session, several at a time; what goes wrong with one stays with it."""

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ingest.errors import BrokerUnreachableError, IngestError, UnexpectedError
from ingest.hudi.cause import class_names, root_cause
from ingest.kafka.watermarks import Watermarks, fetch_watermarks
from ingest.log import logger
from ingest.registry import Registry
from ingest.run.plan import TablePlan, plan_table, stopped
from ingest.run.report import RunReport, TableOutcome, failed
from ingest.run.table import Progress, Run, run_table
from ingest.settings import Settings
from ingest.tables import Table

T = TypeVar("T")

_KAFKA_DOWN = frozenset({"TimeoutException", "DisconnectException", "BrokerNotAvailableException"})
"""Java exceptions of a broker that went away while its records were read."""


def run_tables(
    settings: Settings,
    spark: SparkSession,
    registry: Registry,
    tables: Sequence[Table],
    progress: Progress,
    *,
    max_offsets: int | None = None,
) -> RunReport:
    """Bring every table up to the ends that its topic has now.

    Raises only what concerns all of them: a broker out of reach.
    """
    started = datetime.now(UTC)
    run = Run(str(uuid.uuid4()), settings, spark, registry, max_offsets, progress)
    outcomes = tuple(_for_each(run, tables, lambda table, marks: _run_one(run, table, marks)))
    return RunReport(run.run_id, started, datetime.now(UTC), outcomes)


def plan_tables(
    settings: Settings,
    spark: SparkSession,
    registry: Registry,
    tables: Sequence[Table],
    progress: Progress,
    *,
    max_offsets: int | None = None,
) -> tuple[TablePlan, ...]:
    """Say what a run would do to every table.  Raises only what concerns all of them."""
    run = Run(str(uuid.uuid4()), settings, spark, registry, max_offsets, progress)
    return tuple(_for_each(run, tables, lambda table, marks: _plan_one(run, table, marks)))


def _for_each(run: Run, tables: Sequence[Table], work: Callable[[Table, Watermarks], T]) -> Iterable[T]:
    """Work on tables, several at a time, in their order; the ends of their topics are those of now."""
    kafka = run.settings.kafka
    marks = fetch_watermarks(kafka.bootstrap_servers, kafka.properties, [table.topic for table in tables])
    with ThreadPoolExecutor(run.settings.run.parallel_tables, thread_name_prefix="table") as threads:
        return tuple(threads.map(lambda table: work(table, marks), tables))


def _run_one(run: Run, table: Table, watermarks: Watermarks) -> TableOutcome:
    started = time.monotonic()
    found = _attempt(run, table, lambda: run_table(run, table, watermarks.of(table.topic)))
    if isinstance(found, IngestError):
        found = failed(table.table, table.topic, found, time.monotonic() - started)
    run.progress(table.table, found.outcome)
    return found


def _plan_one(run: Run, table: Table, watermarks: Watermarks) -> TablePlan:
    found = _attempt(run, table, lambda: plan_table(run, table, watermarks.of(table.topic)))
    if isinstance(found, IngestError):
        found = stopped(TablePlan(table.table, table.topic, "fail"), found)
    run.progress(table.table, "idle")
    return found


def _attempt(run: Run, table: Table, work: Callable[[], T]) -> T | IngestError:
    """Work on one table in its own scheduler pool, and return whatever is raised as an error of ours."""
    run.spark.sparkContext.setLocalProperty("spark.scheduler.pool", table.table)
    try:
        return work()
    except IngestError as error:
        return error
    except (Py4JError, PySparkException) as error:
        return _explain_spark(run, table, error)
    except Exception as error:  # noqa: BLE001  one table's surprise must not stop the others
        logger("run").error("table.failed", table=table.table, exc_info=error)
        return UnexpectedError(f"table {table.table}", f"{type(error).__name__}: {error}")


def _explain_spark(run: Run, table: Table, error: Py4JError | PySparkException) -> IngestError:
    """Return what a failed Spark job means: a broker that went away, or something unforeseen."""
    logger("run").debug("spark.failed", table=table.table, exc_info=error)
    problem = root_cause(error)
    if class_names(error) & _KAFKA_DOWN:
        return BrokerUnreachableError(run.settings.kafka.bootstrap_servers, problem)
    return UnexpectedError(f"table {table.table}", problem)
