"""Debezium's connectors: the `source` block of their events, and positions in their logs.

The schemas come from recorded subjects (`registry_fixtures/`).  MySQL's follows the connector's page.
"""

from collections.abc import Callable, Mapping, Sequence
from json import dumps
from typing import Any, Final

import attrs

from ingest.dialects import DIALECTS
from ingest.errors import UsageError
from ingest.testing.columns import Columns, Json, nullable, record, semantic

FIRST_MS: Final = 1_700_000_000_000
"""Start of every log.  Each number is one second later."""


@attrs.frozen
class LogEntry:
    """An event of a log: its number (from 1), the operation, and its serial within that number."""

    number: int
    op: str
    serial: int = 1
    snapshot: str = "false"

    @property
    def is_streamed(self) -> bool:
        """Return whether the event has a position in the log.  Rows of an initial snapshot do not."""
        return self.snapshot in ("false", "incremental")


@attrs.frozen
class Connector:
    """One connector, in the version with the schemas below."""

    name: str
    """The dialect in table files."""
    version: str
    """Debezium's version."""
    fields: Columns
    """The fields of `source` after the common ones."""
    position: Callable[[LogEntry], Mapping[str, Any]]
    """Return the values of the fields that hold the position."""
    snapshots: str = "true,last,false,incremental"
    is_fine: bool = False
    """Whether times are also in microseconds and nanoseconds (2.6)."""
    source_version: int | None = None
    envelope_version: int | None = 1
    has_key_images: bool = False
    """Whether the image before a change holds only the key (PostgreSQL's REPLICA IDENTITY DEFAULT)."""
    is_document: bool = False

    @property
    def source_record(self) -> str:
        """The full name of the record that `source` is."""
        return DIALECTS[self.name].source_records[0]

    @property
    def can_truncate(self) -> bool:
        """Return whether the connector sends truncate events."""
        return "t" in DIALECTS[self.name].other_ops

    def source_schema(self, full_name: str = "") -> Json:
        """Make the schema of `source`."""
        parameters = {"connect.parameters": {"allowed": self.snapshots}, "connect.default": "false"}
        fine = ("ts_us", "ts_ns") if self.is_fine else ()
        columns: dict[str, Json] = {
            **dict.fromkeys(("version", "connector", "name"), "string"),
            "ts_ms": "long",
            "snapshot": [semantic("string", "io.debezium.data.Enum", **parameters), "null"],
            "db": "string",
            "sequence": nullable("string"),
            **dict.fromkeys(fine, nullable("long")),
            **self.fields,
        }
        version = {} if self.source_version is None else {"connect.version": self.source_version}
        return record(full_name or self.source_record, columns, **version)

    def source(self, topic: str, entry: LogEntry) -> dict[str, Any]:
        """Make the value of `source`.  Other fields are null."""
        moment_ms = FIRST_MS + entry.number * 1000
        return {
            "version": self.version,
            "connector": "postgresql" if self.name == "postgres" else self.name,
            "ts_ms": moment_ms,
            "snapshot": entry.snapshot,
            "ts_us": moment_ms * 1000,
            "ts_ns": moment_ms * 1_000_000,
            **_names(self, topic),
            **self.position(entry),
        }


def connector_of(name: str) -> Connector:
    """Return a connector by its name in table files."""
    if name not in CONNECTORS:
        raise UsageError(
            f"cannot build events of {name}; allowed: {', '.join(CONNECTORS)}",
            "Send messages of your own with produce()",
        )
    return CONNECTORS[name]


def _names(connector: Connector, topic: str) -> dict[str, str]:
    """Read server, database, schema and table out of a topic's name."""
    parts = topic.split(".")
    layouts = DIALECTS[connector.name].topic_parts
    layout = next((names for names in layouts if len(names) == len(parts)), ())
    values = dict(zip(layout, parts, strict=False))
    table = values.get("table", parts[-1])
    return {
        "name": values.get("server", parts[0]),
        "db": values.get("database", "testDB"),
        "schema": values.get("schema", "dbo"),
        "table": table,
        "collection": table,
    }


# --- logs ----------------------------------------------------------------------------------------


def _lsn(number: int, part: int) -> str:
    return f"{0x2B:08x}:{number:08x}:{part:04x}"


