"""Load recorded messages into a broker and their schemas into a registry, repeatable without duplicates."""

from collections.abc import Callable, Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import attrs
import httpx2  # the pinned client's transport, which raises its errors when no server answers
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from ingest.errors import RegistryRefusedError, RegistryUnreachableError, UsageError
from ingest.local.cut import Rewriting, Selection, cut, partition, select, skip_present
from ingest.local.fixture import RecordedSchema, Recording, read_messages, read_recording
from ingest.local.topics import connect, create_missing, produce, read_ends
from ingest.names import HEARTBEATS, SchemaId, Topic, first_few

CLIENT: Final[Mapping[str, Any]] = {"timeout": 30, "max.retries": 1}


@attrs.frozen
class TopicLoad:
    """The result of a load for one topic."""

    topic: Topic
    partitions: int
    produced: int
    held_before: int


@attrs.frozen
class Loaded:
    """The result of a load: topics in the order of the recording, and the number of schema versions."""

    topics: tuple[TopicLoad, ...]
    schemas: int

    @property
    def produced(self) -> int:
        """The number of messages produced, over all topics."""
        return sum(topic.produced for topic in self.topics)


@attrs.frozen
class LoadOptions:
    """The options of a load.  `rename` is (old prefix, new prefix) of topics and subjects.

    None keeps the recording's value.
    """

    topics: tuple[str, ...] = ()
    partitions: int | None = None
    rename: tuple[str, str] | None = None
    versions: int | None = None
    limit: int | None = None

    def new_name(self, name: str) -> str:
        """Return the new name of a topic or subject.  In heartbeat topics the prefix follows Debezium's."""
        if self.rename is None:
            return name
        old, new = self.rename
        heartbeats = f"{HEARTBEATS}." if name.startswith(f"{HEARTBEATS}.") else ""
        rest_of_name = name.removeprefix(heartbeats)
        return heartbeats + new + rest_of_name.removeprefix(old) if rest_of_name.startswith(old) else name


def load(
    folder: Path,
    bootstrap_servers: str,
    registry_url: str,
    options: LoadOptions = LoadOptions(),
    progress: Callable[[Topic], None] = lambda _: None,
) -> Loaded:
    """Register a folder's schemas and produce the messages that the topics do not hold yet.

    A recording of JSON has no schemas and needs no registry.
    """
    _check(options)
    recording = read_recording(folder)
    chosen = select(recording, options.topics, options.versions)
    _check_versions(recording, options)
    _check_rename(chosen, options)
    admin = connect(bootstrap_servers)
    ids = register_schemas(chosen.schemas, registry_url.rstrip("/"), options.new_name)
    rewriting = Rewriting(ids, frozenset(schema.subject for schema in recording.schemas))
    counts = {topic.name: options.partitions or topic.partitions for topic in chosen.topics}
    create_missing(admin, {options.new_name(name): count for name, count in counts.items()})
    loads = []
    for topic in chosen.topics:
        name, count = Topic(options.new_name(topic.name)), counts[topic.name]
        progress(name)
        ends = read_ends(admin, name, count)
        due = cut(read_messages(topic), chosen.later, options.limit)
        rewritten = (rewriting.rewrite(topic, message) for message in due)
        partitioned = partition(rewritten, topic.partitions, count)
        produced = produce(bootstrap_servers, name, skip_present(partitioned, ends))
        loads.append(TopicLoad(name, count, produced, sum(ends.values())))
    return Loaded(tuple(loads), len(chosen.schemas))


def _check(options: LoadOptions) -> None:
    for flag, number, least in (
        ("--partitions", options.partitions, 1),
        ("--versions", options.versions, 1),
        ("--limit", options.limit, 0),
    ):
        if number is not None and number < least:
            raise UsageError(f"{flag} {number} is too small; allowed: {least} or more")


def _check_versions(recording: Recording, options: LoadOptions) -> None:
    if options.versions is not None and not recording.schemas:
        raise UsageError(f"--versions: {recording.folder} has no schemas, its messages hold their own")


def _check_rename(chosen: Selection, options: LoadOptions) -> None:
    if options.rename and not any(t.name.startswith(options.rename[0]) for t in chosen.topics):
        names = first_few([topic.name for topic in chosen.topics], 10)
        raise UsageError(f"--rename: no topic starts with {options.rename[0]}", f"They are {names}")


def register_schemas(
    schemas: Sequence[RecordedSchema], registry_url: str, rename: Callable[[str], str]
) -> dict[SchemaId, SchemaId]:
    """Register schemas under renamed subjects.  Return the registry's id for each recorded id."""
    if not schemas:
        return {}
    with SchemaRegistryClient({"url": registry_url, **CLIENT}) as client:
        return {
            schema.id: _register(client, schema, registry_url, rename) for schema in order_schemas(schemas)
        }


def order_schemas(schemas: Sequence[RecordedSchema]) -> list[RecordedSchema]:
    """Order schemas so that each follows its subject's earlier versions and its references."""
    by_version = {(schema.subject, schema.version): schema for schema in schemas}
    sorter: TopologicalSorter[tuple[str, int]] = TopologicalSorter()
    for _, versions in groupby(sorted(by_version), key=lambda version: version[0]):
        before: list[tuple[str, int]] = []
        for version in versions:
            referred = [(ref.subject, ref.version) for ref in by_version[version].references]
            sorter.add(version, *before, *referred)
            before = [version]
    return [by_version[version] for version in sorter.static_order() if version in by_version]


def _register(
    client: SchemaRegistryClient, schema: RecordedSchema, registry_url: str, rename: Callable[[str], str]
) -> SchemaId:
    subject = rename(schema.subject)
    references = [SchemaReference(ref.name, rename(ref.subject), ref.version) for ref in schema.references]
    try:
        return SchemaId(client.register_schema(subject, Schema(schema.schema, "AVRO", references)))
    except SchemaRegistryError as error:
        request = f"registering {subject} version {schema.version}"
        raise RegistryRefusedError(
            registry_url, request, error.http_status_code, error.error_message
        ) from error
    except httpx2.HTTPError as error:
        raise RegistryUnreachableError(registry_url, str(error)) from error
