"""Messages of Huawei's CDL, built from Debezium's JSON of PostgreSQL: both forms, in the shape of the seeds.

`1.0` is CDL's own JSON, `2.0` its Debezium JSON.  Kafka keys are null: `unique` holds the key.  CDL has
neither `sequence` nor snapshots: a snapshot row becomes an insert at its LSN.  Rows of an incremental
snapshot are dropped: they would arrive later than the state that they show.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final, Literal
from zlib import crc32

import attrs

from ingest.local.fixture import Message
from tests.e2e.forms.flattened import compact
from tests.e2e.forms.folder import Json, read_topic, write_folder, write_topic
from tests.e2e.recordings import Recording

Version = Literal["1.0", "2.0"]

PARTITIONS: Final = 3
HEARTBEAT: Final = "279fb050-0143-45c1-b184-50bc48c2461c"
_BEAT_AT: Final = 40
"""Far from both ends of a topic, which onboarding looks at."""
_WORDS: Final = {"c": "INSERT", "r": "INSERT", "u": "UPDATE", "d": "DELETE"}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def make_cdl(folder: Path, recording: Recording, version: Version, tables: Sequence[str]) -> Recording:
    """Write some of a recording's tables, and its heartbeats, as CDL does; return the new recording."""
    write_folder(folder, recording, partitions=PARTITIONS)
    for table in tables:
        topic = recording.topic(table)
        write_topic(folder, topic, _messages(read_topic(recording, table).messages, version))
    beats = (_beat(number, version) for number in range(5))
    write_topic(folder, f"{recording.prefix}.cdc_cdl.cdc_heartbeat", beats)
    return attrs.evolve(recording, name=str(folder), pattern="*", tables=tuple(tables))


def _messages(recorded: Sequence[Message], version: Version) -> Iterator[Message]:
    for number, message in enumerate(recorded):
        if message.value is None or message.key is None:
            continue
        key, value = json.loads(message.key), json.loads(message.value)
        if value["payload"]["source"]["snapshot"] == "incremental":
            continue
        cdl_json = cdl_message(key, value, version)
        partition = crc32(compact(key["payload"])) % PARTITIONS
        yield attrs.evolve(message, key=None, value=compact(cdl_json), partition=partition)
        if version == "1.0" and number % 25 == 0:
            beat = _empty_beat(cdl_json, message.timestamp_ms)
            yield attrs.evolve(message, key=None, value=compact(beat), partition=partition)
        if number % 100 == _BEAT_AT:
            yield attrs.evolve(_beat(number, version), timestamp_ms=message.timestamp_ms, partition=partition)


def cdl_message(key: Json, value: Json, version: Version) -> Json:
    """Return the message of one change, schema and payload, from its key and value in Debezium's JSON."""
    form = _own if version == "1.0" else _debezium
    fields = {field["field"]: field for field in value["schema"]["fields"]}
    source = value["payload"]["source"]
    row = _struct(fields["after"]["fields"], version)
    unique = {"type": "struct", "fields": key["schema"]["fields"], "optional": True, "name": "unique"}
    images = {
        name: _row(fields["after"]["fields"], value["payload"][name], version) for name in ("before", "after")
    }
    schema, payload = form(row, unique, images, value["payload"], key["payload"])
    name = f"{source['schema']}.{source['table']}"
    return {
        "schema": {"type": "struct", "fields": schema, "optional": False, "name": name},
        "payload": payload,
    }


def _field(field: str, kind: str, /, *, optional: bool = False, **options: Json) -> Json:
    return {"type": kind, "optional": optional, **options, "field": field}


def _own(row: Json, unique: Json, images: Json, event: Json, key: Json) -> tuple[list[Json], Json]:
    timestamp: dict[str, Json] = {"name": "org.apache.kafka.connect.data.Timestamp", "version": 1}
    pair = {"type": "struct", "fields": [_field("name", "string"), _field("value", "int64")]}
    properties = _field("properties", "array", items={**pair, "optional": False})
    schema = [
        *(_field(name, "string") for name in ("DATA_STORE", "SEG_OWNER", "TABLE_NAME")),
        _field("TIMESTAMP", "int64", **timestamp),
        _field("OPERATION", "string"),
        _field("LOB_COLUMNS", "string", optional=True),
        _field("transaction", "struct", fields=[properties], name="transaction"),
        {**unique, "field": "unique"},
        {**row, "name": "data", "field": "data"},
        {**row, "name": "before", "field": "before"},
        _field("message_version", "string"),
        _field("message_type", "string"),
        _field("HEARTBEAT_IDENTIFIER", "string", optional=True),
    ]
    source = event["source"]
    numbers = [{"name": "lsn", "value": lsn_of(source)}, {"name": "txId", "value": source["txId"]}]
    payload = {
        "DATA_STORE": "POSTGRESQL",
        "SEG_OWNER": source["schema"],
        "TABLE_NAME": source["table"],
        "TIMESTAMP": source["ts_ms"],
        "OPERATION": _WORDS[event["op"]],
        "LOB_COLUMNS": None,
        "transaction": {"properties": numbers},
        "unique": key,
        "data": images["after"],
        "before": images["before"],
        "message_version": "1.0",
        "message_type": "0",
        "HEARTBEAT_IDENTIFIER": HEARTBEAT,
    }
    return schema, payload


