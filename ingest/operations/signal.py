"""Debezium's signals: what a connector is asked to do.

Facts from Debezium's documentation (configuration/signalling.html) and its classes ExecuteSnapshot,
StopSnapshot and KafkaSignalChannel.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal

import attrs

from ingest.dialects import DIALECTS
from ingest.errors import UsageError
from ingest.names import Topic
from ingest.tables import TableConfig

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
"""What a data collection's name is made of, by dialect; the others take no signals."""


@attrs.frozen
class Connector:
    """Whom a signal is for; `prefix` is its `topic.prefix` (`database.server.name` in Debezium 1.9)."""

    dialect: str
    prefix: str


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


@attrs.frozen(kw_only=True)
class SignalRequest:
    """What a person asks for; `stop-snapshot` without tables stops whatever the connector reads.

    `collections` are Debezium's own names of the tables, one each, in their order; without them the names
    come from the topics, and from `database` where a topic does not tell the database.
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
    """One signal for one connector; `data` is what Debezium reads as JSON."""

    id: str
    kind: Kind
    connector: Connector
    data: Mapping[str, Any]

    def message(self) -> str:
        """Return the value of the Kafka message; its key is the connector's prefix."""
        return json.dumps({"id": self.id, "type": self.kind, "data": self.data})


def make_signal(tables: Sequence[TableConfig], asked: SignalRequest, signal_id: str) -> Signal:
    """Make the signal for the asked tables, or, if none are asked, for the one connector of all tables."""
    if asked.kind == "execute-snapshot" and not asked.tables:
        raise UsageError("execute-snapshot needs a table", "Name the tables to read again")
    if asked.collections and len(asked.collections) != len(asked.tables):
        counts = f"{len(asked.collections)} for {len(asked.tables)} tables"
        raise UsageError(f"--collection: found {counts}", "Give one for each table, in their order")
    if not asked.tables:
        connector = _only_connector({t.name: _connector(t, asked) for t in tables if _is_meant(t, asked)})
        return Signal(signal_id, asked.kind, connector, {"type": "incremental"})
    by_name = {table.name: table for table in tables}
    chosen = [by_name[name] for name in asked.tables]
    connector = _only_connector({table.name: _connector(table, asked) for table in chosen})
    names = asked.collections or tuple(collection(table.dialect, table.topic, asked) for table in chosen)
    _check_condition(connector.dialect, asked)
    return Signal(signal_id, asked.kind, connector, _data(asked, names))


def collection(dialect: str, topic: Topic, asked: SignalRequest) -> str:
    """Return Debezium's name of the table behind a topic.

    It is sent as it is: Debezium matches it as a regular expression, in which the dots between the parts
    match themselves, and takes it literally where nothing matches, as Debezium 1.9 always does.
    """
    _, steps = _split_topic(dialect, topic, asked.prefix)
    parts = next((p[1:] for p in DIALECTS[dialect].topic_parts if len(p) == len(steps) + 1), None)
    if parts is None:
        raise UsageError(
            f"topic {topic} does not tell the name of its table", "Say Debezium's name with --collection"
        )
    found = dict(zip(parts, steps, strict=True))
    if "database" in COLLECTION_PARTS[dialect] and "database" not in found:
        if not asked.database:
            todo = "Say it with --database; for Oracle it is the PDB, if there is one"
            raise UsageError(f"topic {topic} does not tell the database of its table", todo)
        found["database"] = asked.database
    elif asked.database:
        raise UsageError(f"--database {asked.database}: topic {topic} needs none", "Leave it out")
    return ".".join(found[part] for part in COLLECTION_PARTS[dialect])


def _data(asked: SignalRequest, names: Sequence[str]) -> dict[str, Any]:
    data: dict[str, Any] = {"data-collections": list(names), "type": asked.type}
    if asked.condition:
        data["additional-conditions"] = [
            {"data-collection": name, "filter": asked.condition} for name in names
        ]
    if asked.condition and asked.type == "incremental":
        # What Debezium before 2.4 reads instead; the others give it the same meaning, or none.
        data["additional-condition"] = asked.condition
    return data


def _is_meant(table: TableConfig, asked: SignalRequest) -> bool:
    in_prefix = asked.prefix is None or table.topic.startswith(f"{asked.prefix}.")
    return table.dialect in COLLECTION_PARTS and in_prefix


def _connector(table: TableConfig, asked: SignalRequest) -> Connector:
    if table.dialect not in COLLECTION_PARTS:
        problem = f"table {table.name} is of dialect {table.dialect}, which takes no Debezium signals"
        raise UsageError(problem, f"Those that do: {', '.join(sorted(COLLECTION_PARTS))}")
    if asked.collections and asked.prefix:
        return Connector(table.dialect, asked.prefix)
    return Connector(table.dialect, _split_topic(table.dialect, table.topic, asked.prefix)[0])


def _split_topic(dialect: str, topic: Topic, prefix: str | None) -> tuple[str, tuple[str, ...]]:
    """Split a topic into the connector's prefix and the steps behind it."""
    if prefix is not None:
        if not topic.startswith(f"{prefix}."):
            problem = f"--prefix {prefix}: topic {topic} does not begin with it"
            raise UsageError(problem, "Of a topic that was renamed on its way, say --collection as well")
        # A collection's name may have dots, MongoDB's database name has none.
        most = 1 if dialect == "mongodb" else -1
        return prefix, tuple(topic.removeprefix(f"{prefix}.").split(".", most))
    first, *steps = topic.split(".")
    if len(steps) + 1 not in {len(parts) for parts in DIALECTS[dialect].topic_parts}:
        problem = f"topic {topic} does not tell where the connector's topic.prefix ends"
        raise UsageError(problem, "Say it with --prefix")
    return first, tuple(steps)


def _only_connector(found: Mapping[str, Connector]) -> Connector:
    """Return the connector that all tables share: a signal has one receiver."""
    tables_of: dict[Connector, list[str]] = {}
    for table, connector in found.items():
        tables_of.setdefault(connector, []).append(table)
    if len(tables_of) == 1:
        return next(iter(tables_of))
    if not tables_of:
        raise UsageError("no table's connector is meant", "Name a table, or the --prefix of one's topic")
    listed = "; ".join(f"{c.prefix} ({c.dialect}): {', '.join(names)}" for c, names in tables_of.items())
    todo = "A signal is for one connector: name its tables alone, or say its --prefix"
    raise UsageError(f"these tables have several connectors: {listed}", todo)


def _check_condition(dialect: str, asked: SignalRequest) -> None:
    """Refuse a condition of the other snapshot type: Debezium would find out in the middle of its work."""
    if asked.condition is None:
        return
    if not asked.condition.strip():
        raise UsageError("--condition is empty", "Leave it out to read whole tables")
    if asked.type == "blocking" and len(asked.tables) > 1:
        raise UsageError("--condition of a blocking snapshot is the SELECT of one table", "Name one table")
    is_select = asked.condition.split(maxsplit=1)[0].lower() in {"select", "with"}
    if dialect != "mongodb" and is_select != (asked.type == "blocking"):
        allowed = "a whole SELECT" if asked.type == "blocking" else "what stands behind WHERE"
        raise UsageError(f"--condition of a snapshot of type {asked.type} must be {allowed}")
