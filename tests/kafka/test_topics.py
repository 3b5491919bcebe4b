"""Which topics a real broker has."""

import pytest

from ingest.errors import BrokerUnreachableError
from ingest.kafka.topics import list_topics
from ingest.settings import KafkaSettings
from tests.kafka.conftest import Broker
from tests.patience import ANSWER_S

pytestmark = pytest.mark.servers


def test_topics_are_listed_in_order(broker: Broker) -> None:
    """All of them, with or without messages."""
    built = {broker.create_topic(), broker.create_topic(partitions=2)}
    result = list_topics(broker.settings)
    assert built <= set(result)
    assert list(result) == sorted(result)


def test_the_brokers_own_topics_are_not_listed(broker: Broker) -> None:
    """The topics of groups and of transactions hold nobody's changes."""
    topic = broker.create_topic()
    with broker.transaction(topic, 0, 1):
        pass
    assert broker.admin.list_topics(timeout=ANSWER_S).topics.keys() >= {"__transaction_state"}
    internal = [name for name in list_topics(broker.settings) if name.startswith("__")]
    assert [name for name in internal if not name.startswith("__debezium")] == []


def test_a_broker_that_does_not_answer_is_named() -> None:
    """Within the time given."""
    with pytest.raises(BrokerUnreachableError, match=r"127\.0\.0\.1:9"):
        list_topics(KafkaSettings("127.0.0.1:9", timeout_s=1.5))
