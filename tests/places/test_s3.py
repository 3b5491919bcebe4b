"""Tables in S3: written by real runs, read without a JVM, checked by their files."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest import Session
from ingest.api.session import silent
from ingest.hudi.lake_files import LakeFiles
from ingest.hudi.offline_table import OfflineTable
from ingest.hudi.storage.folder import UnclearFilesError
from ingest.local.servers import Addresses
from ingest.operations.status.status import StatusTask
from ingest.run.task import RunTask
from ingest.run.work.context import Context
from ingest.run.work.topics import TopicsTask
from ingest.run.work.work import resolve, work_on_tables
from ingest.spark.driver import Driver
from ingest.spark.hadoop_settings import UNKNOWN, HadoopSettings, hadoop_settings
from ingest.testing import nullable
from tests.e2e.events import Change, make_topics
from tests.hudi.checks import check_files
from tests.hudi.conftest import Lake
from tests.hudi.test_offline_table import History, answers, clear_answers, data_sizes
from tests.places.s3 import S3

pytestmark = [pytest.mark.places, pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}


class SparkStartedError(Exception):
    """A table needed Spark, though its files could have answered."""


@pytest.fixture
def s3_lake(spark: SparkSession, s3: S3, tmp_path: Path) -> Lake:
    """Return an empty lake in the bucket."""
    return Lake(spark, f"{s3.lake}/{tmp_path.name}", hadoop=hadoop_settings(s3.spark_conf()))


@pytest.fixture
def make_session(
    tmp_path: Path, servers: Addresses, s3: S3, outer_spark: SparkSession
) -> Callable[[], Session]:
    """Return a function that opens a deployment with its lake in the bucket."""
    conf = "".join(f'"{key}" = "{value}"\n' for key, value in s3.spark_conf().items())
    # Hudi's lock for S3 needs its bundle for AWS.
    (tmp_path / "ingest.toml").write_text(
        f'[registry]\nurl = "{servers.registry_url}"\n'
        f'[kafka]\nbootstrap_servers = "{servers.bootstrap_servers}"\n'
        f'[lake]\npath = "{s3.lake}/{tmp_path.name}"\nlock = "none"\n[spark.conf]\n{conf}'
    )
    return lambda: Session.open(tmp_path / "ingest.toml", spark=outer_spark)


class IdleDriver(Driver):
    """A driver that must not start Spark."""

    def start(self, messages: int, file_bytes: int) -> SparkSession:
        """Fail the test."""
        raise SparkStartedError(messages, file_bytes)


def results(session: Session, hadoop: HadoopSettings, task: Any) -> list[dict[str, Any]]:
    """Return a task's results as JSON, without the times; known settings must not need Spark."""
    driver = (Driver if hadoop == UNKNOWN else IdleDriver)(session.settings, session.spark)
    files = LakeFiles(session.settings.lake, hadoop)
    run = Context("r", session.settings, files, driver, lambda: session.registry, None, silent)
    tables = session.tables()
    feeds, watermarks = resolve(run, tables)
    found = work_on_tables(run, tables, TopicsTask(task(watermarks), feeds))
    by_time = ("seconds", "step_seconds", "source_lag_s", "metrics")
    return [{key: value for key, value in table.to_json().items() if key not in by_time} for table in found]


def test_a_table_of_real_runs_is_read_without_a_jvm(
    make_session: Callable[[], Session], servers: Addresses, s3: S3
) -> None:
    """Run, idle run and status over S3: the files answer as Spark does, with the same settings."""
    topic = make_topics(servers, {"s3.testDB.dbo.orders": COLUMNS})["orders"]
    settings = hadoop_settings(s3.spark_conf())
    with make_session() as session:
        session.onboard(["s3.testDB.dbo.orders"], name="{table}")
        fresh = results(session, settings, StatusTask)
        assert fresh == results(session, UNKNOWN, StatusTask)
        for at in range(3):
            topic.send(
                *(Change("c" if not at else "u", {"id": n, "v": f"{at}"}, at=10 * at + n) for n in range(5))
            )
            assert session.run().exit_code == 0

        idle, status = (results(session, settings, task) for task in (RunTask, StatusTask))

        assert idle == results(session, UNKNOWN, RunTask)
        assert status == results(session, UNKNOWN, StatusTask)
        assert (idle[0]["outcome"], status[0]["rows"], status[0]["lag"]) == ("idle", 5, 0)
        assert [check.outcome for check in session.verify_files()] == ["sound"]


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_both_readers_agree_over_a_history_in_s3(s3_lake: Lake, kind: str) -> None:
    """Commits, moves, rewrites, with cleaning, archiving and compaction."""
    table = attrs.evolve(s3_lake.table(f"history_{kind}", type=kind, buckets=2), hudi=s3_lake.SHORT_MEMORY)
    assert OfflineTable(s3_lake.path(table), s3_lake.hadoop).checkpoint() is None
    history = History(s3_lake, table)
    happenings = [*[history.commit] * 7, history.move, history.rewrite, history.commit_of_another_writer]
    random.Random(3).shuffle(happenings)  # noqa: S311  the order is the test's data
    for happening in (history.commit, *happenings):
        happening()
        assert clear_answers(s3_lake, table) >= {"file", "storage"}
        assert not check_files(s3_lake, table).findings
    if kind == "cow":
        assert clear_answers(s3_lake, table) >= {"checkpoint", "rows"}


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_file_missing_in_the_bucket_is_found(s3_lake: Lake, s3: S3, kind: str) -> None:
    """Both readers find it, in a run, in a status, in a check."""
    table = s3_lake.table(f"missing_{kind}", type=kind, buckets=1)
    history = History(s3_lake, table)
    for _ in range(2):
        history.commit()
    folder = s3_lake.path(table).removeprefix("s3a://")
    newest = max(
        path for path in data_sizes(OfflineTable(s3_lake.path(table), s3_lake.hadoop))
        if (".log." in path) == (kind == "mor") and not path.startswith(".hoodie_")
    )  # fmt: skip
    s3.client().delete_file(f"{folder}/{newest}")

    assert "which is missing" in str(clear_answers_of_storage(s3_lake, table))
    (finding,) = check_files(s3_lake, table).findings
    assert newest in finding.problem


def clear_answers_of_storage(lake: Lake, table: Any) -> Any:
    """Return the answer of the files about the storage, which must be Hudi's, too."""
    assert "storage" in clear_answers(lake, table)
    return answers(OfflineTable(lake.path(table), lake.hadoop), table, ["storage"])["storage"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("access.key", ""),
        ("endpoint", "http://127.0.0.1:9"),
        ("aws.credentials.provider", "com.example.Keys"),
    ],
)
def test_a_bucket_that_does_not_answer_is_left_to_spark(s3_lake: Lake, s3: S3, key: str, value: str) -> None:
    """Never an empty table in its place."""
    conf = s3.spark_conf() | {f"spark.hadoop.fs.s3a.{key}": value}
    path = s3_lake.path(s3_lake.table("anything"))
    with pytest.raises((UnclearFilesError, OSError)):
        OfflineTable(path, hadoop_settings(conf)).checkpoint()
    with pytest.raises((UnclearFilesError, OSError)):
        OfflineTable("s3a://no-such-bucket/t", s3_lake.hadoop).checkpoint()