def _debezium(row: Json, unique: Json, images: Json, event: Json, key: Json) -> tuple[list[Json], Json]:
    snapshot = {"name": "io.debezium.data.Enum", "version": 1, "parameters": {"allowed": "true,last,false"}}
    source_fields = [
        *(_field(name, "string") for name in ("version", "connector", "name")),
        _field("ts_ms", "int64"),
        _field("snapshot", "string", optional=True, **snapshot, default="false"),
        *(_field(name, "string") for name in ("db", "schema", "table")),
        *(_field(name, "int64", optional=True) for name in ("txId", "lsn")),
    ]
    source_name = "io.debezium.connector.postgresql.Source"
    schema = [
        {**row, "name": "before", "field": "before"},
        {**row, "name": "data", "field": "after"},
        _field("source", "struct", fields=source_fields, name=source_name),
        _field("op", "string"),
        _field("ts_ms", "int64"),
        *(_field(name, "string") for name in ("message_version", "message_type")),
        _field("LOB_COLUMNS", "string", optional=True),
        {**unique, "field": "unique"},
    ]
    source = event["source"]
    copied = {name: source[name] for name in ("ts_ms", "db", "schema", "table", "txId")}
    fixed = {"version": "1.4.0.Final", "connector": "postgresql", "name": "cdl", "snapshot": "false"}
    payload = {
        **images,
        "source": {**fixed, **copied, "lsn": lsn_of(source)},
        "op": "c" if event["op"] == "r" else event["op"],
        "ts_ms": event["ts_ms"],
        "message_version": "2.0",
        "message_type": "0",
        "LOB_COLUMNS": None,
        "unique": key,
    }
    return schema, payload


def lsn_of(source: Json) -> int:
    """Return an event's LSN, or the second number of `sequence` if it has none."""
    return int(json.loads(source["sequence"])[1] if source["lsn"] is None else source["lsn"])


# --- columns -------------------------------------------------------------------------------------


def _struct(fields: Sequence[Json], version: Version) -> Json:
    return {"type": "struct", "fields": [_column(field, version) for field in fields], "optional": True}


def _column(field: Json, version: Version) -> Json:
    changed = _COLUMNS.get((version, field.get("name", "")))
    if changed is None:
        return {k: v for k, v in field.items() if k != "default"}
    return {**changed, "optional": field["optional"], "field": field["field"]}


def _row(fields: Sequence[Json], image: Json | None, version: Version) -> Json | None:
    if image is None:
        return None
    return {field["field"]: _cell(field, image[field["field"]], version) for field in fields}


def _cell(field: Json, value: Json, version: Version) -> Json:
    write = _CELLS.get((version, field.get("name", "")))
    return value if write is None or value is None else write(field, value)


def _decimal(field: Json, value: str) -> str:
    unscaled = int.from_bytes(base64.b64decode(value), "big", signed=True)
    return f"{Decimal(unscaled).scaleb(-int(field['parameters']['scale'])):f}"


def _clock(_: Json, value: int) -> str:
    moment = _EPOCH + timedelta(milliseconds=value)
    return moment.replace(tzinfo=None).isoformat(" ", "milliseconds")


_DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
_CLOCK: Final = "io.debezium.time.Timestamp"
_TEXT_DECIMAL: Final = {"type": "string", "name": "com.xxx.cdc.data.Decimal"}
_COLUMNS: Final[Mapping[tuple[str, str], Json]] = {
    ("1.0", _DECIMAL): _TEXT_DECIMAL,
    ("2.0", _DECIMAL): _TEXT_DECIMAL,
    ("1.0", _CLOCK): {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1},
    ("2.0", _CLOCK): {"type": "string", "name": "com.xxx.cdc.data.timestamp"},
}
_CELLS: Final[Mapping[tuple[str, str], Callable[[Json, Json], Json]]] = {
    ("1.0", _DECIMAL): _decimal,
    ("2.0", _DECIMAL): _decimal,
    ("2.0", _CLOCK): _clock,
}


# --- heartbeats ----------------------------------------------------------------------------------


def _empty_beat(message: Json, moment_ms: int) -> Json:
    """Return a heartbeat within a table's topic, which holds only its identifier."""
    nothing = {"unique": None, "data": None, "before": None}
    payload = {**message["payload"], **nothing, "TIMESTAMP": moment_ms, "OPERATION": "UPDATE"}
    return {**message, "payload": payload}


def _beat(number: int, version: Version) -> Message:
    """Return a change of CDL's heartbeat table."""
    job = _field("cdl_job_id", "int64")
    moment = _field("cdl_last_heartbeat", "int64", optional=True, name="io.debezium.time.MicroTimestamp")
    columns = [job, moment]
    row = {"cdl_job_id": 7, "cdl_last_heartbeat": 1_707_047_996_013_000 + number}
    source: dict[str, Json] = {
        "schema": "cdc_cdl",
        "table": "cdc_heartbeat",
        "ts_ms": 1_707_047_996_013 + number,
    }
    source |= {"lsn": 163_955_221_008 + number, "txId": number, "snapshot": "false", "db": "cdl"}
    value = {
        "schema": {"fields": [{"field": "after", "fields": columns}]},
        "payload": {"before": None, "after": row, "source": source, "op": "u", "ts_ms": source["ts_ms"]},
    }
    key = {"schema": {"fields": [job]}, "payload": {"cdl_job_id": 7}}
    payload = compact(cdl_message(key, value, version))
    return Message(0, number, source["ts_ms"], (), None, payload)
