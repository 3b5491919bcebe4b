"""A topic whose first segments are in tiered storage, no longer on the broker's disk."""

import time
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # the package has no __all__
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)
from pyspark.sql import SparkSession

from ingest.local.servers import Addresses
from tests.e2e.events import Change
from tests.places.brokers import broker_of
from tests.places.deployment import Place, outcome

pytestmark = [pytest.mark.places, pytest.mark.spark, pytest.mark.servers]

JARS: Final = Path(__file__).parents[2] / "jars" / "tiered"
SETTINGS: Final = """
remote.log.storage.system.enable=true
remote.log.storage.manager.class.name=org.apache.kafka.server.log.remote.storage.LocalTieredStorage
remote.log.storage.manager.impl.prefix=rsm.config.
rsm.config.dir={folder}
remote.log.metadata.manager.listener.name=PLAINTEXT
rlmm.config.remote.log.metadata.topic.replication.factor=1
rlmm.config.remote.log.metadata.topic.num.partitions=1
remote.log.manager.task.interval.ms=500
"""
TOPIC: Final = {
    "remote.storage.enable": "true",
    "segment.bytes": str(1 << 20),
    "local.retention.bytes": "1",
    "retention.ms": "-1",
}
ROWS, TEXT = 500, "x" * 10_000
UP_S: Final = 120.0


def test_segments_that_only_the_remote_storage_has_are_read(
    tmp_path: Path, servers: Addresses, outer_spark: SparkSession
) -> None:
    """From the topic's first offset; no message counts as expired."""
    remote = tmp_path / "remote"
    settings = SETTINGS.format(folder=remote)
    with broker_of(tmp_path / "broker", classes=f"{JARS}/*", more=settings) as address:
        place = Place(
            tmp_path, Addresses(address, servers.registry_url), outer_spark, str(tmp_path / "lake"), {}
        )
        place.create("cow")
        configure(address, place.topic.name)
        for start in range(0, ROWS, 100):
            place.topic.send(
                *(Change("c", {"id": n, "v": f"{n}{TEXT}"}, at=n + 1) for n in range(start, start + 100))
            )
        place.rows = {n: f"{n}{TEXT}" for n in range(ROWS)}
        first = f"{place.topic.name}-0/{0:020}.log"
        wait_until_gone(tmp_path / "broker", first)
        assert any(remote.rglob("*.log"))

        assert outcome(place.run()) == ("committed", None)
        place.check()
        with place.session as session:
            assert [
                finding.level for finding in session.doctor().findings if finding.check == "retention"
            ] == ["ok"]
        assert outcome(place.run()) == ("idle", None)


def configure(address: str, topic: str) -> None:
    """Let the topic keep only its newest segment on the broker's disk."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in TOPIC.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": address})
    admin.incremental_alter_configs([resource])[resource].result(30)


def wait_until_gone(data: Path, name: str) -> None:
    """Wait until the broker has deleted a segment that is in the remote storage."""
    end = time.monotonic() + UP_S
    while list(data.rglob(name)):
        assert time.monotonic() < end, [path.name for path in data.rglob("*.log")]
        time.sleep(0.5)
