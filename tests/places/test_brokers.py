"""Brokers of another version, and of a large cluster's metadata."""

import time
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # the package has no __all__
    AdminClient,
    NewTopic,
)
from pyspark.sql import SparkSession

from ingest.local.servers import Addresses
from tests.places.brokers import broker_of
from tests.places.deployment import Place, outcome

pytestmark = [pytest.mark.places, pytest.mark.spark, pytest.mark.servers]

KAFKA3: Final = Path(__file__).parents[2] / "jars" / "kafka3"
PARTITIONS, TOPICS = 10_000, 10


def place_at(root: Path, servers: Addresses, spark: SparkSession) -> Place:
    """Return a deployment with a local lake."""
    return Place(root, servers, spark, str(root / "lake"), {})


def test_a_broker_of_kafka_3_is_read(tmp_path: Path, servers: Addresses, outer_spark: SparkSession) -> None:
    """Three runs with updates and deletes, and an idle one."""
    with broker_of(tmp_path / "broker", KAFKA3) as address:
        place = place_at(tmp_path, Addresses(address, servers.registry_url), outer_spark)
        place.create("cow")
        for _ in range(3):
            place.change()
            assert outcome(place.run()) == ("committed", None)
            place.check()
        assert outcome(place.run()) == ("idle", None)


def test_ten_thousand_partitions_in_the_metadata_do_not_slow_a_run(
    tmp_path: Path, servers: Addresses, outer_spark: SparkSession
) -> None:
    """The clients ask for the topics of their tables only."""
    with broker_of(tmp_path / "broker", heap="2g") as address:
        place = place_at(tmp_path, Addresses(address, servers.registry_url), outer_spark)
        place.create("cow")
        for _ in range(2):
            place.change()
            place.run()
        place.change()
        small = seconds(place)
        admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        for number in range(TOPICS):
            made = admin.create_topics(
                [NewTopic(f"wide{number}", PARTITIONS // TOPICS, 1)], operation_timeout=120
            )
            for future in made.values():
                future.result(timeout=180)
        until = time.monotonic() + 120
        while known_partitions(admin) < PARTITIONS:
            assert time.monotonic() < until
            time.sleep(0.5)
        place.change()
        large = seconds(place)
        place.check()
        assert large < small + 3, (small, large)


def seconds(place: Place) -> float:
    """Run, and return the time that it took."""
    before = time.monotonic()
    assert outcome(place.run()) == ("committed", None)
    return time.monotonic() - before


def known_partitions(admin: AdminClient) -> int:
    """Count the partitions in the broker's metadata."""
    return sum(len(topic.partitions) for topic in admin.list_topics(timeout=60).topics.values())
