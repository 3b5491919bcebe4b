"""Schemas as Debezium's SQL Server connector and Confluent's converter write them, made from columns."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ingest import avro
from ingest.compile.side import Written
from ingest.compile.table import CompiledTable, compile_table
from ingest.names import SchemaId, Subject, Topic
from ingest.tables import Column, Key, Subjects, Table, Types

Json = Any
TOPIC = Topic("srv.db.dbo.t")
KEY_ID, VALUE_ID = SchemaId(1), SchemaId(101)


def semantic(physical: str, name: str, **more: Any) -> Json:
    """Make a type that carries a `connect.name`."""
    return {"type": physical, "connect.version": 1, "connect.name": name, **more}


def decimal(precision: int | None, scale: int, *, written_precision: int | None = None) -> Json:
    """Make a decimal as the converter does: without a precision it writes 64."""
    parameters = {"scale": str(scale)}
    if precision is not None:
        parameters["connect.decimal.precision"] = str(precision)
    return semantic(
        "bytes",
        "org.apache.kafka.connect.data.Decimal",
        **{"connect.parameters": parameters, "logicalType": "decimal"},
        scale=scale,
        precision=written_precision or precision or 64,
    )


def nullable(kind: Json) -> Json:
    """Make a type optional, as columns that may be null are."""
    return ["null", kind]


def source(record: str = "io.debezium.connector.sqlserver.Source") -> Json:
    """Make the source block of 2.1."""
    namespace, _, name = record.rpartition(".")
    snapshot = [semantic("string", "io.debezium.data.Enum"), "null"]
    fields: dict[str, Json] = {
        **dict.fromkeys(("version", "connector", "name"), "string"),
        "ts_ms": "long",
        "snapshot": snapshot,
        "db": "string",
        "sequence": nullable("string"),
        **dict.fromkeys(("schema", "table"), "string"),
        "change_lsn": nullable("string"),
        "commit_lsn": nullable("string"),
        "event_serial_no": nullable("long"),
    }
    return {"type": "record", "name": name, "namespace": namespace, "fields": fields_of(fields)}


def fields_of(columns: Mapping[str, Json]) -> list[Json]:
    """Make the fields of a record."""
    return [{"name": name, "type": kind} for name, kind in columns.items()]


def envelope(columns: Mapping[str, Json], *, source_record: str | None = None) -> Json:
    """Make the value schema of a table: `after` names the record that `before` defines."""
    row = {"type": "record", "name": "Value", "fields": fields_of(columns)}
    parts = {
        "before": nullable(row),
        "after": nullable("Value"),
        "source": source(source_record) if source_record else source(),
        "op": "string",
        "ts_ms": nullable("long"),
    }
    return {"type": "record", "name": "Envelope", "namespace": TOPIC, "fields": fields_of(parts)}


def key(columns: Mapping[str, Json]) -> Json:
    """Make the key schema of a table."""
    return {"type": "record", "name": "Key", "namespace": TOPIC, "fields": fields_of(columns)}


def written(schema_id: int, node: Json, label: str = "") -> Written:
    """Make a schema as it comes from the registry."""
    label = label or f"{TOPIC}-value v{schema_id - VALUE_ID + 1} (id {schema_id})"
    return Written(SchemaId(schema_id), label, avro.parse(json.dumps(node)))


def table(*keys: str, columns: Mapping[str, Column] | None = None, **types: Any) -> Table:
    """Make a table file's value; `keys` are declared key columns, `types` its policies."""
    subjects = Subjects(key=Subject(f"{TOPIC}-key"), value=Subject(f"{TOPIC}-value"))
    return Table(
        table="t",
        topic=TOPIC,
        dialect="sqlserver",
        subjects=subjects,
        key=Key(columns=keys),
        types=Types(**types),
        columns=dict(columns or {}),
    )


ID = {"id": "int"}


def compiled(
    versions: Sequence[Mapping[str, Json]],
    *,
    of: Table | None = None,
    keys: Mapping[str, Json] | None = ID,
) -> CompiledTable:
    """Compile value versions, given by their columns, and one key schema (None: keyless)."""
    values = [written(VALUE_ID + i, envelope(columns)) for i, columns in enumerate(versions)]
    key_schemas = [] if keys is None else [written(KEY_ID, key(keys), f"{TOPIC}-key v1 (id {KEY_ID})")]
    return compile_table(of or table(), key_schemas, values)


def spark_types(result: CompiledTable) -> dict[str, list[str]]:
    """Return every column's variants, by the Spark type that each becomes."""
    return {
        name: [str(v.mapped.spark) for v in variants] for name, variants in result.value.columns().items()
    }
