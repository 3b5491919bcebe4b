"""Many tables in one Spark session, several at a time; what goes wrong with one stays with it."""

import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ingest.errors import BrokerUnreachableError, IngestError, UnexpectedError
from ingest.hudi.cause import class_names, root_cause
from ingest.kafka.watermarks import Watermarks, fetch_watermarks
from ingest.log import logger
from ingest.registry import Registry
from ingest.run.report import RunReport, TableOutcome, failed
from ingest.run.table import Progress, Run, run_table
from ingest.settings import Settings
from ingest.tables import Table

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
    watermarks = fetch_watermarks(
        settings.kafka.bootstrap_servers, settings.kafka.properties, [table.topic for table in tables]
    )
    with ThreadPoolExecutor(settings.run.parallel_tables, thread_name_prefix="table") as threads:
        outcomes = tuple(threads.map(lambda table: _run_one(run, table, watermarks), tables))
    return RunReport(run.run_id, started, datetime.now(UTC), outcomes)


def _run_one(run: Run, table: Table, watermarks: Watermarks) -> TableOutcome:
    """Run one table in its own scheduler pool, and turn whatever it raises into its outcome."""
    started = time.monotonic()
    run.spark.sparkContext.setLocalProperty("spark.scheduler.pool", table.table)
    try:
        outcome = run_table(run, table, watermarks.of(table.topic))
    except IngestError as error:
        outcome = failed(table.table, table.topic, error, time.monotonic() - started)
    except (Py4JError, PySparkException) as error:
        known = _explain_spark(run, table, error)
        outcome = failed(table.table, table.topic, known, time.monotonic() - started)
    except Exception as error:  # noqa: BLE001  one table's surprise must not stop the others
        logger("run").error("table.failed", table=table.table, exc_info=error)
        surprise = UnexpectedError(f"table {table.table}", f"{type(error).__name__}: {error}")
        outcome = failed(table.table, table.topic, surprise, time.monotonic() - started)
    run.progress(table.table, outcome.outcome)
    return outcome


def _explain_spark(run: Run, table: Table, error: Py4JError | PySparkException) -> IngestError:
    """Return what a failed Spark job means: a broker that went away, or something unforeseen."""
    logger("run").debug("spark.failed", table=table.table, exc_info=error)
    problem = root_cause(error)
    if class_names(error) & _KAFKA_DOWN:
        return BrokerUnreachableError(run.settings.kafka.bootstrap_servers, problem)
    return UnexpectedError(f"table {table.table}", problem)
