"""Where topics begin and end, asked of the real broker."""

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from ingest.errors import (
    BrokerRefusedError,
    BrokerUnreachableError,
    SettingsError,
    TopicNotFoundError,
)
from ingest.kafka.breaks import Watermark, topic_id_of
from ingest.kafka.connection import TEMPORARY
from ingest.kafka.watermarks import fetch_offsets_at, fetch_watermarks
from ingest.local.topics import read_ends
from ingest.names import Topic
from ingest.settings import KafkaSettings
from tests.patience import ANSWER_S, PATIENCE_S


@pytest.mark.servers
def test_both_ends_of_every_partition_are_found(broker: Any) -> None:
    """Deleted records move the beginning, new ones the end."""
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, 0, 10)
    broker.delete_records(topic, 0, before=4)

    result = fetch_watermarks(broker.settings, [topic]).of(topic)

    of = topic_id_of(result)
    assert len(of) == 22
    assert result == {0: Watermark(4, 10, of), 1: Watermark(0, 0, of)}


@pytest.mark.servers
def test_a_time_gives_the_first_later_message_or_the_end(broker: Any) -> None:
    """By partition; the message's own timestamp counts."""
    topic = broker.create_topic(partitions=3)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for second, partition in ((10, 0), (20, 0), (30, 0), (5, 1)):
        producer.produce(topic, "v", partition=partition, timestamp=second * 1000)
    assert producer.flush(10) == 0
    marks = fetch_watermarks(broker.settings, [topic]).of(topic)

    moments = [datetime(1970, 1, 1, 0, 0, second, tzinfo=UTC) for second in (0, 20, 21, 31)]
    offsets = [fetch_offsets_at(broker.settings, topic, marks, moment) for moment in moments]

    assert offsets == [{0: 0, 1: 0, 2: 0}, {0: 1, 1: 1, 2: 0}, {0: 2, 1: 1, 2: 0}, {0: 3, 1: 1, 2: 0}]


@pytest.mark.servers
def test_a_missing_topic_leaves_the_others_alone(broker: Any) -> None:
    """Its error waits until somebody asks for it."""
    topic, missing = broker.create_topic(), Topic("never.dbo.made")

    result = fetch_watermarks(broker.settings, [topic, missing])

    assert [(mark.begin, mark.end) for mark in result.of(topic).values()] == [(0, 0)]
    with pytest.raises(TopicNotFoundError, match=r"never\.dbo\.made"):
        result.of(missing)


@pytest.mark.servers
def test_what_a_topic_without_leaders_answers_is_temporary(broker: Any) -> None:
    """A topic has none for some milliseconds after its creation, and during an election."""
    name, seen = f"kafka_tests.{uuid.uuid4().hex}", set()
    broker.admin.create_topics([NewTopic(name, 100, 1)])[name].result(ANSWER_S)
    ends: dict[int, int] = {}
    until = time.monotonic() + PATIENCE_S
    while not ends and time.monotonic() < until:
        broker.admin.list_topics(name, timeout=ANSWER_S)
        try:
            ends = read_ends(broker.admin, name, 100)
        except KafkaException as error:
            seen.add(error.args[0].name())
    assert len(ends) == 100
    assert seen <= TEMPORARY


@pytest.mark.servers
def test_an_open_transaction_holds_the_end_back(broker: Any) -> None:
    """The end is the last stable offset: what may still be aborted is not read."""
    topic = broker.create_topic()
    broker.produce(topic, 0, 3)
    with broker.transaction(topic, 0, 5):
        stored = fetch_watermarks(broker.settings, [topic]).of(topic)[0]
    done = fetch_watermarks(broker.settings, [topic]).of(topic)[0]

    assert (stored.begin, stored.end) == (0, 3)
    assert (done.begin, done.end) == (0, 9), "three records, five of the transaction, its marker"


@pytest.mark.servers
def test_many_topics_cost_one_conversation(broker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty tables need the questions of one: the topics, their beginnings and their ends."""
    topics = [broker.create_topic() for _ in range(50)]
    asked: list[str] = []
    for question in ("describe_topics", "list_offsets", "list_topics"):
        monkeypatch.setattr(AdminClient, question, counted(asked, getattr(AdminClient, question)))

    result = fetch_watermarks(broker.settings, topics)

    assert not result.errors
    assert result.found.keys() == set(topics)
    assert asked == ["describe_topics", "list_offsets", "list_offsets"]


def counted(calls: list[str], method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that notes its name."""

    @wraps(method)
    def call(*args: Any, **options: Any) -> Any:
        calls.append(method.__name__)
        return method(*args, **options)

    return call


@pytest.mark.servers
def test_a_refused_login_is_final_and_shows_no_password(broker: Any) -> None:
    """The client library would never stop trying; the first refusal is enough."""
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    login |= {"sasl.username": "ann", "sasl.password": "s3cret"}

    with pytest.raises(BrokerRefusedError, match="SASL") as caught:
        fetch_watermarks(KafkaSettings(broker.bootstrap_servers, login), [Topic("t")])
    assert "s3cret" not in str(caught.value)


def test_a_broker_that_is_down_is_temporary(dead_port: str) -> None:
    """The error comes within the timeout, and says what the socket said."""
    with pytest.raises(BrokerUnreachableError, match=r"Connection refused.*Try again"):
        fetch_watermarks(KafkaSettings(dead_port, timeout_s=0.2), [Topic("t")])


def test_a_wrong_value_is_a_matter_of_settings(dead_port: str) -> None:
    """The client library's own words, before anything is asked."""
    with pytest.raises(SettingsError, match=r"kafka.properties: Invalid value"):
        fetch_watermarks(KafkaSettings(dead_port, {"security.protocol": "NONE"}), [Topic("t")])


def test_no_topics_need_no_broker(dead_port: str) -> None:
    """Nothing asked, nothing connected."""
    assert not fetch_watermarks(KafkaSettings(dead_port), []).found
