"""Signals on the real broker."""

import re
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from ingest import Session
from ingest.errors import BrokerRefusedError, BrokerUnreachableError
from ingest.kafka.signal import send_signal
from ingest.names import Topic
from ingest.operations.signal import SignalRequest
from ingest.settings import KafkaSettings
from tests.patience import ANSWER_S

TABLE = """\
table = "orders"
topic = "server1.testDB.dbo.orders"
dialect = "sqlserver"

[subjects]
value = "server1.testDB.dbo.orders-value"
"""


def read_records(broker: Any, topic: Topic, partition: int) -> list[tuple[bytes | None, bytes | None]]:
    """Read keys and values with a plain consumer."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "referee", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(topic, partition, 0)])
    results = []
    while (message := consumer.poll(10)) is not None and message.error() is None:
        results.append((message.key(), message.value()))
    consumer.close()
    return results


@pytest.mark.servers
def test_a_signal_lies_in_partition_0_as_the_connector_reads_it(broker: Any, tmp_path: Path) -> None:
    """The connector reads that partition alone, and compares the key with its topic.prefix."""
    topic = broker.create_topic(partitions=3)
    (tmp_path / "orders.toml").write_text(TABLE)
    overrides = {"kafka.bootstrap_servers": broker.bootstrap_servers}

    with Session.open(tables=tmp_path, overrides=overrides) as session:
        built = session.signal(SignalRequest(kind="execute-snapshot", tables=("orders",)), topic)

    assert read_records(broker, topic, 0) == [(b"server1", built.message().encode())]
    assert read_records(broker, topic, 1) == read_records(broker, topic, 2) == []


@pytest.mark.servers
def test_the_offset_is_the_brokers(broker: Any) -> None:
    """The signal is there when the call returns."""
    topic = broker.create_topic()

    sent = [send_signal(broker.settings, topic, key="k", value=value) for value in ("{}", '{"a":1}')]

    assert sent == [0, 1]
    assert broker.values(topic, 0) == {0: b"{}", 1: b'{"a":1}'}


@pytest.mark.servers
def test_a_signal_topic_that_does_not_exist_is_not_made(broker: Any) -> None:
    """A signal into a mistyped topic would wait without end."""
    topic = Topic("kafka_tests.no-such-signal-topic")

    with pytest.raises(BrokerRefusedError, match=re.escape(f"the signal topic {topic} does not exist")):
        send_signal(broker.settings, topic, key="k", value="{}")

    assert topic not in broker.admin.list_topics(timeout=ANSWER_S).topics


@pytest.mark.servers
def test_a_refusal_of_the_broker_is_reported(broker: Any) -> None:
    """Larger than the topic takes, for one."""
    topic = broker.create_topic(max_message_bytes="200")

    with pytest.raises(BrokerRefusedError, match=f"topic {topic}: .*size"):
        send_signal(broker.settings, topic, key="k", value="x" * 1000)


def test_a_missing_broker_is_reported_in_time() -> None:
    """Exit code 75: try again."""
    with pytest.raises(BrokerUnreachableError) as caught:
        send_signal(KafkaSettings("127.0.0.1:1", timeout_s=0.5), Topic("t"), key="k", value="{}")

    assert caught.value.exit_code == 75
