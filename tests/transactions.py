"""Transactions of a producer, ended for every reader."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.patience import ANSWER_S, PATIENCE_S


@contextmanager
def transaction(bootstrap_servers: str, *, commit: bool) -> Iterator[Producer]:
    """Hold a transaction open for the records of the context, then commit or abort it.

    The markers come after the call returns: wait until a reader of committed records sees them.
    """
    sent: list[TopicPartition] = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "transactional.id": uuid4().hex,
            "on_delivery": lambda _, message: sent.append(
                TopicPartition(message.topic(), message.partition(), message.offset())
            ),
        }
    )
    producer.init_transactions(10)
    producer.begin_transaction()
    yield producer
    assert producer.flush(ANSWER_S) == 0
    (producer.commit_transaction if commit else producer.abort_transaction)(ANSWER_S)
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for place in sent:
        _wait_for_marker(admin, place)


def _wait_for_marker(admin: AdminClient, place: TopicPartition) -> None:
    partition = TopicPartition(place.topic, place.partition)
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        asked = admin.list_offsets(
            {partition: OffsetSpec.latest()}, isolation_level=IsolationLevel.READ_COMMITTED
        )
        if asked[partition].result(timeout=ANSWER_S).offset > place.offset + 1:
            return
        time.sleep(0.05)
    raise TimeoutError(f"{place} has no marker behind it")
