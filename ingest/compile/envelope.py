"""The kind of a value schema: change events in one of four forms, or another record of a connector."""

from collections.abc import Mapping
from typing import Literal

import attrs

from ingest import avro
from ingest.dialects import CDL, RECORD, Dialect, dialect_of, dialect_of_flat
from ingest.errors import SchemaError

Kind = Literal["data", "heartbeat", "transaction", "schema-change", "message", "notification", "foreign"]
"""The kind of a value schema.  `foreign` is neither a change event nor any other known record."""

Form = Literal["debezium", "document", "flattened", "cdl", "record"]
"""How a change event is laid out.

`debezium`: records before and after, source, op · `document`: the same with documents as JSON text ·
`flattened`: the row itself, the rest of the envelope in fields with `__` (ExtractNewRecordState) · `cdl`:
CDL's own JSON, with data, before and unique · `record`: any record, as it is.
"""

# Full names of the records that share a broker with data and are not data
# (debezium: common/…/HeartbeatImpl, pipeline/txmetadata, HistorizedRelationalDatabaseSchema, notification).
_OTHER_RECORDS: tuple[tuple[str, Kind], ...] = (
    (".Heartbeat", "heartbeat"),
    (".TransactionMetadataValue", "transaction"),
    (".TransactionMetadataKey", "transaction"),
    (".SchemaChangeValue", "schema-change"),
    (".SchemaChangeKey", "schema-change"),
    (".MessageValue", "message"),
    (".Notification", "notification"),
)

_CDL_HEARTBEATS = "cdc_heartbeat"
"""CDL's heartbeats are changes of a table of that name, in any case.  The record has the table's name."""

_PARTS = ("after", "source", "op")
_CDL_PARTS = ("OPERATION", "data", "TABLE_NAME", "transaction")
_FLAT = "__"
"""What `add.fields` puts before a name (Debezium's default of add.fields.prefix)."""
_SOURCE = "source_"
_ADDED = frozenset(
    (
        *("deleted", "op", "ts_ms", "ts_us", "ts_ns", "version", "connector", "name", "snapshot", "db"),
        *("transaction_id", "transaction_total_order", "transaction_data_collection_order"),
        *("sequence", "schema", "table", "change_lsn", "commit_lsn", "event_serial_no"),
        *("txId", "lsn", "xmin", "origin", "origin_lsn", "scn", "commit_scn", "start_scn", "lcr_position"),
        *("rs_id", "ssn", "redo_thread", "user_name", "redo_sql", "row_id", "commit_ts_ms", "start_ts_ms"),
        *("txSeq", "server_id", "gtid", "file", "pos", "row", "thread", "query"),
        *("rs", "collection", "ord", "h", "tord", "lsid", "txnNumber", "wallTime"),
    )
)
"""What `add.fields` may take over: fields of the envelope and of the connectors' source blocks."""


@attrs.frozen
class Envelope:
    """The parts of a change event.  `row` holds the columns (zero for documents)."""

    form: Form
    record: avro.Record
    row: avro.Record
    dialect: Dialect | None
    source_record: str = ""
    """Full name of the source block's record, or empty without one."""
    fields: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    """The root's field for each name in the source block, for a flattened row."""
    unique: avro.Record | None = None
    """The record that holds the key columns, if the value has one (CDL)."""

    @property
    def is_signal(self) -> bool:
        """Tell whether the row is one of Debezium's signal table: id, type and data, all text."""
        fields = {f.name: avro.not_null(f.type) for f in self.row.fields}
        return set(fields) == {"id", "type", "data"} and all(
            isinstance(kind, avro.Scalar) and kind.physical == "string" for kind in fields.values()
        )


def classify(schema: avro.Schema) -> Kind:
    """Return the kind of a value schema, by its name and its parts."""
    if not isinstance(schema, avro.Record):
        return "foreign"
    if all(schema.field(part) for part in _PARTS) or all(schema.field(part) for part in _CDL_PARTS):
        beats = schema.field("message_version") and schema.name.lower().split(".")[-1] == _CDL_HEARTBEATS
        return "heartbeat" if beats else "data"
    record_kind = next((kind for suffix, kind in _OTHER_RECORDS if schema.name.endswith(suffix)), None)
    return record_kind or ("data" if _is_flattened(schema) else "foreign")


