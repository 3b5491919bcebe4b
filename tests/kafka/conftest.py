"""A broker's topics as these tests need them: transactions, deletions, compaction."""

import socket
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from ingest.local.topics import create_topics
from ingest.names import Topic
from ingest.settings import KafkaSettings
from tests.patience import ANSWER_S
from tests.transactions import transaction


@attrs.frozen
class Broker:
    """Makes topics on the real broker, and their records."""

    bootstrap_servers: str
    admin: AdminClient

    @property
    def settings(self) -> KafkaSettings:
        """The settings of a client."""
        return KafkaSettings(self.bootstrap_servers)

    def create_topic(self, partitions: int = 1, **config: str) -> Topic:
        """Create a topic of a name that nobody had before."""
        name = f"kafka_tests.{uuid.uuid4().hex}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        create_topics(self.admin, [NewTopic(name, partitions, 1, config=settings)])
        return Topic(name)

    def recreate(self, topic: Topic) -> None:
        """Delete a topic, and create another one of its name, as soon as the broker allows."""
        self.admin.delete_topics([topic])[topic].result(timeout=ANSWER_S)
        create_topics(self.admin, [NewTopic(topic, 1, 1)])

    def produce(
        self, topic: Topic, partition: int, count: int, *, keys: Iterable[str] = (), first: int = 0
    ) -> None:
        """Produce records whose values are numbers from `first` on."""
        producer = self._producer()
        names = list(keys) or [str(number) for number in range(first, first + count)]
        for number, key in zip(range(first, first + count), names, strict=True):
            producer.produce(topic, str(number), key, partition=partition, headers=[("h", b"1")])
        assert producer.flush(10) == 0

    @contextmanager
    def transaction(self, topic: Topic, partition: int, count: int, *, commit: bool = True) -> Iterator[None]:
        """Hold a transaction open, its records written; then commit or abort it."""
        with transaction(self.bootstrap_servers, commit=commit) as producer:
            for number in range(count):
                producer.produce(topic, f"t{number}", "t", partition=partition)
            assert producer.flush(10) == 0
            yield

    def delete_records(self, topic: Topic, partition: int, *, before: int) -> None:
        """Delete the records before an offset, as retention does."""
        position = TopicPartition(topic, partition, before)
        for future in self.admin.delete_records([position]).values():
            future.result(timeout=ANSWER_S)

    def wait_for_compaction(self, topic: Topic, count: int) -> None:
        """Roll the segment, again and again, until fewer than `count` records are left."""
        for number in range(60):
            if len(self.values(topic, 0)) < count:
                return
            self.produce(topic, 0, 1, keys=["roll"], first=number)
            time.sleep(0.5)
        pytest.fail("the broker did not compact the topic in time")

    def values(self, topic: Topic, partition: int) -> dict[int, bytes | None]:
        """Read the committed values of a partition with a plain consumer: the referee."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": "referee",
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )
        consumer.assign([TopicPartition(topic, partition, 0)])
        results: dict[int, bytes | None] = {}
        while (message := consumer.poll(10)) is not None and message.error() is None:
            results[message.offset()] = message.value()
        consumer.close()
        return results

    def _producer(self, **conf: str) -> Producer:
        # One request in flight: a topic just made can answer the first with "not leader".
        return Producer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "max.in.flight.requests.per.connection": 1,
                "linger.ms": 5,
                **conf,
            }
        )


@pytest.fixture(scope="session")
def broker(servers: Any) -> Broker:
    """Give the real broker."""
    admin = AdminClient({"bootstrap.servers": servers.bootstrap_servers})
    return Broker(servers.bootstrap_servers, admin)


@pytest.fixture
def dead_port() -> Any:
    """Give an address where nothing listens."""
    with socket.socket() as item:
        item.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{item.getsockname()[1]}"
