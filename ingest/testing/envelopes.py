"""Schemas of a change topic's keys and values, as the converter registers them."""

from collections.abc import Mapping
from typing import Final

from ingest.testing.columns import Columns, Json, fields_of, nullable, record, semantic
from ingest.testing.connectors import Connector

DOCUMENT: Final = nullable(semantic("string", "io.debezium.data.Json"))
_BLOCK: Final[Columns] = {"id": "string", "total_order": "long", "data_collection_order": "long"}
_CHANGES: Final = "io.debezium.connector.mongodb.changestream"


def key_schema(topic: str, columns: Columns) -> Json:
    """Make the schema of message keys."""
    return record(f"{topic}.Key", columns)


def envelope_schema(
    topic: str,
    columns: Columns,
    connector: Connector,
    source_record: str = "",
    renamed: Mapping[str, str] | None = None,
) -> Json:
    """Make the schema of change events.  `after` names the record that `before` defines.

    `renamed` maps columns to their previous names, written as Avro aliases.
    """
    images = _document_images() if connector.is_document else _row_images(topic, columns, renamed)
    transaction = {"transaction": nullable(record("event.block", _BLOCK, **{"connect.version": 1}))}
    op = {"op": nullable("string") if connector.is_document else "string"}
    fine = dict.fromkeys(("ts_us", "ts_ns"), nullable("long"))
    parts = {**images, "source": connector.source_schema(source_record)}
    if connector.is_fine:
        parts |= {**transaction, **op, "ts_ms": nullable("long"), **fine}
    else:
        parts |= {**op, "ts_ms": nullable("long"), **transaction}
    version = {} if connector.envelope_version is None else {"connect.version": connector.envelope_version}
    return record(f"{topic}.Envelope", parts, **version)


def _row_images(topic: str, columns: Columns, renamed: Mapping[str, str] | None) -> dict[str, Json]:
    fields = fields_of(columns, renamed)
    row = {"type": "record", "name": "Value", "fields": fields, "connect.name": f"{topic}.Value"}
    return {"before": nullable(row), "after": nullable("Value")}


def _document_images() -> dict[str, Json]:
    version = {"connect.version": 1}
    cut = record(f"{_CHANGES}.truncatedarray", {"field": "string", "size": "int"}, **version)
    del cut["namespace"]  # nested in a record of the same namespace
    description = {
        "removedFields": nullable({"type": "array", "items": "string"}),
        "updatedFields": DOCUMENT,
        "truncatedArrays": nullable({"type": "array", "items": cut}),
    }
    documents = dict.fromkeys(("before", "after", "patch", "filter"), DOCUMENT)
    changed = record(f"{_CHANGES}.updatedescription", description, **version)
    return {**documents, "updateDescription": nullable(changed)}
