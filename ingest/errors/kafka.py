"""Errors of brokers, topics, offsets and messages."""

import attrs

from ingest.errors.base import DOCTOR, PermanentError, RetryableError, sentences


@attrs.frozen
class BrokerUnreachableError(RetryableError):
    """No Kafka broker answered."""

    bootstrap_servers: str
    problem: str

    def __str__(self) -> str:
        return sentences(f"Kafka {self.bootstrap_servers}: {self.problem}", "Try again when it is up", DOCTOR)


@attrs.frozen
class BrokerRefusedError(PermanentError):
    """A broker refused a request: bad credentials, no permission, an impossible request."""

    bootstrap_servers: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(f"Kafka {self.bootstrap_servers}: {self.problem}", self.todo, DOCTOR)


@attrs.frozen
class TopicNotFoundError(PermanentError):
    """The broker does not have the topic."""

    topic: str
    bootstrap_servers: str
    hint: str = ""

    def __str__(self) -> str:
        todo = "Check the table file's `topic`, or start the connector that writes it"
        return sentences(
            f"topic {self.topic} does not exist on Kafka {self.bootstrap_servers}",
            f"{self.hint} {todo}" if self.hint else todo,
        )


@attrs.frozen
class OffsetError(PermanentError):
    """The table's offsets do not fit the topic's."""

    topic: str
    partition: int
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(f"{self.topic}-{self.partition}: {self.problem}", self.todo)


@attrs.frozen
class DecodeError(PermanentError):
    """Records that could not be read.  Topic, partition and offset name the first.

    `bound` is the number that the table file allows, if it allows any.
    """

    topic: str
    partition: int
    offset: int
    reason: str
    count: int = 1
    bound: str = ""

    def __str__(self) -> str:
        further = f" ({self.count - 1} more like it in this range)" if self.count > 1 else ""
        return sentences(
            f"{self.topic}-{self.partition}-{self.offset}: {self.reason}{further}",
            self.bound,
            "Nothing was committed for this table",
        )
