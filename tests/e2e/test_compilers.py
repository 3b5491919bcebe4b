"""A JVM gets its optimising compiler by the work that is known before it starts."""

import re
from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from ingest.spark.driver import MANY_BYTES, MANY_MESSAGES, Driver
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}


@pytest.mark.parametrize(
    ("messages", "rewritten", "is_short"),
    [
        (MANY_MESSAGES, 0, True),
        (MANY_MESSAGES + 1, 0, False),
        (0, MANY_BYTES, True),
        (0, MANY_BYTES + 1, False),
        (MANY_MESSAGES // 2 + 1, MANY_BYTES // 2 + 1, False),
    ],
)
def test_much_work_takes_the_optimising_compiler(
    spark: SparkSession, deployment: Deployment, messages: int, rewritten: int, *, is_short: bool
) -> None:
    """Messages and files to rewrite count together."""
    driver = Driver(deployment.session.settings, spark)
    driver.start(messages, rewritten)
    assert driver.is_short == is_short


def test_runs_and_rebuilds_know_the_files_that_they_rewrite(
    make_deployment: Callable[[], Deployment], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few changes may rewrite a large copy-on-write table."""
    started, start = list[tuple[int, int]](), Driver.start

    def noted(driver: Driver, messages: int, rewritten: int) -> SparkSession:
        started.append((messages, rewritten))
        return start(driver, messages, rewritten)

    monkeypatch.setattr(Driver, "start", noted)
    deployment = make_deployment()
    (topic,) = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": COLUMNS}).values()
    deployment.onboard()
    topic.send(*(Change("c", {"id": n, "v": "a"}, at=n) for n in range(5)))
    assert deployment.run().exit_code == 0
    size = sum(file.stat().st_size for file in (deployment.root / "lake" / "t").glob("*.parquet"))
    topic.send(Change("u", {"id": 1, "v": "b"}, at=9))
    assert deployment.run().exit_code == 0
    file = deployment.tables / "t.toml"
    file.write_text(re.sub("(?m)^buckets = .*", "buckets = 3", file.read_text()))
    with deployment.session as session:
        assert session.rebuild("t").outcome == "rebuilt"

    assert started[0] == (5, 0)
    assert started[1] == (1, size)
    assert started[2][1] > size // 2
