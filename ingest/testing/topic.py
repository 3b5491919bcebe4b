"""A change topic, made event by event: schemas registered, positions moving on, payloads encoded."""

from collections.abc import Iterable, Mapping
from json import dumps
from typing import Any, Protocol, Self

import attrs

from ingest.errors import UsageError
from ingest.testing.columns import Columns, Json
from ingest.testing.connectors import Connector, Spot, connector_of
from ingest.testing.envelopes import envelope_schema, key_schema
from ingest.testing.wire import blank, framed, physical_row

Row = Mapping[str, Any]
"""Values of a row by column, or a document."""
Message = tuple[bytes | None, bytes | None]
"""Key and value of one message."""
Messages = tuple[Message, ...]
Place = int | Mapping[str, Any] | None
"""Where in the source's log: a number, or fields of `source` by hand, or simply the next place."""


class Servers(Protocol):
    """What a topic needs of a registry and a broker."""

    def register(self, subject: str, node: Json, compatibility: str | None) -> int:
        """Register a schema, after setting the subject's compatibility level, if any; return its id."""

    def produce(
        self, topic: str, messages: Iterable[Message], partition: int, headers: Mapping[str, bytes]
    ) -> None:
        """Append messages, in order."""


@attrs.define
class Topic:
    """One change topic.

    Methods named after operations make messages and produce nothing, so that a test may keep, repeat, spoil
    or reorder them; `send` and `produce` append.  `at` says where in the source's log a change is: without
    it at the log's new end.  A number places it by hand, older or newer than others; a mapping gives fields
    of `source` (`{"commit_scn": "9"}`).  `schema_id` is the version that the event is written with, the
    current one by default.
    """

    name: str
    key: Columns
    """Key columns; a document's key is `{"id": "string"}`."""
    servers: Servers
    connector: Connector = attrs.field(factory=lambda: connector_of("sqlserver"))
    key_id: int = 0
    versions: dict[int, Columns] = attrs.Factory(dict)
    """The columns of each version, by schema id, oldest first."""
    current: int = 0
    """The schema id that events are written with."""
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
        """Register the key's schema and a first version; `key` are columns, or names of columns."""
        chosen = connector_of(connector) if isinstance(connector, str) else connector
        if chosen.is_document:
            key = {"id": "string"}
        keys = key if isinstance(key, Mapping) else {one: columns[one] for one in key}
        topic = cls(name, keys, servers, chosen)
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
        """Register a version of the value subject and make it current; return its schema id.

        `renamed` gives columns the name that they had before, as an Avro alias.  `compatibility` becomes the
        subject's level first: by default the registry takes any change.  `subject` is another subject than
        the topic's own, as other naming strategies have it.
        """
        columns = {} if columns is None else dict(columns)
        level = compatibility if self.versions and not subject else None
        node = self.envelope(columns, renamed)
        schema_id = self.servers.register(subject or f"{self.name}-value", node, level)
        self.versions[schema_id] = columns
        self.current = schema_id
        return schema_id

    def key_version(self, columns: Columns) -> int:
        """Register a version of the key subject and make it current; return its schema id."""
        self.key = dict(columns)
        level = "NONE" if self.key_id else None
        self.key_id = self.servers.register(f"{self.name}-key", key_schema(self.name, columns), level)
        return self.key_id

    def envelope(self, columns: Columns, renamed: Mapping[str, str] | None = None) -> Json:
        """Make the schema of events with these columns, some of them under a new name."""
        return envelope_schema(self.name, columns, self.connector, renamed=renamed)

    # --- messages ------------------------------------------------------------------------------

    def create(self, row: Row, *, at: Place = None, schema_id: int | None = None) -> Messages:
        """Insert a row."""
        return (self.change("c", row, at=at, schema_id=schema_id),)

    def update(
        self, row: Row, *, before: Row | None = None, at: Place = None, schema_id: int | None = None
    ) -> Messages:
        """Update a row; `before` is its old image, null unless given."""
        return (self.change("u", row, before=before, serial=2, at=at, schema_id=schema_id),)

    def delete(
        self, row: Row, *, at: Place = None, schema_id: int | None = None, tombstone: bool = True
    ) -> Messages:
        """Delete a row; a tombstone follows, as the connector does it by default."""
        deleted = self.change("d", row, at=at, schema_id=schema_id)
        return (deleted, *self.tombstone(row)) if tombstone else (deleted,)

    def read(
        self, row: Row, *, at: Place = None, schema_id: int | None = None, snapshot: str = "true"
    ) -> Messages:
        """Read a row for a snapshot, at the log's end; `snapshot` may be `incremental`, `last`, ...."""
        return (self.change("r", row, at=at, schema_id=schema_id, snapshot=snapshot),)

    def change_key(self, old: Row, new: Row, *, at: Place = None, schema_id: int | None = None) -> Messages:
        """Give a row another key: a delete, its tombstone and a create, at one place in the log."""
        if not isinstance(at, Mapping):
            at = self._place(at, streamed=True)
        gone = self.change("d", old, at=at, schema_id=schema_id)
        come = self.change("c", new, at=at, serial=2, schema_id=schema_id)
        return (gone, *self.tombstone(old), come)

    def tombstone(self, row: Row) -> Messages:
        """Say with a null value that a key is gone."""
        return ((self.key_bytes(row), None),)

    def truncate(self, *, at: Place = None, schema_id: int | None = None) -> Messages:
        """Empty the table: an event without key and images."""
        if not self.connector.can_truncate:
            raise UsageError(f"{self.connector.name}'s connector sends no truncate", "Delete the rows")
        spot, by_hand = self._spot("t", at)
        return ((None, self._event(spot, None, None, by_hand, schema_id)),)

    def change(
        self,
        op: str,
        row: Row,
        *,
        before: Row | None = None,
        at: Place = None,
        serial: int = 1,
        snapshot: str | None = None,
        schema_id: int | None = None,
    ) -> Message:
        """Make the message of any change of a row; `serial` is its number at its place in the log."""
        after = None if op == "d" else row
        spot, by_hand = self._spot(op, at, serial, snapshot)
        value = self._event(spot, row if op == "d" else before, after, by_hand, schema_id)
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
        """Append what the operations made, in order, and wait for the broker to have it."""
        self.produce([one for group in messages for one in group], partition)

    def produce(
        self, messages: Iterable[Message], partition: int = 0, headers: Mapping[str, bytes] | None = None
    ) -> None:
        """Append any messages, in order, and wait for the broker to have them."""
        self.servers.produce(self.name, messages, partition, headers or {})

    # --- inside --------------------------------------------------------------------------------

    def _spot(
        self, op: str, at: Place, serial: int = 1, snapshot: str | None = None
    ) -> tuple[Spot, Mapping[str, Any]]:
        by_hand = at if isinstance(at, Mapping) else {}
        number = self._place(None if isinstance(at, Mapping) else at, streamed=op != "r")
        return Spot(number, op, serial, snapshot or ("true" if op == "r" else "false")), by_hand

    def _place(self, at: int | None, *, streamed: bool) -> int:
        """Choose a place: the log moves on with every change, and not with a snapshot's rows."""
        number = at if at is not None else max(1, self.end + streamed)
        self.end = max(self.end, number)
        return number

    def _event(
        self,
        spot: Spot,
        before: Row | None,
        after: Row | None,
        by_hand: Mapping[str, Any],
        schema_id: int | None,
    ) -> bytes:
        schema_id = self.current if schema_id is None else schema_id
        if schema_id not in self.versions:
            raise UsageError(
                f"{self.name}-value has no version of id {schema_id}, those of {list(self.versions)}",
                "Register it with version()",
            )
        columns = self.versions[schema_id]
        source = {**self.connector.source(self.name, spot), **by_hand}
        ts_ms = source["ts_ms"] + 5
        times = {"ts_ms": ts_ms, "ts_us": ts_ms * 1000, "ts_ns": ts_ms * 1_000_000}
        images = {"before": self._before(columns, before), "after": self._image(columns, after)}
        event = {**images, "source": source, "op": spot.op, **times}
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
    """Write a document, or its key, as MongoDB's connector does."""
    return dumps(value, ensure_ascii=False)