def _sqlserver(entry: LogEntry) -> Mapping[str, Any]:
    """Return commit and change LSN.  A snapshot row has the end of the log and no change LSN."""
    commit = {"commit_lsn": _lsn(entry.number, 3)}
    if not entry.is_streamed:
        return commit
    return {**commit, "change_lsn": _lsn(entry.number, 2), "event_serial_no": entry.serial}


def _oracle(entry: LogEntry) -> Mapping[str, Any]:
    """Return the SCN of the change and of its commit.  A snapshot row has only the first."""
    scn = 2_000_000 + 2 * entry.number
    if not entry.is_streamed:
        return {"scn": str(scn + 1), "ssn": 0}
    thread = {"ssn": 0, "redo_thread": 1, "user_name": "APP", "txId": f"{entry.number:016x}"}
    return {"scn": str(scn), "commit_scn": str(scn + 1), **thread}


def _postgres(entry: LogEntry) -> Mapping[str, Any]:
    """Return the LSN, and in `sequence` the previous commit.

    An incremental snapshot row has only the latter.
    """
    begin = 26_000_000 + 1000 * entry.number
    commit = begin + 500
    match entry.snapshot:
        case "false":
            before = str(commit - 1000) if entry.number > 1 else None
            return {"sequence": _pair(before, begin), "lsn": begin, "txId": 700 + entry.number}
        case "incremental":
            return {"sequence": _pair(str(commit), commit)}
        case _:
            return {"sequence": _pair(None, begin), "lsn": begin, "txId": 700 + entry.number}


def _pair(before: str | None, lsn: int) -> str:
    return dumps([before, str(lsn)], separators=(",", ":"))


def _mysql(entry: LogEntry) -> Mapping[str, Any]:
    """Return file, position and row of the binary log."""
    coordinates = {"file": "mysql-bin.000003", "pos": 100 * entry.number, "row": entry.serial - 1}
    return {**coordinates, "server_id": 223344}


def _mongodb(entry: LogEntry) -> Mapping[str, Any]:
    """Return the ordinal of the cluster time.  Kafka's offsets give the order."""
    return {"rs": "rs0", "ord": entry.number}


# --- the connectors ------------------------------------------------------------------------------

_TEXT: Final = nullable("string")
_LONG: Final = nullable("long")
_SCHEMA_TABLE: Final[Columns] = dict.fromkeys(("schema", "table"), "string")
_ALL_SNAPSHOTS: Final = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"

_ALL: Final[Sequence[Connector]] = (
    Connector(
        name="sqlserver",
        version="2.1.4.Final",
        fields={**_SCHEMA_TABLE, "change_lsn": _TEXT, "commit_lsn": _TEXT, "event_serial_no": _LONG},
        position=_sqlserver,
    ),
    Connector(
        name="oracle",
        version="2.1.4.Final",
        fields={
            **_SCHEMA_TABLE,
            **dict.fromkeys(("txId", "scn", "commit_scn", "lcr_position", "rs_id"), _TEXT),
            **dict.fromkeys(("ssn", "redo_thread"), nullable("int")),
            "user_name": _TEXT,
        },
        position=_oracle,
    ),
    Connector(
        name="mongodb",
        version="2.1.4.Final",
        fields={"rs": "string", "collection": "string", "ord": "int", "lsid": _TEXT, "txnNumber": _LONG},
        position=_mongodb,
        envelope_version=None,
        is_document=True,
    ),
    Connector(
        name="postgres",
        version="3.6.3.Final",
        fields={
            **_SCHEMA_TABLE,
            **dict.fromkeys(("txId", "lsn", "xmin"), _LONG),
            "origin": _TEXT,
            "origin_lsn": _LONG,
        },
        position=_postgres,
        snapshots=_ALL_SNAPSHOTS,
        is_fine=True,
        source_version=1,
        envelope_version=2,
        has_key_images=True,
    ),
    Connector(
        name="mysql",
        version="2.7.0.Final",
        fields={
            "table": _TEXT,
            "server_id": "long",
            "gtid": _TEXT,
            "file": "string",
            "pos": "long",
            "row": "int",
            "thread": _LONG,
            "query": _TEXT,
        },
        position=_mysql,
        is_fine=True,
        envelope_version=2,
    ),
)
CONNECTORS: Final[Mapping[str, Connector]] = {connector.name: connector for connector in _ALL}
"""The supported connectors, by dialect."""
