"""Recorded topics on disk: a fixture folder of this project, or a corpus folder as it was dumped.

Both hold one `<topic>.jsonl.gz` per topic, one message per line: p partition, o offset, ts timestamp (ms), h
headers, k key, v value (base64 or null).  The lines come partition by partition, in the order of offsets.
"""

import base64
import gzip
import heapq
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs
import cattrs

from ingest.errors import FixtureError
from ingest.names import SchemaId, Subject, Topic
from ingest.registry import Reference

T = TypeVar("T")
ENDING: Final = ".jsonl.gz"
PACKAGE: Final = Path(__file__).parents[1]


@attrs.frozen
class RecordedSchema:
    """One version of a subject.  `id` is the id inside the recorded payloads."""

    subject: Subject
    version: int
    id: SchemaId
    schema: str = ""
    references: tuple[Reference, ...] = ()


@attrs.frozen
class RecordedTopic:
    """One topic of a recording, and the file that holds its messages."""

    name: Topic
    partitions: int
    file: Path


@attrs.frozen
class Recording:
    """A folder of recorded topics.  If it has no schemas, its payloads hold no schema ids (JSON)."""

    folder: Path
    topics: tuple[RecordedTopic, ...]
    schemas: tuple[RecordedSchema, ...]


@attrs.frozen
class Message:
    """One recorded message.  `offset` is its offset in the recording."""

    partition: int
    offset: int
    timestamp_ms: int
    headers: tuple[tuple[str, bytes | None], ...]
    key: bytes | None
    value: bytes | None


@attrs.frozen
class _TopicEntry:
    name: Topic
    partitions: int


@attrs.frozen
class _Fixture:
    """The required part of `fixture.json`.  The rest, such as the origin, is for people."""

    topics: tuple[_TopicEntry, ...]
    schemas: tuple[RecordedSchema, ...]


@attrs.frozen
class _Manifest:
    """The part of a corpus's manifest.json that a load uses."""

    partitions: int | None = None


def sample_folder() -> Path:
    """Return the recording that a wheel brings, which is a fixture folder of a checkout."""
    packaged = PACKAGE / "sample"
    return packaged if packaged.is_dir() else PACKAGE.parent / "registry_fixtures" / "sqlserver"


def read_recording(folder: Path) -> Recording:
    """Read the topics and schemas of a folder, without the messages."""
    if (folder / "fixture.json").is_file():
        return _read_fixture(folder)
    if (folder / "topics").is_dir():
        return _read_corpus(folder)
    raise FixtureError(
        str(folder),
        "",
        "is not a fixture folder" if folder.is_dir() else "does not exist",
        "A fixture folder holds fixture.json and messages/, a corpus folder topics/ and registry.json",
    )


def _read_fixture(folder: Path) -> Recording:
    path = folder / "fixture.json"
    fixture = _structure(_read_json(path), _Fixture, path)
    topics = tuple(
        RecordedTopic(entry.name, entry.partitions, folder / "messages" / f"{entry.name}{ENDING}")
        for entry in fixture.topics
    )
    schemas = (attrs.evolve(schema, schema=_read_schema(folder, schema)) for schema in fixture.schemas)
    return Recording(folder, topics, tuple(schemas))


def _read_schema(folder: Path, schema: RecordedSchema) -> str:
    """Read a schema's text, compact as registries give it back: layout is for people."""
    path = folder / schema.subject / f"v{schema.version}.avsc"
    return json.dumps(_read_json(path), separators=(",", ":"), ensure_ascii=False)


def _read_corpus(folder: Path) -> Recording:
    registry, manifest = folder / "registry.json", folder / "manifest.json"
    dumped = _read_json(registry) if registry.exists() else []
    schemas = _structure(dumped, tuple[RecordedSchema, ...], registry)
    partitions: int | None = None
    if manifest.exists():
        partitions = _structure(_read_json(manifest), _Manifest, manifest).partitions
    topics = tuple(
        RecordedTopic(Topic(file.name.removesuffix(ENDING)), partitions or _count_partitions(file), file)
        for file in sorted((folder / "topics").glob(f"*{ENDING}"))
    )
    return Recording(folder, topics, schemas)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FixtureError(str(path), "", error.strerror or str(error)) from error
    except ValueError as error:
        raise FixtureError(str(path), "", f"is not JSON: {error}") from error


def _structure(value: Any, kind: type[T], path: Path) -> T:
    try:
        return cattrs.structure(value, kind)
    except (cattrs.BaseValidationError, ValueError, TypeError) as error:
        problems = cattrs.transform_error(error, path="")
        raise FixtureError(str(path), "", "; ".join(problems)) from error


def _count_partitions(file: Path) -> int:
    return 1 + max((message.partition for message in _read_file(file)), default=0)


def read_messages(topic: RecordedTopic) -> Iterator[Message]:
    """Stream a topic's messages in the order of their timestamps, each partition in its own order.

    A prefix of the topic is also a prefix of every partition, for any number of partitions.
    """
    if topic.partitions == 1:
        return _read_file(topic.file)
    streams = [_read_file(topic.file, partition) for partition in range(topic.partitions)]
    return heapq.merge(*streams, key=lambda message: message.timestamp_ms)


def _read_file(file: Path, partition: int | None = None) -> Iterator[Message]:
    number = 0
    try:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):  # noqa: B007 - the error names it
                entry = json.loads(line)
                if partition in {None, entry["p"]}:
                    yield _to_message(entry)
    except OSError as error:
        raise FixtureError(str(file), "", error.strerror or str(error)) from error
    except (ValueError, KeyError, TypeError, EOFError, zlib.error) as error:
        problem = f"is not a message: {type(error).__name__}: {error}"
        raise FixtureError(str(file), f"line {number}", problem) from error


def _to_message(entry: dict[str, Any]) -> Message:
    headers = tuple((name, _decode(value)) for name, value in entry["h"])
    return Message(
        partition=entry["p"],
        offset=entry["o"],
        timestamp_ms=entry["ts"],
        headers=headers,
        key=_decode(entry["k"]),
        value=_decode(entry["v"]),
    )


def _decode(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)
