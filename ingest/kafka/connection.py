"""Open a librdkafka client, and translate its reports about the connection into `IngestError`s."""

import re
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

import attrs
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from ingest.errors import BrokerRefusedError, BrokerUnreachableError, SettingsError
from ingest.kafka.properties import client_properties, without_secrets
from ingest.settings import KafkaSettings

_REFUSED: Final = frozenset({"_AUTHENTICATION", "_SSL"})
"""Reports that come back at every try. librdkafka itself never stops trying."""
TEMPORARY: Final = frozenset(
    {
        "_ALL_BROKERS_DOWN",
        "_NODE_UPDATE",
        "_NOENT",  # no partition of the request has a leader
        "_RESOLVE",
        "_TIMED_OUT",
        "_TIMED_OUT_QUEUE",
        "_TRANSPORT",
        "BROKER_NOT_AVAILABLE",
        "FENCED_LEADER_EPOCH",
        "KAFKA_STORAGE_ERROR",
        "LEADER_NOT_AVAILABLE",
        "NETWORK_EXCEPTION",
        "NOT_LEADER_FOR_PARTITION",
        "OFFSET_NOT_AVAILABLE",
        "REPLICA_NOT_AVAILABLE",
        "REQUEST_TIMED_OUT",
        "UNKNOWN_LEADER_EPOCH",
    }
)
"""Errors that end without anybody's help, by the names of librdkafka."""
_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\s:/@\[\]]+):[0-9]{1,5}")

_POLL_S: Final = 0.01

C = TypeVar("C")
A = TypeVar("A")


def check_addresses(bootstrap_servers: str) -> None:
    """Raise `SettingsError` for an address that is not `host:port`: Kafka's Java client needs both."""
    if not bootstrap_servers.strip():
        todo = (
            "Set [kafka] bootstrap_servers in the settings file, or INGEST_KAFKA_BOOTSTRAP_SERVERS. "
            "`ingest init` writes that file"
        )
        raise SettingsError("settings", "kafka.bootstrap_servers", "is not set", todo)
    for address in bootstrap_servers.split(","):
        if _ADDRESS.fullmatch(address.strip()) is None:
            problem = f"found {address.strip()!r}; allowed: host:port, several separated by commas"
            scheme = "://" in address
            todo = "Remove the scheme: [kafka.properties] security.protocol chooses it" if scheme else ""
            raise SettingsError("settings", "kafka.bootstrap_servers", problem, todo)


@attrs.frozen
class Connection:
    """One client's connection: its brokers, its deadline, and the reports of librdkafka's threads."""

    kafka: KafkaSettings
    deadline: float
    reported: list[KafkaError] = attrs.Factory(list)

    @classmethod
    def within(cls, kafka: KafkaSettings, timeout_s: float | None = None) -> "Connection":
        """Return a connection with its deadline in `timeout_s`, by default `[kafka] timeout_s`."""
        return cls(kafka, time.monotonic() + (kafka.timeout_s if timeout_s is None else timeout_s))

    def open(self, client: Callable[[dict[str, Any]], C], **extra: Any) -> C:
        """Make the client. librdkafka connects later, in its own threads."""
        check_addresses(self.kafka.bootstrap_servers)
        conf = {
            "log_level": "0",  # error_cb gets the same, for `IngestError`s
            **client_properties(self.kafka.properties),
            **{name.replace("_", "."): value for name, value in extra.items()},
            "bootstrap.servers": self.kafka.bootstrap_servers,
            "error_cb": self.reported.append,
        }
        try:
            return client(conf)
        except KafkaException as error:
            raise SettingsError("settings", "kafka.properties", self._text(error.args[0])) from None

    def remaining_s(self) -> float:
        """Return the seconds until the deadline, at least 0.1 because librdkafka refuses 0."""
        return max(0.1, self.deadline - time.monotonic())

    def is_over(self) -> bool:
        """Return whether the deadline has passed."""
        return time.monotonic() > self.deadline

    def raise_refused(self) -> None:
        """Raise as soon as a broker refused the login: further tries would not help."""
        for error in self.reported:
            if error.name() in _REFUSED:
                todo = "Check [kafka.properties] in the settings"
                raise BrokerRefusedError(self.kafka.bootstrap_servers, self._text(error), todo)

    def answer(self, client: AdminClient, future: Future[A]) -> A | KafkaError:
        """Wait for the answer to one request.  Raise if the broker fails, rather than the request."""
        while not future.done() and not self.is_over():
            client.poll(_POLL_S)  # runs error_cb
            self.raise_refused()
        try:
            return future.result(timeout=0)
        except TimeoutError:
            raise self.unreachable() from None
        except KafkaException as error:
            problem: KafkaError = error.args[0]
            if problem.name() == "_TIMED_OUT":
                raise self.unreachable() from None
            return problem

    def unreachable(self) -> BrokerUnreachableError:
        """Return the error of no answer: the last reason that guesses at a cause, else the last one."""
        reasons = [self._text(error) for error in self.reported if error.name() != "_ALL_BROKERS_DOWN"]
        likely = [reason for reason in reasons if "?" in reason]
        return BrokerUnreachableError(
            self.kafka.bootstrap_servers, next(iter((likely or reasons)[-1:]), "no answer in time")
        )

    def _text(self, error: KafkaError) -> str:
        return without_secrets(error.str(), self.kafka.properties)
