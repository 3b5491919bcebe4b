"""Change events in bulk: SQL Server envelopes of any width, in Confluent framing."""

import io
import json
import random
import struct
from collections.abc import Iterator
from typing import Any

import fastavro

TOPIC = "bench.db.dbo.wide"
_DECIMAL = {
    "type": "bytes", "scale": 2, "precision": 18, "connect.version": 1, "logicalType": "decimal",
    "connect.parameters": {"scale": "2", "connect.decimal.precision": "18"},
    "connect.name": "org.apache.kafka.connect.data.Decimal",
}  # fmt: skip
_KINDS: tuple[Any, ...] = (
    "string", "int", "string", "long", _DECIMAL, "string", "boolean",
    {"type": "long", "connect.version": 1, "connect.name": "io.debezium.time.Timestamp"},
    "double", {"type": "int", "connect.version": 1, "connect.name": "io.debezium.time.Date"},
    {"type": "long", "connect.version": 1, "connect.name": "io.debezium.time.NanoTimestamp"}, "string",
    {"type": "string", "connect.version": 1, "connect.name": "io.debezium.time.ZonedTimestamp"},
    {"type": "long", "connect.version": 1, "connect.name": "io.debezium.time.MicroTime"}, "int",
)  # fmt: skip
"""Types of columns in the mix that business tables have; a table repeats them up to its width."""


_SNAPSHOT = {"type": "string", "connect.version": 1, "connect.name": "io.debezium.data.Enum"}


def value_schema(columns: int, extra: int = 0) -> dict[str, Any]:
    """Return an envelope whose row has an `id` and further columns; `extra` ones make another version."""
    fields = [{"name": "id", "type": "long"}]
    fields += [
        {"name": f"c{i}", "type": ["null", _KINDS[i % len(_KINDS)]], "default": None}
        for i in range(columns - 1 + extra)
    ]
    text = ["null", "string"]
    source = [
        *({"name": name, "type": "string"} for name in ("version", "connector", "name")),
        {"name": "ts_ms", "type": "long"},
        {"name": "snapshot", "type": [_SNAPSHOT, "null"], "default": "false"},
        {"name": "db", "type": "string"},
        *({"name": name, "type": text, "default": None} for name in ("sequence",)),
        *({"name": name, "type": "string"} for name in ("schema", "table")),
        *({"name": name, "type": text, "default": None} for name in ("change_lsn", "commit_lsn")),
        {"name": "event_serial_no", "type": ["null", "long"], "default": None},
    ]
    row = {"type": "record", "name": "Value", "fields": fields}
    source_record = {
        "type": "record", "name": "Source", "namespace": "io.debezium.connector.sqlserver", "fields": source,
        "connect.name": "io.debezium.connector.sqlserver.Source",
    }  # fmt: skip
    return {
        "type": "record", "name": "Envelope", "namespace": TOPIC, "connect.name": f"{TOPIC}.Envelope",
        "fields": [
            {"name": "before", "type": ["null", row], "default": None},
            {"name": "after", "type": ["null", "Value"], "default": None},
            {"name": "source", "type": source_record},
            {"name": "op", "type": "string"},
            {"name": "ts_ms", "type": ["null", "long"], "default": None},
        ],
    }  # fmt: skip


KEY_SCHEMA = {
    "type": "record", "name": "Key", "namespace": TOPIC, "fields": [{"name": "id", "type": "long"}],
    "connect.name": f"{TOPIC}.Key",
}  # fmt: skip


def messages(
    count: int,
    keys: int,
    columns: int,
    key_id: int,
    value_ids: tuple[int, ...],
    seed: int = 1,
    hot_share: float = 0.0,
) -> Iterator[tuple[bytes, bytes]]:
    """Yield framed keys and values: 60 % updates with both images, 20 % inserts, 20 % deletes.

    With as many keys as messages, every message inserts a row of its own instead.  `hot_share` of the others
    are of the key 0.
    """
    rng = random.Random(seed)  # noqa: S311  data, no secret
    schemas = [
        fastavro.parse_schema(physical(value_schema(columns, extra))) for extra in range(len(value_ids))
    ]
    for number in range(count):
        version = number % len(value_ids)
        is_hot = hot_share > 0 and rng.random() < hot_share
        key = number if keys == count else 0 if is_hot else rng.randrange(keys)
        op = "c" if keys == count else rng.choices("ucd", (6, 2, 2))[0]
        row = _row(rng, key, columns + version)
        event = {
            "before": None if op == "c" else row,
            "after": None if op == "d" else row,
            "source": source(number),
            "op": op,
            "ts_ms": 1_700_000_000_000 + number,
        }
        yield framed(key_id, KEY_SCHEMA, {"id": key}), framed(value_ids[version], schemas[version], event)


def large_messages(
    count: int, text_bytes: int, columns: int, key_id: int, value_id: int
) -> Iterator[tuple[bytes, bytes]]:
    """Yield inserts whose first text has so many bytes."""
    rng = random.Random(1)  # noqa: S311  data, no secret
    schema = fastavro.parse_schema(physical(value_schema(columns)))
    for number in range(count):
        row = {**_row(rng, number, columns), "c0": rng.randbytes(text_bytes // 2).hex()}
        event = {"before": None, "after": row, "source": source(number), "op": "c", "ts_ms": number}
        yield framed(key_id, KEY_SCHEMA, {"id": number}), framed(value_id, schema, event)


def _row(rng: random.Random, key: int, columns: int) -> dict[str, Any]:
    values: dict[str, Any] = {"id": key}
    for i in range(columns - 1):
        values[f"c{i}"] = None if rng.random() < 0.1 else _value(rng, _KINDS[i % len(_KINDS)], i)
    return values


def _value(rng: random.Random, kind: Any, i: int) -> Any:
    name = kind if isinstance(kind, str) else kind["connect.name"].rpartition(".")[2]
    match name:
        case "string":
            return f"text {rng.randrange(100_000)} of column {i}"
        case "int" | "long":
            return rng.randrange(1_000_000)
        case "boolean":
            return rng.random() < 0.5
        case "double":
            return rng.random() * 1000
        case "Decimal":
            return rng.randrange(-(10**15), 10**15).to_bytes(8, "big", signed=True)
        case "Date":
            return rng.randrange(20_000)
        case "Timestamp":
            return rng.randrange(1_700_000_000_000)
        case "NanoTimestamp":
            return rng.randrange(17_000_000_000_000_000) * 100
        case "ZonedTimestamp":
            return f"2024-03-{rng.randrange(1, 29):02d}T12:34:56.1234567+02:00"
        case _:
            return rng.randrange(86_400_000_000)


def source(number: int) -> dict[str, Any]:
    """Return the source block of an event."""
    lsn = f"{number >> 16:08x}:{number & 0xFFFF:08x}:0003"
    return {
        "version": "2.1.4.Final", "connector": "sqlserver", "name": "bench",
        "ts_ms": 1_700_000_000_000 + number, "snapshot": "false",
        "db": "db", "sequence": None, "schema": "dbo", "table": "wide",
        "change_lsn": lsn, "commit_lsn": lsn, "event_serial_no": 1,
    }  # fmt: skip


def framed(schema_id: int, schema: Any, value: Any) -> bytes:
    """Return a value in Confluent framing."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return b"\0" + struct.pack(">I", schema_id) + out.getvalue()


def physical(schema: Any) -> Any:
    """Return a schema without logical types, so that fastavro takes the bytes of a decimal as they are."""
    return json.loads(json.dumps(schema).replace('"logicalType": "decimal"', '"x": "y"'))
