"""Recorded topics, compiled as in a run, with the schemas for an independent decoder."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import attrs
import fastavro

from ingest.compile.envelope import classify
from ingest.compile.payload import WriterSchema
from ingest.compile.table import CompiledTable, compile_table
from ingest.errors import IngestError
from ingest.local.fixture import read_messages, read_recording
from ingest.masking import Masking
from ingest.names import Subject, Topic
from ingest.registry import FolderRegistry
from ingest.run.batch.messages import written_in
from ingest.run.batch.schemas import fetch_versions
from ingest.tables import Subjects, TableConfig, feeds
from tests.e2e.forms import make_flattened
from tests.e2e.forms.flattened import Mode
from tests.e2e.recordings import POSTGRES, SQLSERVER_JSON, Recording
from tests.e2e.referee.shape import Shape, of_avro, of_connect

FIXTURES: Final = Path(__file__).parents[1] / "registry_fixtures"
RECORDINGS: Final[Mapping[str, tuple[str, str]]] = {
    "sqlserver": ("sqlserver", "avro"),
    "postgres": ("postgres", "avro"),
    "oracle": ("oracle", "avro"),
    "mongodb": ("mongodb", "avro"),
    "mysql": ("mysql", "avro"),
    "sqlserver-json": ("sqlserver", "debezium-json"),
    "postgres-json": ("postgres", "debezium-json"),
    "cdl": ("cdl", "cdl-json"),
}
"""Dialect and format of each recording."""
FLATTENED: Final[Mapping[str, tuple[Recording, Mode, tuple[str, ...]]]] = {
    "postgres-rewrite": (POSTGRES, "rewrite-with-tombstone", ("all_types", "docs")),
    "postgres-tombstone": (POSTGRES, "tombstone", ("customers", "order_lines")),
    "sqlserver-json-rewrite": (SQLSERVER_JSON, "rewrite-with-tombstone", ("all_types", "customers")),
}
"""Recordings whose rows are flattened, the kind of their deletes, and the tables."""
MOST: Final = 400
"""Messages of a topic that are mutated, spread over all of it."""

Message = tuple[bytes | None, bytes | None]


@attrs.frozen
class Corpus:
    """One topic: its messages, compiled table, and schemas by the id or the text that its payloads name."""

    name: str
    compiled: CompiledTable
    messages: tuple[Message, ...]
    schemas: Mapping[int, Any]
    shapes: Mapping[int, Shape]
    kinds: Mapping[int, str] = attrs.field(factory=dict)
    """The kind of message of each schema of another topic, which a corrupt schema id may name."""

    @property
    def is_avro(self) -> bool:
        """Return whether payloads are Avro."""
        return self.compiled.table.format == "avro"


@attrs.frozen
class _Folder:
    """A recording: its folder, and the dialect and the format of its topics."""

    name: str
    path: Path
    dialect: Any
    format: Any


def corpora(names: tuple[str, ...] = ()) -> Iterator[Corpus]:
    """Load every topic of recorded changes, or only the named ones."""
    with TemporaryDirectory(prefix="torture-flattened-") as made:
        for folder in _folders(Path(made), names):
            for topic in read_recording(folder.path).topics:
                name = f"{folder.name}:{topic.name}"
                if names and not any(name.startswith(item) for item in names):
                    continue
                pairs = [
                    (read_message.key, read_message.value)
                    for read_message in read_messages(topic)
                    if read_message.value is not None
                ]
                messages = tuple(pairs[:: max(1, len(pairs) // MOST)])
                try:
                    if folder.format == "avro":
                        yield _avro(name, folder, topic.name, messages)
                    else:
                        yield _json(name, folder, topic.name, messages)
                except IngestError as error:  # heartbeats, transactions and the like are no tables
                    print(f"     {name}: left out, {str(error).splitlines()[0]}", flush=True)


def _folders(made: Path, names: tuple[str, ...]) -> Iterator[_Folder]:
    """Give the recordings, and make those of flattened rows in a folder."""
    wanted = {name.partition(":")[0] for name in names} or {*RECORDINGS, *FLATTENED}
    for name, (dialect, format_) in RECORDINGS.items():
        if name in wanted:
            yield _Folder(name, FIXTURES / name, dialect, format_)
    for name, (recording, mode, tables) in FLATTENED.items():
        if name in wanted:
            flat = make_flattened(made / name, recording, mode, tables)
            yield _Folder(name, flat.folder, recording.source, recording.format)


def _avro(name: str, folder: _Folder, topic: str, messages: tuple[Message, ...]) -> Corpus:
    registry = FolderRegistry(folder.path)
    subjects = Subjects(key=Subject(f"{topic}-key"), value=Subject(f"{topic}-value"))
    existing = set(registry.subjects())
    if subjects.key not in existing:
        subjects = attrs.evolve(subjects, key=None)
    table = TableConfig(name="t", topic=Topic(topic), dialect=folder.dialect, subjects=subjects)
    assert subjects.value
    keys = fetch_versions(registry, subjects.key) if subjects.key else ()
    values = fetch_versions(registry, subjects.value)
    schemas = {}
    rest = _others(registry, topic)
    kinds = {int(other.schema_id): classify(other.schema) for other in rest}
    read = [subject for subject in (subjects.key, subjects.value) if subject]
    for subject in (*read, *(item for item in registry.subjects() if item.endswith("-value"))):
        for version in registry.versions(subject):
            item = registry.version(subject, version)
            if subject in read or int(item.id) in kinds:
                schemas[int(item.id)] = json.loads(item.schema_text)
    shapes = {number: of_avro(schema) for number, schema in schemas.items()}
    parsed = {number: fastavro.parse_schema(physical(schema)) for number, schema in schemas.items()}
    compiled = compile_table(feeds(table, Masking())[0], keys, (*rest, *values))
    return Corpus(name, compiled, messages, parsed, shapes, kinds)


def _others(registry: FolderRegistry, topic: str) -> tuple[WriterSchema, ...]:
    """Return the schemas of the connector's other messages: transactions, schema changes, heartbeats."""
    subjects = [item for item in registry.subjects() if item.endswith("-value") and item != f"{topic}-value"]
    versions = [fetch_version for subject in subjects for fetch_version in fetch_versions(registry, subject)]
    return tuple(
        attrs.evolve(version, version=0)
        for version in versions
        if classify(version.schema) not in ("data", "foreign")
    )


def _json(name: str, folder: _Folder, topic: str, messages: tuple[Message, ...]) -> Corpus:
    keys = written_in((key for key, _ in messages), "keys")
    values = written_in((value for _, value in messages), "values")
    table = TableConfig(name="t", topic=Topic(topic), dialect=folder.dialect, format=folder.format)
    return Corpus(name, compile_table(feeds(table, Masking())[0], keys, values), messages, {}, {})


def json_shape(node: Any) -> Shape:
    """Return the shape of a Connect schema."""
    return of_connect(json.dumps(node))


def physical(schema: Any) -> Any:
    """Drop the annotations that fastavro would convert or refuse, such as Oracle's negative scales."""
    if isinstance(schema, list):
        return [physical(part) for part in schema]
    if isinstance(schema, dict):
        dropped = {"logicalType", "scale", "precision"}
        return {k: v if k == "default" else physical(v) for k, v in schema.items() if k not in dropped}
    return schema
