"""Messages of every compression codec, in one topic, are read alike."""

from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
EACH = 40


def test_a_topic_of_every_codec_becomes_its_rows(make_deployment: Callable[[], Deployment]) -> None:
    """A batch of each, and updates of its rows in the batch of the next codec; sampled by onboarding, too."""
    deployment = make_deployment()
    name = f"{deployment.prefix}.testDB.dbo.orders"
    (topic,) = make_topics(deployment.servers, {name: {"id": "int", "v": nullable("string")}}).values()
    rows: dict[int, str] = {}
    for number, codec in enumerate(CODECS):
        options = {"compression.type": codec, "linger.ms": "50", "enable.idempotence": "true"}
        producer = Producer({"bootstrap.servers": deployment.servers.bootstrap_servers, **options})
        for n in range(EACH):
            key, text = number * EACH + n - (EACH // 2 if number else 0), f"{codec} {'x' * 200}"
            change = Change("u" if key in rows else "c", {"id": key, "v": text}, at=number * EACH + n + 1)
            producer.produce(name, topic.value_bytes(change), topic.key_bytes({"id": key}))
            rows[key] = text
        assert producer.flush(30) == 0
    deployment.onboard([name])

    (report,) = deployment.run().tables

    assert (report.outcome, report.counts.read) == ("committed", EACH * len(CODECS))
    assert {row["id"]: row["v"] for row in deployment.frame("orders").collect()} == rows
