"""What a value schema is: a data envelope with its parts, or one of the other records of a connector."""

from typing import Literal

import attrs

from ingest import avro
from ingest.errors import SchemaError

Kind = Literal["data", "heartbeat", "transaction", "schema-change", "message", "notification", "foreign"]
"""What a value schema is; `foreign` is neither a change event nor anything known beside one."""

# Full names of the records that share a broker with data but are none
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

_PARTS = ("before", "after", "source", "op")


@attrs.frozen
class Envelope:
    """The parts of a data envelope: the row image, the source block, what stands beside them."""

    record: avro.Record
    row: avro.Record
    source: avro.Record

    @property
    def source_record(self) -> str:
        """Full name of the source block's record."""
        return self.source.name

    @property
    def is_signal(self) -> bool:
        """Tell whether the row is that of Debezium's signal table: id, type and data, all text."""
        fields = {f.name: avro.not_null(f.type) for f in self.row.fields}
        return set(fields) == {"id", "type", "data"} and all(
            isinstance(kind, avro.Scalar) and kind.physical == "string" for kind in fields.values()
        )


def classify(schema: avro.Schema) -> Kind:
    """Return what a value schema is, by its name and its parts."""
    if not isinstance(schema, avro.Record):
        return "foreign"
    if all(schema.field(part) for part in _PARTS):
        return "data"
    return next((kind for suffix, kind in _OTHER_RECORDS if schema.name.endswith(suffix)), "foreign")


def find_envelope(schema: avro.Schema, where: str) -> Envelope:
    """Find the parts of a data envelope, by name.  Raises `SchemaError` naming what is missing."""
    if not isinstance(schema, avro.Record) or classify(schema) != "data":
        raise SchemaError(where, "$", why_foreign(schema), "Onboard topics of change events")
    return Envelope(schema, _record(schema, "after", where), _record(schema, "source", where))


def _record(schema: avro.Record, part: str, where: str) -> avro.Record:
    field = schema.field(part)
    found = avro.not_null(field.type) if field else None
    if not isinstance(found, avro.Record):
        raise SchemaError(where, f"$.{part}", "is no record", "Onboard topics of change events")
    return found


def why_foreign(schema: avro.Schema) -> str:
    """Say what a schema lacks to be that of change events."""
    if not isinstance(schema, avro.Record):
        return "is no record, so no change event"
    names = [field.name for field in schema.fields]
    missing = [part for part in _PARTS if part not in names]
    flattened = any(name.startswith("__") for name in names)
    hint = "; it looks flattened (ExtractNewRecordState), which is not supported" if flattened else ""
    return f"{schema.name} has no {', '.join(missing)}: it is no change event{hint}"
