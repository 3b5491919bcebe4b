"""Debezium signals: requests to a connector.

Facts from Debezium's documentation (configuration/signalling.html) and its classes ExecuteSnapshot,
StopSnapshot and KafkaSignalChannel.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal

import attrs

from ingest.dialects import DIALECTS
from ingest.errors import SettingsError, UsageError
from ingest.kafka import signal as kafka_signal
from ingest.masking import Masking
from ingest.names import Topic, first_few
from ingest.settings import Settings, SourceSettings
from ingest.tables import Feed, TableConfig, feeds

Kind = Literal["execute-snapshot", "stop-snapshot"]
SnapshotType = Literal["incremental", "blocking"]

COLLECTION_PARTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "sqlserver": ("database", "schema", "table"),
        "oracle": ("database", "schema", "table"),
        "postgres": ("schema", "table"),
        "mysql": ("database", "table"),
        "mongodb": ("database", "table"),
    }
)
"""The parts of a data collection's name, by dialect.  Other dialects take no signals."""


@attrs.frozen
class Connector:
    """The receiver of a signal.  `prefix` is its `topic.prefix` (`database.server.name` in Debezium 1.9)."""

    dialect: str
    prefix: str


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


@attrs.frozen(kw_only=True)
class SignalRequest:
    """A request for a signal.  `stop-snapshot` without tables stops all that the connector reads.

    `collections` are Debezium's own names of the tables, one each, in their order.  By default the names come
    from the topics, and from `database` if a topic has no database in its name.
    """

    kind: Kind
    tables: tuple[str, ...] = attrs.field(default=(), converter=_once)
    type: SnapshotType = "incremental"
    condition: str | None = None
    collections: tuple[str, ...] = ()
    database: str | None = None
    prefix: str | None = None


@attrs.frozen
class Signal:
    """One signal for one connector.  Debezium reads `data` as JSON."""

    id: str
    kind: Kind
    connector: Connector
    data: Mapping[str, Any]

    def message(self) -> str:
        """Return the value of the Kafka message, whose key is the connector's prefix."""
        return json.dumps({"id": self.id, "type": self.kind, "data": self.data})


def make_signal(tables: Sequence[TableConfig], request: SignalRequest, signal_id: str) -> Signal:
    """Make the signal for the requested tables, or without any for the one connector of all tables."""
    if request.kind == "execute-snapshot" and not request.tables:
        raise UsageError("execute-snapshot needs a table", "Name the tables to read again")
    if request.collections and len(request.collections) != len(request.tables):
        counts = f"{len(request.collections)} for {len(request.tables)} tables"
        raise UsageError(f"--collection: found {counts}", "Give one for each table, in their order")
    if not request.tables:
        connector = _only_connector(
            {feed.source or feed.name: _connector(feed, request) for feed in _meant(tables, request)}
        )
        return Signal(signal_id, request.kind, connector, {"type": "incremental"})
    by_name = {table.name: table for table in tables}
    chosen = [_of_connector(by_name[name], request) for name in request.tables]
    connector = _only_connector({feed.name: _connector(feed, request) for feed in chosen})
    names = request.collections or tuple(
        collection(feed.table.dialect, feed.connector_topic, request) for feed in chosen
    )
    _check_condition(connector.dialect, request)
    return Signal(signal_id, request.kind, connector, _data(request, names))


def _of_connector(table: TableConfig, request: SignalRequest) -> Feed:
    """Return the feed of a table by the topic of the request's connector."""
    chosen = _meant([table], request) if table.topics else list(feeds(table, Masking()))
    if len(chosen) == 1:
        return chosen[0]
    topics = first_few(list[str](table.topics))
    problem = f"table {table.name} reads topics of several connectors: {topics}"
    raise UsageError(problem, "Name one connector with --prefix")


def sources_of(sources: Mapping[str, SourceSettings], connector: Connector) -> list[SourceSettings]:
    """Return the sources that a connector may read: of its dialect, and without another prefix."""
    return [
        source
        for source in sources.values()
        if source.database == connector.dialect and source.prefix in {"", connector.prefix}
    ]


def send(settings: Settings, topic: Topic, signal: Signal) -> None:
    """Produce a signal to a connector's signal topic.  Raises `SettingsError` without a broker."""
    if not settings.kafka.bootstrap_servers:
        raise SettingsError(settings.source, "kafka.bootstrap_servers", "is not set")
    kafka_signal.send_signal(settings.kafka, topic, key=signal.connector.prefix, value=signal.message())


