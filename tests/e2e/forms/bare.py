"""JSON messages of a converter without schemas: only the payload."""

import json
from pathlib import Path

import attrs

from tests.e2e.forms.folder import read_topic, write_folder, write_topic
from tests.e2e.recordings import Recording


def make_bare(folder: Path, recording: Recording, table: str) -> tuple[Recording, Path]:
    """Remove the schemas from a table's messages; return the recording and the newest schema's file."""
    write_folder(folder, recording)
    recorded = read_topic(recording, table)
    schemas = [json.loads(message.value)["schema"] for message in recorded.messages if message.value]
    write_topic(
        folder,
        recording.topic(table),
        (attrs.evolve(m, key=_payload(m.key), value=_payload(m.value)) for m in recorded.messages),
    )
    path = folder / "schema.json"
    path.write_text(json.dumps(schemas[-1]))
    return attrs.evolve(recording, name=str(folder), tables=(table,)), path


def _payload(message: bytes | None) -> bytes | None:
    return None if message is None else json.dumps(json.loads(message)["payload"]).encode()
