"""What each of Debezium's connectors writes: its `source`, and where in its log an event is.

The schemas are those of recorded subjects (`registry_fixtures/`); MySQL's is after the connector's page.
"""

from collections.abc import Callable, Mapping, Sequence
from json import dumps
from typing import Any, Final

import attrs

from ingest.dialects import DIALECTS
from ingest.errors import UsageError
from ingest.testing.columns import Columns, Json, nullable, record, semantic

FIRST_MS: Final = 1_700_000_000_000
"""When a log begins; every number in it is a second later."""


@attrs.frozen
class Spot:
    """Where in a log an event is: a number from 1 on, the operation, its number at that place."""

    number: int
    op: str
    serial: int = 1
    snapshot: str = "false"

    @property
    def is_streamed(self) -> bool:
        """Tell whether the position is that of the log: an initial snapshot has none of its own."""
        return self.snapshot in ("false", "incremental")


@attrs.frozen
class Connector:
    """One connector, in the version whose schemas are known here."""

    name: str
    """As table files name it: the dialect."""
    version: str
    """Debezium's."""
    fields: Columns
    """The fields of `source` behind those that every connector has."""
    place: Callable[[Spot], Mapping[str, Any]]
    """The values of those that tell the place."""
    snapshots: str = "true,last,false,incremental"
    is_fine: bool = False
    """Whether times are also in microseconds and nanoseconds (2.6)."""
    source_version: int | None = None
    envelope_version: int | None = 1
    has_key_images: bool = False
    """Whether the image before a change holds the key alone (PostgreSQL's REPLICA IDENTITY DEFAULT)."""
    is_document: bool = False

    @property
    def source_record(self) -> str:
        """The full name of the record that `source` is."""
        return DIALECTS[self.name].source_records[0]

    @property
    def can_truncate(self) -> bool:
        """Tell whether there is an event of a truncated table."""
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

    def source(self, topic: str, spot: Spot) -> dict[str, Any]:
        """Make the value of `source`; what nothing is known of is null."""
        moment_ms = FIRST_MS + spot.number * 1000
        return {
            "version": self.version,
            "connector": "postgresql" if self.name == "postgres" else self.name,
            "ts_ms": moment_ms,
            "snapshot": spot.snapshot,
            "ts_us": moment_ms * 1000,
            "ts_ns": moment_ms * 1_000_000,
            **_names(self, topic),
            **self.place(spot),
        }


def connector_of(name: str) -> Connector:
    """Return a connector by its name in table files."""
    if name not in CONNECTORS:
        raise UsageError(
            f"no events of {name} can be made, those of {', '.join(CONNECTORS)} can",
            "Produce messages of your own with produce()",
        )
    return CONNECTORS[name]


def _names(connector: Connector, topic: str) -> dict[str, str]:
    """Read server, database, schema and table out of a topic's name."""
    parts = topic.split(".")
    named = next((one for one in DIALECTS[connector.name].topic_parts if len(one) == len(parts)), ())
    told = dict(zip(named, parts, strict=False))
    table = told.get("table", parts[-1])
    return {
        "name": told.get("server", parts[0]),
        "db": told.get("database", "testDB"),
        "schema": told.get("schema", "dbo"),
        "table": table,
        "collection": table,
    }


# --- logs ----------------------------------------------------------------------------------------


def _lsn(number: int, part: int) -> str:
    return f"{0x2B:08x}:{number:08x}:{part:04x}"


def _sqlserver(spot: Spot) -> Mapping[str, Any]:
    """Give commit and change LSN: a snapshot's row has the log's end, and no change."""
    commit = {"commit_lsn": _lsn(spot.number, 3)}
    if not spot.is_streamed:
        return commit
    return {**commit, "change_lsn": _lsn(spot.number, 2), "event_serial_no": spot.serial}


def _oracle(spot: Spot) -> Mapping[str, Any]:
    """Give the SCN of the change and of its commit; a snapshot's row has the first alone."""
    scn = 2_000_000 + 2 * spot.number
    if not spot.is_streamed:
        return {"scn": str(scn + 1), "ssn": 0}
    thread = {"ssn": 0, "redo_thread": 1, "user_name": "APP", "txId": f"{spot.number:016x}"}
    return {"scn": str(scn), "commit_scn": str(scn + 1), **thread}


def _postgres(spot: Spot) -> Mapping[str, Any]:
    """Give the LSN, and in `sequence` the commit before it; an incremental snapshot's row has that alone."""
    begin = 26_000_000 + 1000 * spot.number
    commit = begin + 500
    match spot.snapshot:
        case "false":
            before = str(commit - 1000) if spot.number > 1 else None
            return {"sequence": _pair(before, begin), "lsn": begin, "txId": 700 + spot.number}
        case "incremental":
            return {"sequence": _pair(str(commit), commit)}
        case _:
            return {"sequence": _pair(None, begin), "lsn": begin, "txId": 700 + spot.number}


def _pair(before: str | None, lsn: int) -> str:
    return dumps([before, str(lsn)], separators=(",", ":"))


def _mysql(spot: Spot) -> Mapping[str, Any]:
    """Give file, position and row of the binary log."""
    place = {"file": "mysql-bin.000003", "pos": 100 * spot.number, "row": spot.serial - 1}
    return {**place, "server_id": 223344}


def _mongodb(spot: Spot) -> Mapping[str, Any]:
    """Give the cluster time's number; the order is Kafka's."""
    return {"rs": "rs0", "ord": spot.number}


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
        place=_sqlserver,
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
        place=_oracle,
    ),
    Connector(
        name="mongodb",
        version="2.1.4.Final",
        fields={"rs": "string", "collection": "string", "ord": "int", "lsid": _TEXT, "txnNumber": _LONG},
        place=_mongodb,
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
        place=_postgres,
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
        place=_mysql,
        is_fine=True,
        envelope_version=2,
    ),
)
CONNECTORS: Final[Mapping[str, Connector]] = {one.name: one for one in _ALL}
"""Every connector whose events can be made, by its name in table files."""
