"""MongoDB's other capture modes: updates as descriptions, with or without the previous document.

Built from a recording with full documents: keep the description of an update, drop the looked-up document
(debezium: mongodb/MongoDbChangeRecordEmitter.java; documentation: capture.mode).
"""

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import attrs
import fastavro

from ingest.local.fixture import Message
from ingest.testing import framed
from ingest.testing.wire import without_logical_types
from tests.e2e.forms.folder import Recorded, read_topic, write_folder, write_schemas, write_topic
from tests.e2e.recordings import Recording

CaptureMode = Literal["change_streams", "change_streams_with_pre_image"]


def make_deltas(folder: Path, recording: Recording, mode: CaptureMode, tables: Sequence[str]) -> Recording:
    """Drop the documents from some tables' updates; return the new recording."""
    write_folder(folder, recording)
    schemas: list[tuple[str, int, Any]] = []
    for table in tables:
        topic, recorded = recording.topic(table), read_topic(recording, table)
        write_topic(folder, topic, _described(recorded, mode))
        for schema_id, schema in recorded.schemas.items():
            side = "value" if schema["name"] == "Envelope" else "key"
            schemas.append((f"{topic}-{side}", schema_id, schema))
    write_schemas(folder, schemas)
    return attrs.evolve(recording, name=str(folder), tables=tuple(tables))


def _described(recorded: Recorded, mode: CaptureMode) -> Iterator[Message]:
    parsed = {i: fastavro.parse_schema(without_logical_types(s)) for i, s in recorded.schemas.items()}
    states: dict[bytes | None, str | None] = {}
    for message in recorded.messages:
        if message.value is None:
            yield message
            continue
        schema_id = int.from_bytes(message.value[1:5], "big")
        event = fastavro.schemaless_reader(BytesIO(message.value[5:]), parsed[schema_id])
        before, after = states.get(message.key), event["after"]
        if event["op"] == "u" and event["updateDescription"]:
            event["after"] = None
        if mode == "change_streams_with_pre_image" and event["op"] in ("u", "d"):
            event["before"] = before
        # A looked-up document may be newer than the update, so it cannot become a pre-image.
        states[message.key] = after if event["op"] in ("c", "r") else None
        yield attrs.evolve(message, value=framed(schema_id, recorded.schemas[schema_id], event))
