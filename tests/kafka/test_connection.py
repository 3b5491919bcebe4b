"""Addresses that cannot be right, and connections whose reason librdkafka guesses."""

import pytest

from ingest.errors import BrokerUnreachableError, SettingsError
from ingest.kafka.connection import check_addresses
from ingest.kafka.topics import list_topics
from ingest.settings import KafkaSettings
from tests.kafka.conftest import Broker


def test_a_missing_address_names_the_setting() -> None:
    """As most people meet it first."""
    with pytest.raises(SettingsError, match=r"kafka\.bootstrap_servers: is not set.*INGEST_KAFKA_BOOTSTRAP"):
        check_addresses("")


@pytest.mark.parametrize(
    "address",
    [
        "broker",
        "broker:",
        ":9092",
        "broker:ninety",
        "http://broker:9092",
        "PLAINTEXT://b:9092",
        "a:1,b",
        "a b:1",
    ],
)
def test_an_address_that_is_not_host_and_port_is_a_wrong_setting(address: str) -> None:
    """Exit code 2, with the address that is wrong: librdkafka would try it until the timeout."""
    with pytest.raises(SettingsError, match=r"kafka\.bootstrap_servers.*allowed: host:port") as caught:
        check_addresses(address)
    assert caught.value.exit_code == 2
    assert ("Remove the scheme" in str(caught.value)) == ("://" in address)


@pytest.mark.parametrize("address", ["broker:9092", "10.0.0.1:1, b-2.x_y:65535", "[::1]:9092"])
def test_hosts_with_ports_are_addresses(address: str) -> None:
    """Names, IPv4 and IPv6, several of them."""
    check_addresses(address)


@pytest.mark.servers
def test_tls_on_a_plain_port_ends_with_librdkafkas_guess(broker: Broker) -> None:
    """Its reports reach the error, the one that names a likely cause first."""
    properties = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "u",
        "sasl.password": "p",
    }
    with pytest.raises(BrokerUnreachableError, match="connecting to a PLAINTEXT broker listener"):
        list_topics(KafkaSettings(broker.bootstrap_servers, properties, timeout_s=3))
