"""Recordings as folders: topics and schemas, read and written."""

import base64
import gzip
import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs

from ingest.local.fixture import Message, read_messages, read_recording
from tests.e2e.recordings import Recording

Json = Any


@attrs.frozen
class Recorded:
    """One topic of a recording: `schemas` are those of its keys and values by id, empty for JSON."""

    table: str
    messages: tuple[Message, ...]
    schemas: dict[int, Json]


def read_topic(recording: Recording, table: str) -> Recorded:
    """Read the messages of a table's topic, and the schemas that they reference."""
    fixture = read_recording(recording.folder)
    name = recording.topic(table)
    topic = next(entry for entry in fixture.topics if entry.name == name)
    schemas = {
        int(entry.id): json.loads(entry.schema)
        for entry in fixture.schemas
        if entry.subject in {f"{name}-key", f"{name}-value"}
    }
    return Recorded(table, tuple(read_messages(topic)), schemas)


def write_folder(folder: Path, recording: Recording, *, partitions: int = 1) -> Path:
    """Create a folder with the referee's rows of a recording, without topics."""
    (folder / "topics").mkdir(parents=True)
    shutil.copytree(recording.folder / "expected", folder / "expected")
    (folder / "manifest.json").write_text(json.dumps({"partitions": partitions}))
    return folder


def write_topic(folder: Path, name: str, messages: Iterable[Message]) -> None:
    """Write a topic, partition by partition, with new offsets."""
    lines: dict[int, list[str]] = {}
    for message in messages:
        placed = lines.setdefault(message.partition, [])
        placed.append(_line(attrs.evolve(message, offset=len(placed))))
    with gzip.open(folder / "topics" / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(line for partition in sorted(lines) for line in lines[partition])


def write_schemas(folder: Path, schemas: Sequence[tuple[str, int, Json]]) -> None:
    """Write the versions of subjects, in order: subject, id, schema."""
    counts: dict[str, int] = {}
    entries = []
    for subject, schema_id, schema in schemas:
        counts[subject] = counts.get(subject, 0) + 1
        text = json.dumps(schema)
        entries.append({"subject": subject, "version": counts[subject], "id": schema_id, "schema": text})
    (folder / "registry.json").write_text(json.dumps(entries))


def _line(message: Message) -> str:
    entry = {
        "p": message.partition,
        "o": message.offset,
        "ts": message.timestamp_ms,
        "h": [],
        "k": _text(message.key),
        "v": _text(message.value),
    }
    return json.dumps(entry) + "\n"


def _text(payload: bytes | None) -> str | None:
    return None if payload is None else base64.b64encode(payload).decode()
