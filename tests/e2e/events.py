"""SQL Server's change topics on the suite's servers, and changes as data, independent of their topic."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from ingest import testing
from ingest.local.servers import Addresses
from ingest.testing import CONNECTORS, Columns, Message, Row
from ingest.testing.servers import LocalServers


@attrs.frozen
class Change:
    """One event: `at` is its position in the log, `serial` its number at that position."""

    op: str
    row: Row
    at: int
    serial: int = 1
    before: Row | None = None


class Topic(testing.Topic):
    """A topic that changes are sent to."""

    @property
    def last_id(self) -> int:
        """Schema id of the newest version."""
        return list(self.versions)[-1]

    def add_version(self, columns: Columns, renamed: Mapping[str, str] | None = None) -> int:
        """Register a version of the value subject, without a compatibility check; return its id."""
        return self.version(columns, renamed=renamed)

    def register(self, subject: str, node: Any) -> int:
        """Register any schema; return its id."""
        return self.servers.register(subject, node, None)

    def record(self, change: Change, schema_id: int | None = None) -> Message:
        """Return the message of one change."""
        options = {"at": change.at, "serial": change.serial, "before": change.before}
        return self.change(change.op, change.row, schema_id=schema_id or self.last_id, **options)

    def value_bytes(self, change: Change, schema_id: int | None = None) -> bytes | None:
        """Encode a change with a version, the newest by default."""
        return self.record(change, schema_id)[1]

    def records(self, changes: Iterable[Change], schema_id: int | None = None) -> list[Message]:
        """Return the messages of changes; a tombstone follows each delete."""
        messages: list[Message] = []
        for change in changes:
            messages.append(self.record(change, schema_id))
            if change.op == "d":
                messages += self.tombstone(change.row)
        return messages

    def send(self, *changes: Change, schema_id: int | None = None) -> None:
        """Append changes to the first partition."""
        self.produce(self.records(changes, schema_id))


def make_topics(
    servers: Addresses,
    columns: Mapping[str, Columns],
    *,
    key: Sequence[str] = ("id",),
    partitions: int = 1,
) -> dict[str, Topic]:
    """Create topics by name and columns, each with a first version; return them by the name's last part."""
    local = LocalServers(servers)
    topics = {}
    for name, topic_columns in columns.items():
        local.make_topic(name, partitions)
        topics[name.rpartition(".")[2]] = Topic.begin(name, topic_columns, local, key=key)
    return topics


def envelope_schema(topic: str, columns: Columns) -> Any:
    """Return the schema of SQL Server's change events."""
    return testing.envelope_schema(topic, columns, CONNECTORS["sqlserver"])
