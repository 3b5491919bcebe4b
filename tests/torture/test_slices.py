"""A short slice of each of the long harnesses (`make torture`)."""

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ingest.local.servers import Addresses
from torture.freezes import Freezer, freeze_all
from torture.fuzz import fuzz
from torture.scene import make_deployment, make_scene

pytestmark = pytest.mark.spark


def test_corrupt_payloads_agree_with_another_decoder_or_are_rejected(spark: SparkSession) -> None:
    """A thousand, Avro of all types and JSON; the long one has all topics of all connectors."""
    topics = ("sqlserver:sqs.testDB.dbo.all_types", "sqlserver-json:sqs.testDB.dbo.widen")
    figures = fuzz(spark, 1000, seed=1, names=topics)

    assert figures.wrong == []
    assert figures.counts["payloads"] == 1000
    assert min(figures.counts["taken"], figures.counts["rejected"]) > 100


@pytest.mark.servers
def test_a_run_continues_from_the_remains_of_a_killed_one(
    tmp_path: Path, servers: Addresses, outer_spark: SparkSession
) -> None:
    """The lake as it is in the middle of a run, with rejects; the long one has MOR, and kills too."""
    scene = make_scene(servers, "frozen.db.dbo.changes", 100, seed=3)
    make_deployment(tmp_path / "base", servers, scene.topic, ["cow"])
    freezer = Freezer(outer_spark, scene, tmp_path, random.Random(1), quota=1, most=1)  # noqa: S311  no secret

    figures = freeze_all(freezer, tmp_path / "base", slice_=scene.count, a_run=1)

    assert figures.wrong == []
    assert figures.counts["frozen"] == 1
