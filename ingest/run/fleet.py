"""Many tables in one Spark session, several at a time; what goes wrong with one stays with it."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

import attrs
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ingest.errors import BrokerUnreachableError, IngestError, UnexpectedError
from ingest.hudi.java_errors import class_names, root_cause
from ingest.kafka.breaks import Watermark
from ingest.kafka.watermarks import Watermarks, fetch_watermarks
from ingest.log import logger
from ingest.names import Partition
from ingest.registry import Registry
from ingest.run.context import Progress, Run
from ingest.run.measure import log_run, log_table, look_after, measured
from ingest.run.report import RunReport, TableOutcome, failed
from ingest.run.supervisor import Supervisor
from ingest.run.table import run_table
from ingest.settings import Settings
from ingest.stop import Stop
from ingest.tables import TableConfig

T = TypeVar("T")

_KAFKA_DOWN = frozenset({"TimeoutException", "DisconnectException", "BrokerNotAvailableException"})
"""Java exceptions of a broker that went away while its records were read."""


def run_tables(
    settings: Settings,
    spark: SparkSession,
    registry: Registry,
    tables: Sequence[TableConfig],
    progress: Progress,
    *,
    max_offsets: int | None = None,
    stop: Stop | None = None,
) -> RunReport:
    """Bring every table up to the ends that its topic has now.

    Raises only what concerns all of them: a broker out of reach.  A SIGTERM or SIGINT that comes meanwhile
    ends the run in order; then it is raised again, or with a `stop` of the caller's told by that alone.
    """
    started = datetime.now(UTC)
    marks = fetch_ends(settings, tables)
    rejects: dict[str, int | None] = {}

    def after(table: TableConfig) -> None:
        rejects[table.name] = look_after(run, table)

    def finish(table: TableConfig, found: TableOutcome | IngestError, seconds: float) -> TableOutcome:
        if isinstance(found, IngestError):
            found = failed(table.name, table.topic, found, seconds)
        ends = marks.found.get(table.topic)
        found = measured(run, table, found, ends, rejects.get(table.name))
        progress(table.name, found.outcome)
        log_table(run.run_id, found)
        return found

    steps = Steps(progress, stop or Stop())
    run = Run(str(uuid.uuid4()), settings, spark, registry, max_offsets, steps, steps.stop)
    outcomes = for_each(run, steps, tables, run_table, finish, marks=marks, after=after)
    if stop is None:
        run.stop.raise_signal()
    report = RunReport(run.run_id, started, datetime.now(UTC), outcomes)
    log_run(report)
    return report


@attrs.frozen
class Steps:
    """Passes steps on, and keeps each table's last."""

    progress: Progress
    stop: Stop = attrs.Factory(Stop)
    last: dict[str, str] = attrs.Factory(dict)

    def __call__(self, table: str, step: str) -> None:
        """Note a step."""
        self.last[table] = step
        self.progress(table, step)


def for_each(
    run: Run,
    steps: Steps,
    tables: Sequence[TableConfig],
    work: Callable[[Run, TableConfig, Mapping[Partition, Watermark]], T],
    finish: Callable[[TableConfig, T | IngestError, float], T],
    *,
    marks: Watermarks,
    after: Callable[[TableConfig], None] = lambda _: None,
) -> tuple[T, ...]:
    """Work on tables, several at a time, in their order; `after` follows in the table's own thread."""

    def attempt(table: TableConfig) -> T | IngestError:
        found = _attempt(run, table, lambda: work(run, table, marks.of(table.topic)))
        after(table)
        return found

    supervisor = Supervisor(run.spark.sparkContext, run.settings.run, run.stop, steps.last, attempt, finish)
    return supervisor.run(run.run_id, tables)


def fetch_ends(settings: Settings, tables: Sequence[TableConfig]) -> Watermarks:
    """Fetch where the tables' topics end now."""
    kafka = settings.kafka
    return fetch_watermarks(kafka.bootstrap_servers, kafka.properties, [table.topic for table in tables])


def _attempt(run: Run, table: TableConfig, work: Callable[[], T]) -> T | IngestError:
    """Work on one table in its own scheduler pool, and return whatever is raised as an error of ours."""
    run.spark.sparkContext.setLocalProperty("spark.scheduler.pool", table.name)
    try:
        return work()
    except IngestError as error:
        return error
    except (Py4JError, PySparkException) as error:
        return _explain_spark(run, table, error)
    except Exception as error:  # noqa: BLE001  one table's surprise must not stop the others
        logger(__name__).error("table.failed", table=table.name, exc_info=error)
        return UnexpectedError(f"table {table.name}", f"{type(error).__name__}: {error}")


def _explain_spark(run: Run, table: TableConfig, error: Py4JError | PySparkException) -> IngestError:
    """Return what a failed Spark job means: a broker that went away, or something unforeseen."""
    logger(__name__).debug("spark.failed", table=table.name, exc_info=error)
    problem = root_cause(error)
    if class_names(error) & _KAFKA_DOWN:
        return BrokerUnreachableError(run.settings.kafka.bootstrap_servers, problem)
    return UnexpectedError(f"table {table.name}", problem)
