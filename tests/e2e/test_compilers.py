"""A JVM gets its optimising compiler by the work that is known before it starts."""

import re
from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from ingest.adopt.request import AdoptRequest, ExportKind, LoadRequest
from ingest.run import follow as following
from ingest.spark.driver import MANY_BYTES, MANY_MESSAGES, Driver
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, Topic, make_topics
from tests.e2e.tablefiles import copy_table

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, bool]]:
    """Note each start of a session: its messages, its bytes of files, and whether its JVM ends soon."""
    notes, start = list[tuple[int, int, bool]](), Driver.start

    def noted(driver: Driver, messages: int, file_bytes: int) -> SparkSession:
        session = start(driver, messages, file_bytes)
        notes.append((messages, file_bytes, driver.is_short))
        return session

    monkeypatch.setattr(Driver, "start", noted)
    return notes


def begin(make_deployment: Callable[[], Deployment], **target: str) -> tuple[Deployment, Topic]:
    """Make an empty topic, and its table file."""
    deployment = make_deployment()
    (topic,) = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": COLUMNS}).values()
    deployment.onboard(**target)
    return deployment, topic


@pytest.mark.parametrize(
    ("messages", "file_bytes", "is_short"),
    [
        (MANY_MESSAGES, 0, True),
        (MANY_MESSAGES + 1, 0, False),
        (0, MANY_BYTES, True),
        (0, MANY_BYTES + 1, False),
        (MANY_MESSAGES // 2 + 1, MANY_BYTES // 2 + 1, False),
    ],
)
def test_much_work_takes_the_optimising_compiler(
    spark: SparkSession, deployment: Deployment, messages: int, file_bytes: int, *, is_short: bool
) -> None:
    """Messages and files count together."""
    driver = Driver(deployment.session.settings, spark)
    driver.start(messages, file_bytes)
    assert driver.is_short == is_short


def test_runs_and_rebuilds_know_the_files_that_they_rewrite(
    make_deployment: Callable[[], Deployment], started: list[tuple[int, int, bool]]
) -> None:
    """Few changes may rewrite a large copy-on-write table."""
    deployment, topic = begin(make_deployment)
    topic.send(*(Change("c", {"id": n, "v": "a"}, at=n) for n in range(5)))
    assert deployment.run().exit_code == 0
    size = bytes_of(deployment, "*.parquet")
    topic.send(Change("u", {"id": 1, "v": "b"}, at=9))
    assert deployment.run().exit_code == 0
    file = deployment.tables / "t.toml"
    file.write_text(re.sub("(?m)^buckets = .*", "buckets = 3", file.read_text()))
    with deployment.session as session:
        assert session.rebuild("t").outcome == "rebuilt"

    assert started[:2] == [(5, 0, True), (1, size, True)]
    assert started[2][1] > size // 2


def test_a_compaction_knows_the_files_that_it_merges(
    make_deployment: Callable[[], Deployment], started: list[tuple[int, int, bool]]
) -> None:
    """A run only appends log files to a merge-on-read table."""
    deployment, topic = begin(make_deployment, type="mor")
    topic.send(Change("c", {"id": 1, "v": "a"}, at=1))
    assert deployment.run().exit_code == 0
    topic.send(Change("u", {"id": 1, "v": "b"}, at=9))
    assert deployment.run().exit_code == 0
    with deployment.session as session:
        assert session.maintain(dry_run=True).exit_code == 0
        size = bytes_of(deployment, "*.parquet") + bytes_of(deployment, ".0*.log.*")
        assert session.maintain().exit_code == 0

    assert started == [(1, 0, True), (1, 0, True), (0, 0, True), (0, size, True)]


def test_a_comparison_with_the_source_knows_the_files_that_it_reads(
    make_deployment: Callable[[], Deployment], started: list[tuple[int, int, bool]]
) -> None:
    """Before the source answers: this one does not."""
    deployment, topic = begin(make_deployment)
    topic.send(Change("c", {"id": 1, "v": "a"}, at=1))
    assert deployment.run().exit_code == 0
    with (deployment.root / "ingest.toml").open("a") as settings:
        settings.write('\n[sources.gone]\nurl = "jdbc:sqlserver://127.0.0.1:1;databaseName=testDB"\n')
    with deployment.session as session:
        assert session.verify(["t"]).exit_code != 0

    assert started == [(1, 0, True), (0, bytes_of(deployment, "*.parquet"), True)]


def test_a_rebuild_from_the_topic_knows_its_messages(
    make_deployment: Callable[[], Deployment], started: list[tuple[int, int, bool]]
) -> None:
    """A small table may have had many changes."""
    deployment, topic = begin(make_deployment)
    topic.send(*(Change("u", {"id": 1, "v": "a"}, at=n) for n in range(5)))
    assert deployment.run().exit_code == 0
    size = bytes_of(deployment, "*.parquet")
    with deployment.session as session:
        assert session.rebuild("t", source="topic", dry_run=True).error is None

    assert started == [(5, 0, True), (5, size, True)]


def test_loads_and_adoptions_know_the_rows_that_they_take_over(
    make_deployment: Callable[[], Deployment], started: list[tuple[int, int, bool]]
) -> None:
    """Both read them twice, to check and to write them.  With a position a load may also read the topic."""
    deployment, topic = begin(make_deployment)
    topic.send(*(Change("c", {"id": n, "v": "a"}, at=n) for n in range(5)))
    export = deployment.root / "export"
    deployment.spark.range(9).selectExpr("cast(id as int) id", "'a' v").write.parquet(str(export))
    size = sum(file.stat().st_size for file in export.iterdir())
    with deployment.session as session:
        load = LoadRequest("parquet", str(export), position="0000002b:00000007:0003", dry_run=True)
        assert session.load("t", load).error is None
    assert deployment.run().exit_code == 0
    copied = bytes_of(deployment, "*.parquet")
    copy_table(deployment, "t", "other")
    with deployment.session as session:
        adopt = AdoptRequest(str(deployment.root / "lake" / "t"), offsets="earliest", dry_run=True)
        assert session.adopt("other", adopt).outcome == "planned"

    assert started == [(5, 2 * size, True), (5, 0, True), (0, 2 * copied, True)]


@pytest.mark.parametrize("kind", ["parquet", "jdbc"])
def test_a_load_of_unknown_size_takes_the_optimising_compiler(
    kind: ExportKind, make_deployment: Callable[[], Deployment], started: list[tuple[int, int, bool]]
) -> None:
    """Rows in a database, or behind a path that only Spark understands, may be many."""
    deployment, _ = begin(make_deployment)
    with deployment.session as session:
        request = LoadRequest(kind, str(deployment.root / "missing-*"), offsets="earliest")
        assert session.load("t", request).error

    assert [is_short for _, _, is_short in started] == [False]


def test_following_takes_the_optimising_compiler(
    make_deployment: Callable[[], Deployment], started: list[tuple[int, int, bool]]
) -> None:
    """A round of `--follow` knows it, so that the command and the API cannot differ."""
    deployment, topic = begin(make_deployment)
    topic.send(Change("c", {"id": 1, "v": "a"}, at=1))
    with deployment.session as session:
        rounds = following.follow(lambda stop: session.run(stop=stop), interval_s=0.1)
        assert next(rounds).tables[0].outcome == "committed"
        rounds.close()

    assert started == [(1, 0, False)]


def bytes_of(deployment: Deployment, pattern: str) -> int:
    """Return the size of a table's files of a pattern."""
    return sum(file.stat().st_size for file in (deployment.root / "lake" / "t").glob(pattern))
