"""A table that hangs, or that a signal ends, is abandoned; one in its commit, and the others, continue."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest.errors import IngestError, StoppedError, TableTimeoutError
from ingest.names import Subject, Topic
from ingest.run.work.steps import StepTimes
from ingest.run.work.supervisor import Supervisor
from ingest.settings import RunSettings
from ingest.stop import Stop, listening
from ingest.tables import Subjects, TableConfig

pytestmark = pytest.mark.spark

Work = Callable[[], str | IngestError]
HANGS_S = 20


@attrs.define
class Tables:
    """Tables with works of their own, under one supervisor."""

    spark: SparkSession
    stop: Stop = attrs.Factory(Stop)
    steps: StepTimes = attrs.Factory(StepTimes)
    over: threading.Event = attrs.Factory(threading.Event)

    def run(self, settings: RunSettings, works: Mapping[str, Work]) -> dict[str, str | IngestError]:
        """Work on all tables; return each result."""
        subjects = Subjects(value=Subject("v"))
        tables = [TableConfig(name=n, topic=Topic(n), dialect="sqlserver", subjects=subjects) for n in works]
        results: dict[str, str | IngestError] = {}

        def finish(table: TableConfig, result: str | IngestError, _: float) -> str:
            results[table.name] = result
            return table.name

        for name in works:
            self.steps.enter(name, "reading")
        supervisor = Supervisor(
            self.spark.sparkContext,
            settings,
            self.stop,
            self.steps,
            lambda table: works[table.name](),
            finish,
        )
        with listening(self.stop):
            shift = supervisor.run("r", tables)
        assert shift.results == {name: name for name in works}
        return results

    def hang_in_spark(self) -> str | IngestError:
        """Run a job that does not come back by itself; do as a table that it fails does."""
        try:
            self.count(10**13)
        except Exception as error:  # noqa: BLE001  whatever a cancelled job raises
            return TableTimeoutError("cancelled", 0, str(error))
        return "counted"

    def count(self, to: int) -> None:
        """Run a job of a certain length."""
        self.spark.range(0, to, 1, 2).selectExpr("max(hash(id))").collect()

    def hang_elsewhere(self) -> str:
        """Wait for a call that Spark cannot cancel."""
        self.over.wait(HANGS_S)
        return "too late"

    def jobs(self) -> int:
        """Count Spark's active jobs."""
        return len(self.spark.sparkContext.statusTracker().getActiveJobsIds())


@pytest.fixture
def tables(spark: SparkSession) -> Iterator[Tables]:
    """Give tables; what hangs is let go at the end."""
    built = Tables(spark)
    built.count(1)  # what is compiled once more takes its time
    yield built
    built.over.set()


def test_a_hanging_table_is_abandoned_after_its_time(tables: Tables) -> None:
    """In Spark or elsewhere; with its name and step; others continue, and a commit gets its grace time."""

    def commit() -> str:
        with tables.stop.committing("commits"):
            time.sleep(0.6)
        return "committed"

    def commit_for_ever() -> str:
        with tables.stop.committing("commits_for_ever"):
            return tables.hang_elsewhere()

    started = time.monotonic()
    result = tables.run(
        RunSettings(parallel_tables=4, table_timeout_s=0.3, stop_grace_s=1.2),
        {
            "spark": tables.hang_in_spark,
            "elsewhere": tables.hang_elsewhere,
            "commits_for_ever": commit_for_ever,
            "commits": commit,
            "fine": lambda: "committed",
            "refused": lambda: StoppedError("refused", "its own"),
        },
    )

    assert time.monotonic() - started < HANGS_S
    for name in ("spark", "elsewhere", "commits_for_ever"):
        assert repr(result[name]) == repr(TableTimeoutError(name, 0.3, "reading"))
    assert result["commits"] == result["fine"] == "committed"
    assert repr(result["refused"]) == repr(StoppedError("refused", "its own"))
    assert tables.jobs() == 0
    with pytest.raises(TableTimeoutError), tables.stop.committing("elsewhere"):
        pytest.fail("a table that was given up commits")


def test_a_signal_lets_a_commit_finish_and_abandons_the_rest(tables: Tables) -> None:
    """Nothing new starts; the handlers are as before."""
    before = signal.getsignal(signal.SIGTERM)

    def commit() -> str:
        with tables.stop.committing("commits"):
            while not tables.jobs():
                time.sleep(0.02)
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.5)
        return "committed"

    result = tables.run(
        RunSettings(parallel_tables=2, stop_grace_s=30),
        {"spark": tables.hang_in_spark, "commits": commit, "waits": lambda: "committed"},
    )

    assert result.pop("commits") == "committed"
    assert {name: repr(error) for name, error in result.items()} == {
        name: repr(StoppedError(name, "SIGTERM")) for name in ("spark", "waits")
    }
    assert tables.jobs() == 0
    assert signal.getsignal(signal.SIGTERM) == before
