"""Build a change topic event by event: register schemas, advance positions, encode payloads."""

from collections.abc import Iterable, Mapping
from json import dumps
from typing import Any, Protocol, Self

import attrs

from ingest.errors import UsageError
from ingest.testing.columns import Columns, Json
from ingest.testing.connectors import Connector, LogEntry, connector_of
from ingest.testing.envelopes import envelope_schema, key_schema
from ingest.testing.wire import blank, framed, physical_row

Row = Mapping[str, Any]
"""Values of a row by column, or a document."""
Message = tuple[bytes | None, bytes | None]
"""Key and value of one message."""
Messages = tuple[Message, ...]
LogPosition = int | Mapping[str, Any] | None
"""A position in the source's log: a number, explicit fields of `source`, or None for the next position."""


class Servers(Protocol):
    """The registry and broker operations that a topic needs."""

    def register(self, subject: str, node: Json, compatibility: str | None) -> int:
        """Register a schema, after setting the subject's compatibility level, if any.  Return its id."""

    def produce(
        self, topic: str, messages: Iterable[Message], partition: int, headers: Mapping[str, bytes]
    ) -> None:
        """Append messages, in order."""


@attrs.define
class Topic:
    """One change topic.

    Methods named after operations return messages without sending them, so that a test can keep, repeat,
    corrupt or reorder them.  `send` and `produce` append.  `at` is the position of a change in the source's
    log, by default its new end.  It is a number to set the change older or newer than others, or a mapping
    with fields of `source` (`{"commit_scn": "9"}`).  `schema_id` is the writer schema, by default the current
    version.
    """

    name: str
    key: Columns
    """Key columns.  A document's key is `{"id": "string"}`."""
    servers: Servers
    connector: Connector = attrs.field(factory=lambda: connector_of("sqlserver"))
    key_id: int = 0
    versions: dict[int, Columns] = attrs.Factory(dict)
    """The columns of each version, by schema id, oldest first."""
    current: int = 0
    """The schema id of new events."""
    end: int = 0
    """The end of the source's log."""

    @classmethod
    def begin(
        cls,
        name: str,
        columns: Columns,
        servers: Servers,
        *,
        key: Columns | Iterable[str] = ("id",),
        connector: str | Connector = "sqlserver",
    ) -> Self:
        """Register the key's schema and a first version.  `key` are columns, or names of columns."""
        source = connector_of(connector) if isinstance(connector, str) else connector
        if source.is_document:
            key = {"id": "string"}
        keys = key if isinstance(key, Mapping) else {column: columns[column] for column in key}
        topic = cls(name, keys, servers, source)
        topic.key_version(keys)
        topic.version(columns)
        return topic

    # --- schemas -------------------------------------------------------------------------------

    def version(
        self,
        columns: Columns | None = None,
        *,
        renamed: Mapping[str, str] | None = None,
        compatibility: str = "NONE",
        subject: str = "",
    ) -> int:
        """Register a version of the value subject and make it current.  Return its schema id.

        `renamed` maps columns to their previous names, written as Avro aliases.  `compatibility` becomes the
        subject's level first: by default the registry accepts any change.  `subject` replaces the topic's own
        subject, for other naming strategies.
        """
        columns = {} if columns is None else dict(columns)
        level = compatibility if self.versions and not subject else None
        node = self.envelope(columns, renamed)
        schema_id = self.servers.register(subject or f"{self.name}-value", node, level)
        self.versions[schema_id] = columns
        self.current = schema_id
        return schema_id

    def key_version(self, columns: Columns) -> int:
        """Register a version of the key subject and make it current.  Return its schema id."""
        self.key = dict(columns)
        level = "NONE" if self.key_id else None
        self.key_id = self.servers.register(f"{self.name}-key", key_schema(self.name, columns), level)
        return self.key_id

    def envelope(self, columns: Columns, renamed: Mapping[str, str] | None = None) -> Json:
        """Make the schema of events with these columns.  `renamed` maps columns to their previous names."""
        return envelope_schema(self.name, columns, self.connector, renamed=renamed)

    # --- messages ------------------------------------------------------------------------------

    def create(self, row: Row, *, at: LogPosition = None, schema_id: int | None = None) -> Messages:
        """Insert a row."""
        return (self.change("c", row, at=at, schema_id=schema_id),)

    def update(
        self, row: Row, *, before: Row | None = None, at: LogPosition = None, schema_id: int | None = None
    ) -> Messages:
        """Update a row.  `before` is its old image, null by default."""
        return (self.change("u", row, before=before, serial=2, at=at, schema_id=schema_id),)

    def delete(
        self, row: Row, *, at: LogPosition = None, schema_id: int | None = None, tombstone: bool = True
    ) -> Messages:
        """Delete a row.  A tombstone follows, as the connector sends by default."""
        deleted = self.change("d", row, at=at, schema_id=schema_id)
        return (deleted, *self.tombstone(row)) if tombstone else (deleted,)

    def read(
        self, row: Row, *, at: LogPosition = None, schema_id: int | None = None, snapshot: str = "true"
    ) -> Messages:
        """Read a row for a snapshot, at the log's end.  `snapshot` may be `incremental`, `last`, ...."""
        return (self.change("r", row, at=at, schema_id=schema_id, snapshot=snapshot),)

    def change_key(
        self, old: Row, new: Row, *, at: LogPosition = None, schema_id: int | None = None
    ) -> Messages:
        """Change a row's key: a delete, its tombstone and a create, at one position in the log."""
        if not isinstance(at, Mapping):
            at = self._next(at, streamed=True)
        deleted = self.change("d", old, at=at, schema_id=schema_id)
        created = self.change("c", new, at=at, serial=2, schema_id=schema_id)
        return (deleted, *self.tombstone(old), created)

    def tombstone(self, row: Row) -> Messages:
        """Send a null value for a key, as Kafka's compaction needs it."""
        return ((self.key_bytes(row), None),)

    def truncate(self, *, at: LogPosition = None, schema_id: int | None = None) -> Messages:
        """Empty the table: an event without key and images."""
        if not self.connector.can_truncate:
            raise UsageError(
                f"{self.connector.name}'s connector does not send truncate events", "Delete the rows"
            )
        entry, overrides = self._entry("t", at)
        return ((None, self._event(entry, None, None, overrides, schema_id)),)

    def change(
        self,
        op: str,
        row: Row,
        *,
        before: Row | None = None,
        at: LogPosition = None,
        serial: int = 1,
        snapshot: str | None = None,
        schema_id: int | None = None,
    ) -> Message:
        """Make the message of any change of a row.  `serial` is its number at its position in the log."""
        after = None if op == "d" else row
        entry, overrides = self._entry(op, at, serial, snapshot)
        value = self._event(entry, row if op == "d" else before, after, overrides, schema_id)
        return self.key_bytes(row), value

    def key_bytes(self, row: Row) -> bytes:
        """Encode a message key."""
        if self.connector.is_document:
            key = {"id": as_json(row["_id"])}
        else:
            key = physical_row(self.key, {name: row[name] for name in self.key})
        return framed(self.key_id, key_schema(self.name, self.key), key)

    # --- producing -----------------------------------------------------------------------------

    def send(self, *messages: Messages, partition: int = 0) -> None:
        """Append messages in order, and wait until the broker has them."""
        self.produce([message for group in messages for message in group], partition)

    def produce(
        self, messages: Iterable[Message], partition: int = 0, headers: Mapping[str, bytes] | None = None
    ) -> None:
        """Append any messages in order, and wait until the broker has them."""
        self.servers.produce(self.name, messages, partition, headers or {})

    # --- inside --------------------------------------------------------------------------------

    def _entry(
        self, op: str, at: LogPosition, serial: int = 1, snapshot: str | None = None
    ) -> tuple[LogEntry, Mapping[str, Any]]:
        overrides = at if isinstance(at, Mapping) else {}
        number = self._next(None if isinstance(at, Mapping) else at, streamed=op != "r")
        return LogEntry(number, op, serial, snapshot or ("true" if op == "r" else "false")), overrides

    def _next(self, at: int | None, *, streamed: bool) -> int:
        """Return a position: every change advances the log, snapshot rows do not."""
        number = at if at is not None else max(1, self.end + streamed)
        self.end = max(self.end, number)
        return number

    def _event(
        self,
        entry: LogEntry,
        before: Row | None,
        after: Row | None,
        overrides: Mapping[str, Any],
        schema_id: int | None,
    ) -> bytes:
        schema_id = self.current if schema_id is None else schema_id
        if schema_id not in self.versions:
            raise UsageError(
                f"{self.name}-value has no version with id {schema_id}; allowed: {list(self.versions)}",
                "Register it with version()",
            )
        columns = self.versions[schema_id]
        source = {**self.connector.source(self.name, entry), **overrides}
        ts_ms = source["ts_ms"] + 5
        times = {"ts_ms": ts_ms, "ts_us": ts_ms * 1000, "ts_ns": ts_ms * 1_000_000}
        images = {"before": self._before(columns, before), "after": self._image(columns, after)}
        event = {**images, "source": source, "op": entry.op, **times}
        return framed(schema_id, self.envelope(columns), event)

    def _image(self, columns: Columns, row: Row | None) -> Any:
        if row is None:
            return None
        return as_json(row) if self.connector.is_document else physical_row(columns, row)

    def _before(self, columns: Columns, row: Row | None) -> Any:
        if row is None or self.connector.is_document:
            return None
        if self.connector.has_key_images:
            row = {name: row[name] if name in self.key else blank(kind) for name, kind in columns.items()}
        return self._image(columns, row)


def as_json(value: Any) -> str:
    """Return a document or its key as the JSON text of MongoDB's connector."""
    return dumps(value, ensure_ascii=False)
