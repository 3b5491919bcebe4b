"""`--follow`: messages that arrive between two rounds are in the table after the next round."""

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from ingest.session import Session
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]


def test_rounds_read_leftover_and_new_messages(
    make_deployment: Callable[[], Deployment], outer_spark: SparkSession
) -> None:
    """One session, one table: three messages, two at a time, then another, then nothing."""
    deployment = make_deployment()
    columns = {"id": "int", "v": nullable("string")}
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.f": columns})
    topics["f"].send(*(Change("c", {"id": n, "v": "a"}, at=n) for n in range(3)))
    deployment.onboard()

    settings = deployment.root / "ingest.toml"
    with Session.open(settings, tables=deployment.tables, spark=deployment.spark) as session:
        rounds = session.follow(interval_s=0.5, max_offsets=2)
        read = [next(rounds).tables[0].counts.read for _ in range(2)]
        topics["f"].send(Change("u", {"id": 0, "v": "b"}, at=10))
        read += [next(rounds).tables[0].counts.read for _ in range(2)]
        rounds.close()

    assert read == [2, 1, 1, 0]
    path = session.settings.lake.table_path(session.tables()[0].name)
    rows = outer_spark.read.format("hudi").load(path).select("id", "v").collect()
    assert {(row.id, row.v) for row in rows} == {(0, "b"), (1, "a"), (2, "a")}