def collection(dialect: str, topic: Topic, request: SignalRequest) -> str:
    """Return Debezium's name of the table behind a topic.

    It is sent as it is: Debezium matches it as a regular expression, in which the dots between the parts
    match themselves, and takes it literally if nothing matches, as Debezium 1.9 always does.
    """
    _, steps = _split_topic(dialect, topic, request.prefix)
    parts = next((p[1:] for p in DIALECTS[dialect].topic_parts if len(p) == len(steps) + 1), None)
    if parts is None:
        raise UsageError(
            f"topic {topic} does not contain the name of its table", "Give Debezium's name with --collection"
        )
    names = dict(zip(parts, steps, strict=True))
    if "database" in COLLECTION_PARTS[dialect] and "database" not in names:
        if not request.database:
            todo = "Give it with --database; for Oracle it is the PDB, if there is one"
            raise UsageError(f"topic {topic} does not contain the database of its table", todo)
        names["database"] = request.database
    elif request.database:
        raise UsageError(
            f"--database {request.database}: topic {topic} already contains the database", "Leave it out"
        )
    return ".".join(names[part] for part in COLLECTION_PARTS[dialect])


def _data(request: SignalRequest, names: Sequence[str]) -> dict[str, Any]:
    data: dict[str, Any] = {"data-collections": list(names), "type": request.type}
    if request.condition:
        data["additional-conditions"] = [
            {"data-collection": name, "filter": request.condition} for name in names
        ]
    if request.condition and request.type == "incremental":
        # Debezium before 2.4 reads this key instead.  Later ones give it the same meaning or ignore it.
        data["additional-condition"] = request.condition
    return data


def _meant(tables: Sequence[TableConfig], request: SignalRequest) -> list[Feed]:
    """Return the feeds of tables that the connector of a request writes."""
    every = (feed for table in tables for feed in feeds(table, Masking()))  # a signal holds no values
    return [feed for feed in every if _is_meant(feed, request)]


def _is_meant(feed: Feed, request: SignalRequest) -> bool:
    in_prefix = request.prefix is None or feed.connector_topic.startswith(f"{request.prefix}.")
    return feed.table.dialect in COLLECTION_PARTS and in_prefix


def _connector(feed: Feed, request: SignalRequest) -> Connector:
    if feed.table.dialect not in COLLECTION_PARTS:
        problem = f"table {feed.name} is of dialect {feed.table.dialect}, which takes no Debezium signals"
        raise UsageError(problem, f"Those that do: {', '.join(sorted(COLLECTION_PARTS))}")
    if request.collections and request.prefix:
        return Connector(feed.table.dialect, request.prefix)
    return Connector(
        feed.table.dialect, _split_topic(feed.table.dialect, feed.connector_topic, request.prefix)[0]
    )


def _split_topic(dialect: str, topic: Topic, prefix: str | None) -> tuple[str, tuple[str, ...]]:
    """Split a topic into the connector's prefix and the steps behind it."""
    if prefix is not None:
        if not topic.startswith(f"{prefix}."):
            problem = f"--prefix {prefix}: topic {topic} does not begin with it"
            raise UsageError(problem, "If the topic was renamed on its way, give --collection as well")
        # A collection's name may have dots, MongoDB's database name has no dots.
        splits = 1 if dialect == "mongodb" else -1
        return prefix, tuple(topic.removeprefix(f"{prefix}.").split(".", splits))
    first, *steps = topic.split(".")
    if len(steps) + 1 not in {len(parts) for parts in DIALECTS[dialect].topic_parts}:
        problem = f"topic {topic}: cannot find the end of the connector's topic.prefix"
        raise UsageError(problem, "Give it with --prefix")
    return first, tuple(steps)


def _only_connector(connectors: Mapping[str, Connector]) -> Connector:
    """Return the connector that all tables share: a signal has one receiver."""
    tables_of: dict[Connector, list[str]] = {}
    for table, connector in connectors.items():
        tables_of.setdefault(connector, []).append(table)
    if len(tables_of) == 1:
        return next(iter(tables_of))
    if not tables_of:
        raise UsageError("no connector matches", "Name a table, or the --prefix of one's topic")
    listed = "; ".join(f"{c.prefix} ({c.dialect}): {', '.join(names)}" for c, names in tables_of.items())
    todo = "A signal is for one connector: name only its tables, or give its --prefix"
    raise UsageError(f"these tables have several connectors: {listed}", todo)


def _check_condition(dialect: str, request: SignalRequest) -> None:
    """Refuse a condition of the other snapshot type: Debezium would fail in the middle of its work."""
    if request.condition is None:
        return
    if not request.condition.strip():
        raise UsageError("--condition is empty", "Leave it out to read whole tables")
    if request.type == "blocking" and len(request.tables) > 1:
        raise UsageError("--condition of a blocking snapshot is the SELECT of one table", "Name one table")
    is_select = request.condition.split(maxsplit=1)[0].lower() in {"select", "with"}
    if dialect != "mongodb" and is_select != (request.type == "blocking"):
        allowed = "a whole SELECT" if request.type == "blocking" else "the condition after WHERE"
        raise UsageError(f"--condition of a snapshot of type {request.type} must be {allowed}")
