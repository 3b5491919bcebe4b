"""SQL Server's schemas, made from columns, compiled."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from ingest import avro
from ingest.compile.payload import WriterSchema
from ingest.compile.table import CompiledTable, compile_table
from ingest.names import SchemaId, Subject, Topic
from ingest.tables import Column, Feed, Key, Subjects, TableConfig, Types
from ingest.testing import CONNECTORS, envelope_schema, key_schema
from tests.feeds import feed

Json = Any
TOPIC = Topic("srv.db.dbo.t")
KEY_ID, VALUE_ID = SchemaId(1), SchemaId(101)


def envelope(columns: Mapping[str, Json], *, source_record: str = "") -> Json:
    """Make the value schema of a table."""
    return envelope_schema(TOPIC, columns, CONNECTORS["sqlserver"], source_record)


def key(columns: Mapping[str, Json]) -> Json:
    """Make the key schema of a table."""
    return key_schema(TOPIC, columns)


def written(schema_id: int, node: Json, label: str = "") -> WriterSchema:
    """Make a schema as it comes from the registry."""
    label = label or f"{TOPIC}-value v{schema_id - VALUE_ID + 1} (id {schema_id})"
    return WriterSchema(SchemaId(schema_id), label, avro.parse(json.dumps(node)))


def table(*keys: str, columns: Mapping[str, Column] | None = None, **types: Any) -> TableConfig:
    """Make a table file's value; `keys` are declared key columns, `types` its policies."""
    subjects = Subjects(key=Subject(f"{TOPIC}-key"), value=Subject(f"{TOPIC}-value"))
    return TableConfig(
        name="t",
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
    of: TableConfig | Feed | None = None,
    keys: Mapping[str, Json] | None = ID,
) -> CompiledTable:
    """Compile value versions, given by their columns, and one key schema (None: keyless)."""
    values = [
        attrs.evolve(written(VALUE_ID + i, envelope(columns)), version=i + 1)
        for i, columns in enumerate(versions)
    ]
    key_schemas = [] if keys is None else [written(KEY_ID, key(keys), f"{TOPIC}-key v1 (id {KEY_ID})")]
    return compile_table(of if isinstance(of, Feed) else feed(of or table()), key_schemas, values)


def spark_types(result: CompiledTable) -> dict[str, list[str]]:
    """Return every column's variants, by the Spark type that each becomes."""
    return {
        name: [str(v.mapped.spark) for v in column_versions]
        for name, column_versions in result.value.columns().items()
    }
