"""Many tables in one session: each for itself."""

import threading
from collections import defaultdict
from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from ingest.errors import TopicNotFoundError
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics
from tests.e2e.referee import read_table
from tests.e2e.tablefiles import copy_table

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}
TABLES = tuple(f"t{number}" for number in range(8))


def count_jobs(spark: SparkSession) -> int:
    """Count the Spark jobs that the process has started so far."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())  # noqa: SLF001  no public way


def test_tables_run_side_by_side_and_idle_ones_cost_no_job(
    make_deployment: Callable[[], Deployment], outer_spark: SparkSession
) -> None:
    """Eight at once, each with its own rows; a topic that is missing stops its own table alone."""
    deployment = make_deployment()
    with (deployment.root / "ingest.toml").open("a") as settings:
        settings.write("[run]\nparallel_tables = 8\n")
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.{n}": COLUMNS for n in TABLES})
    deployment.onboard()
    for number, topic in enumerate(topics.values()):
        topic.send(*(Change("c", {"id": i, "v": topic.name}, at=i) for i in range(number + 1)))
    heard: dict[str, list[str]] = defaultdict(list)
    threads = set()

    def note(table: str, step: str) -> None:
        heard[table].append(step)
        threads.add(threading.get_ident())

    report = deployment.session.run(progress=note)

    assert report.exit_code == 0
    assert [one.table for one in report.tables] == list(TABLES)
    for number, name in enumerate(TABLES):
        rows = read_table(deployment.frame(name), ["id"])
        assert {row["v"] for row in rows.values()} == {topics[name].name}
        assert len(rows) == number + 1
        assert heard[name] == [f"reading {number + 1} offsets", "writing", "committed"]
    assert len(threads) > 1

    copy_table(deployment, "t0", "stray", topic='"nowhere.testDB.dbo.t"')
    before = count_jobs(outer_spark)
    idle = deployment.run()

    assert count_jobs(outer_spark) == before
    outcomes = {one.table: one.outcome for one in idle.tables}
    assert outcomes == {**dict.fromkeys(TABLES, "idle"), "stray": "failed"}
    (stray,) = (one for one in idle.tables if one.table == "stray")
    assert isinstance(stray.error, TopicNotFoundError)
    assert idle.exit_code == 1