def find_envelope(schema: avro.Schema, where: str) -> Envelope:
    """Find the parts of a change event, by name.  Raises `SchemaError` that names the missing parts."""
    if not isinstance(schema, avro.Record) or classify(schema) != "data":
        raise SchemaError(where, "$", why_foreign(schema), "Onboard topics of change events")
    unique = _record(schema, "unique", where) if schema.field("unique") else None
    if schema.field("OPERATION"):
        return Envelope("cdl", schema, _record(schema, "data", where), CDL, unique=unique)
    if not schema.field("source"):
        return _flattened(schema)
    source = _record(schema, "source", where)
    _check_meaning(schema, source, where)
    dialect = CDL if schema.field("message_version") else dialect_of(source.name)
    if dialect and dialect.is_document:
        return Envelope("document", schema, avro.Record(schema.name, ()), dialect, source.name)
    row = _record(schema, "after", where)
    return Envelope("debezium", schema, row, dialect, source.name, unique=unique)


def _check_meaning(schema: avro.Record, source: avro.Record, where: str) -> None:
    """Refuse schemas without the names that give types their meaning: every schema has some in `source`."""
    field = source.field("snapshot")
    snapshot = avro.not_null(field.type) if field else None
    bare = isinstance(snapshot, avro.Scalar) and snapshot.physical == "string" and not snapshot.notes.semantic
    if bare and not schema.notes.connect_name:
        raise SchemaError(
            where,
            "$.source.snapshot",
            "has no connect.name: connect.meta.data=false in the converter takes the meaning from all types",
            "Let the converter keep it (connect.meta.data=true), and register the schemas again",
        )


def plain_record(schema: avro.Schema, where: str) -> Envelope:
    """Take any record as a row.  Raises `SchemaError` for another schema."""
    if not isinstance(schema, avro.Record):
        raise SchemaError(where, "$", "is not a record, so it has no columns")
    return Envelope("record", schema, schema, RECORD)


def _flattened(schema: avro.Record) -> Envelope:
    flat = _flat_fields(schema)
    columns = tuple(field for field in schema.fields if not _is_added(field.name))
    return Envelope(
        "flattened", schema, avro.Record(schema.name, columns), dialect_of_flat(flat), fields=flat
    )


def _is_flattened(schema: avro.Record) -> bool:
    """Tell whether a record is a row with an operation and a source position, so that it has an order."""
    flat = _flat_fields(schema)
    return bool({"op", "deleted"}.intersection(flat)) and dialect_of_flat(flat) is not None


def _flat_fields(schema: avro.Record) -> dict[str, str]:
    """Return the metadata fields of a flattened row, by name without prefix.  The source's own win."""
    names = [field.name for field in schema.fields if _is_added(field.name)]
    ordered = sorted(names, key=lambda name: name.startswith(_FLAT + _SOURCE))
    return {name.removeprefix(_FLAT).removeprefix(_SOURCE): name for name in ordered}


def _is_added(name: str) -> bool:
    """Tell metadata from a column of the table's own that begins like it."""
    return name.startswith(_FLAT) and name.removeprefix(_FLAT).removeprefix(_SOURCE) in _ADDED


def _record(schema: avro.Record, part: str, where: str) -> avro.Record:
    field = schema.field(part)
    record = avro.not_null(field.type) if field else None
    if not isinstance(record, avro.Record):
        raise SchemaError(where, f"$.{part}", "is not a record", "Onboard topics of change events")
    return record


def why_foreign(schema: avro.Schema) -> str:
    """Name the parts that a schema lacks to be a schema of change events."""
    if not isinstance(schema, avro.Record):
        return "is not a record, so not a change event"
    names = [field.name for field in schema.fields]
    if {"specversion", "type", "source", "data"} <= {name.lower() for name in names}:
        return f"{schema.name} is a CloudEvents envelope, which is not supported: use the connector's own"
    missing = [part for part in _PARTS if part not in names]
    hint = ""
    if any(name.startswith(_FLAT) for name in names):
        hint = (
            "; it looks flattened (ExtractNewRecordState), and lacks what its order is made of: "
            "add.fields = op, source.ts_ms and the source position (lsn and sequence, commit_lsn, scn, …)"
        )
    return f"{schema.name} has no {', '.join(missing)}: it is not a change event{hint}"
