"""Messages of tables with many columns, deep structs or many schemas: a whole one, and a rejected one."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from ingest.avro import connect
from ingest.compile.payload import WriterSchema
from ingest.compile.table import CompiledTable, compile_table
from ingest.names import SchemaId, Topic
from ingest.run.batch.messages import written_in
from ingest.tables import Key, TableConfig
from ingest.testing import framed, nullable, semantic
from tests.compile.sqlserver import ID, KEY_ID, VALUE_ID, compiled, envelope, key
from tests.decode.messages import change, source
from tests.feeds import feed

Message = tuple[bytes | None, bytes | None]
KINDS: Final = (
    ("int32", "int", None, 7),
    ("string", "string", None, "text"),
    ("int64", "long", "io.debezium.time.MicroTimestamp", 1_700_000_000_000_000),
    ("string", "string", "io.debezium.time.ZonedTimestamp", "2024-03-09T12:34:56Z"),
    ("int32", "int", "io.debezium.time.Date", 19_000),
    ("double", "double", None, 1.5),
)
"""Types of columns, in turn: in Connect's JSON, in Avro, by name, and a value."""
BEYOND: Final = 2**62
"""A timestamp that no table can hold."""


@attrs.frozen
class Wide:
    """A compiled table, a message that becomes a row, and one that is rejected."""

    compiled: CompiledTable
    whole: Message
    rejected: Message


def avro_columns(width: int) -> Wide:
    """Make Avro of that many columns."""
    columns = {"id": "int", **{f"c{n}": _avro(n) for n in range(width)}}
    row = {"id": 1, **{f"c{n}": KINDS[n % len(KINDS)][3] for n in range(width)}}
    return _avro_table([columns], row, {**row, "c2": BEYOND})


def avro_nested(width: int) -> Wide:
    """Make Avro of that many structs, each ten deep and converted at its end."""
    columns: dict[str, Any] = {"id": "int"}
    for n in range(width):
        columns[f"c{n}"] = _nested(n, 10)
    deep, bad = ({f"c{n}": _value(10, leaf) for n in range(width)} for leaf in (KINDS[2][3], BEYOND))
    return _avro_table([columns], {"id": 1, **deep}, {"id": 1, **deep, "c0": bad["c0"]})


def avro_versions(count: int) -> Wide:
    """Make Avro of three columns, written with that many schemas, of which some widen a column."""
    types = [nullable("int" if n < count // 2 else "long") for n in range(count)]
    versions = [{"id": "int", "a": a, "c2": _avro(2)} for a in types]
    row = {"id": 1, "a": 1, "c2": KINDS[2][3]}
    return _avro_table(versions, row, {**row, "c2": BEYOND})


def json_with_schema(width: int) -> Wide:
    """Make messages of JsonConverter's that hold their schema."""
    schema, row = json_schema(width), json_row(width)
    good, bad = (
        json.dumps({"schema": schema, "payload": json_event(each)}, separators=(",", ":")).encode()
        for each in (row, {**row, "c2": BEYOND})
    )
    return Wide(
        compile_table(feed(_json_table()), (), written_in([good], "values of t")), (None, good), (None, bad)
    )


def json_without_schema(width: int) -> Wide:
    """Make messages whose schema a file declares."""
    row = json_row(width)
    good, bad = (json.dumps(json_event(each)).encode() for each in (row, {**row, "c2": BEYOND}))
    schema = WriterSchema(SchemaId(-1), "t.json", connect.parse(json_schema(width), where="t.json"))
    return Wide(compile_table(feed(_json_table("t.json")), (), (schema,)), (None, good), (None, bad))


FORMS: Final[Mapping[str, Callable[[int], Wide]]] = {
    "avro": avro_columns,
    "avro, ten deep": avro_nested,
    "avro, schemas": avro_versions,
    "json with schema": json_with_schema,
    "json without schema": json_without_schema,
}


def _avro(number: int) -> Any:
    _, physical, name, _ = KINDS[number % len(KINDS)]
    return nullable(semantic(physical, name) if name else physical)


def _nested(number: int, depth: int) -> Any:
    node: Any = _avro(2)
    for level in range(depth):
        fields = [{"name": "f", "type": node}]
        node = nullable({"type": "record", "name": f"N{number}_{level}", "fields": fields})
    return node


def _value(depth: int, leaf: Any) -> Any:
    return leaf if depth == 0 else {"f": _value(depth - 1, leaf)}


def _avro_table(versions: list[dict[str, Any]], row: dict[str, Any], bad: dict[str, Any]) -> Wide:
    message_key = framed(KEY_ID, key(ID), {"id": 1})
    last = len(versions) - 1
    good_value, bad_value = (
        framed(VALUE_ID + last, envelope(versions[last]), change("r", each)) for each in (row, bad)
    )
    return Wide(compiled(versions), (message_key, good_value), (message_key, bad_value))


def _json_table(schema: str | None = None) -> TableConfig:
    return TableConfig(
        name="t",
        topic=Topic("t"),
        dialect="sqlserver",
        format="debezium-json",
        key=Key(("id",)),
        schema=schema,
    )


def json_schema(width: int) -> dict[str, Any]:
    """Make Connect's schema of change events."""
    columns = [{"type": "int32", "optional": False, "field": "id"}]
    for n in range(width):
        kind, _, name, _ = KINDS[n % len(KINDS)]
        columns.append({"type": kind, "optional": True, "field": f"c{n}", **({"name": name} if name else {})})
    row = {"type": "struct", "fields": columns, "optional": True, "name": "s.Value"}
    texts = ("version", "connector", "name", "snapshot", "db", "schema", "table", "commit_lsn", "change_lsn")
    block = [{"type": "string", "optional": True, "field": name} for name in texts]
    block += [{"type": "int64", "optional": True, "field": name} for name in ("ts_ms", "event_serial_no")]
    record = "io.debezium.connector.sqlserver.Source"
    fields = [
        {**row, "field": "before"},
        {**row, "field": "after"},
        {"type": "struct", "fields": block, "optional": False, "name": record, "field": "source"},
        {"type": "string", "optional": False, "field": "op"},
        {"type": "int64", "optional": True, "field": "ts_ms"},
    ]
    return {"type": "struct", "fields": fields, "optional": False, "name": "s.Envelope"}


def json_row(width: int) -> dict[str, Any]:
    """Make a row."""
    return {"id": 1, **{f"c{n}": KINDS[n % len(KINDS)][3] for n in range(width)}}


def json_event(row: Mapping[str, Any]) -> dict[str, Any]:
    """Make an event's payload."""
    block = source()
    del block["sequence"]
    return {"before": None, "after": row, "source": block, "op": "r", "ts_ms": 1}
