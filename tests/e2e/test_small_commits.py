"""Runs of few messages: one task instead of a shuffle, and the same table as from many messages at once."""

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from ingest import Session
from ingest.kafka.read import OFFSETS_PER_TASK
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}
JOBS = 4
"""One of ours, which reads, reduces and counts; three of Hudi's: profile, write, markers."""
KEYS = 900
MESSAGES = OFFSETS_PER_TASK + 2_000


def changes() -> Iterator[Change]:
    """Yield changes of few keys, more than one task takes: deletes, and changes that arrive late.

    A change behind the delete of its row is newer: an older one would bring the row back.
    """
    for number in range(MESSAGES):
        row = {"id": number * 7919 % KEYS, "v": f"v{number}"}
        is_early = number % 11 == 0 and number % 13
        yield Change("u" if number % 13 else "d", row, at=number + (500 if is_early else 0))


def count_jobs(spark: SparkSession) -> int:
    """Return the number of Spark jobs that the process has started."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())  # noqa: SLF001  no public way


def test_a_commit_of_few_changes_takes_few_spark_jobs(
    make_deployment: Callable[[], Deployment], outer_spark: SparkSession
) -> None:
    """From four partitions of a topic into a table with rows."""
    deployment = make_deployment()
    names = {f"{deployment.prefix}.testDB.dbo.few": COLUMNS}
    topic = make_topics(deployment.servers, names, partitions=4)["few"]
    deployment.onboard()
    jobs = []
    for at in range(3):
        for partition in range(4):
            rows = ({"id": 4 * n + partition, "v": f"v{at}"} for n in range(5))
            topic.produce([topic.record(Change("u", row, at=at)) for row in rows], partition)
        before = count_jobs(outer_spark)
        (outcome,) = deployment.run().tables
        jobs.append(count_jobs(outer_spark) - before)
        assert (outcome.error, outcome.counts.upserted) == (None, 20)

    assert max(jobs[1:]) <= JOBS
    assert {row["v"] for row in deployment.frame("few").collect()} == {"v2"}


def test_few_messages_at_a_time_and_many_give_the_same_table(
    make_deployment: Callable[[], Deployment],
) -> None:
    """Deletes, late changes and all: one shuffle over all messages, or runs of one task each."""
    deployment = make_deployment()
    topic = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.f": COLUMNS})["f"]
    deployment.onboard()
    topic.send(*changes())

    def table(lake: str, max_offsets: int | None) -> DataFrame:
        path = str(deployment.root / lake)
        with Session.open(
            deployment.root / "ingest.toml", overrides={"lake.path": path}, spark=deployment.spark
        ) as session:
            while session.run(max_offsets=max_offsets).tables[0].outcome == "committed":
                pass
        rows = deployment.spark.read.format("hudi").load(f"{path}/f")
        return rows.select(*(name for name in rows.columns if not name.startswith("_hoodie_")))

    many, few = table("many", None), table("few", 5_000)

    assert many.count() == few.count() > KEYS / 2
    assert many.exceptAll(few).isEmpty()
