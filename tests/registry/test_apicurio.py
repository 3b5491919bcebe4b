"""The client against the real registry, Apicurio behind Confluent's API."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from ingest.errors import RegistryRefusedError, SchemaNotFoundError
from ingest.names import SchemaId, Subject, Topic
from ingest.registry import FolderRegistry, Reference, Registry, fetch_pair, open_registry
from ingest.settings import RegistrySettings

pytestmark = pytest.mark.servers

FIXTURE = Path(__file__).parents[2] / "registry_fixtures" / "sqlserver"


def _record(name: str, **fields: object) -> str:
    """Write a record schema whose name is nobody else's, so that its id is its own."""
    listed = [{"name": field, "type": kind} for field, kind in fields.items()]
    return json.dumps({"type": "record", "name": name, "fields": listed}, separators=(",", ":"))


@pytest.fixture
def registry(servers: Any) -> Iterator[Registry]:
    """Open the session's registry."""
    opened = open_registry(RegistrySettings(url=servers.registry_url))
    yield opened
    opened.close()


@pytest.fixture
def name() -> str:
    """Make a name that no other test uses."""
    return f"r{uuid.uuid4().hex[:10]}"


def test_recorded_schemas_go_in_and_come_out_the_same(registry: Registry, name: str) -> None:
    """Folder and server answer alike, apart from the ids."""
    folder = FolderRegistry(FIXTURE)
    values = folder.subjects("*customers-value") + folder.subjects("*customers-key")
    for subject in values:
        for number in folder.versions(subject):
            recorded = folder.version(subject, number)
            registry.register(Subject(f"{name}.{subject}"), recorded.schema_text)
    assert registry.subjects(f"{name}.*-value") == (f"{name}.{values[0]}",)
    topic = Topic(values[0].removesuffix("-value"))
    here, there = fetch_pair(folder, topic), fetch_pair(registry, Topic(f"{name}.{topic}"))
    assert there.value.version == here.value.version
    assert json.loads(there.value.schema_text) == json.loads(here.value.schema_text)
    assert registry.by_id(there.value.id).schema_text == there.value.schema_text


def test_registering_the_same_again_gives_the_same_id(registry: Registry, name: str) -> None:
    """One id for one content, under several subjects too."""
    text = _record(name, a="int")
    ids = {registry.register(Subject(f"{name}{side}"), text) for side in ("-key", "-value", "-key")}
    assert len(ids) == 1


def test_an_incompatible_version_is_refused_with_the_reason(registry: Registry, name: str) -> None:
    """BACKWARD is enforced; the check alone says no without reasons (Apicurio)."""
    subject = Subject(f"{name}-value")
    registry.register(subject, _record(name, a="int"))
    assert registry.compatibility(subject) == "BACKWARD"
    assert registry.compatible(subject, _record(name, a="long")).compatible
    assert not registry.compatible(subject, _record(name, a="string")).compatible
    with pytest.raises(RegistryRefusedError, match=r"HTTP 409.*STRING not compatible"):
        registry.register(subject, _record(name, a="string"))


def test_a_subject_that_is_not_there_takes_any_schema(registry: Registry, name: str) -> None:
    """And has the global level."""
    assert registry.compatible(Subject(name), _record(name)).compatible
    assert registry.compatibility(Subject(name)) == "BACKWARD"


def test_rubbish_is_refused(registry: Registry, name: str) -> None:
    """422 is the registry's no to what is no schema."""
    with pytest.raises(RegistryRefusedError, match="HTTP 422"):
        registry.register(Subject(f"{name}-value"), '{"type": "nonsense"')


def test_references_come_back_in_order(registry: Registry, name: str) -> None:
    """By version and by id alike, through two levels."""
    inner, middle = _record(f"{name}A", a="int"), _record(f"{name}B", a=f"{name}A")
    outer = _record(f"{name}C", a=f"{name}A", b=f"{name}B")
    to_inner = Reference(f"{name}A", Subject(f"{name}-inner"), 1)
    to_middle = Reference(f"{name}B", Subject(f"{name}-middle"), 1)
    registry.register(to_inner.subject, inner)
    registry.register(to_middle.subject, middle, (to_inner,))
    outer_id = registry.register(Subject(f"{name}-value"), outer, (to_middle, to_inner))
    latest = registry.latest(Subject(f"{name}-value"))
    assert set(latest.references) == {to_inner, to_middle}
    assert registry.with_references(latest) == (inner, middle, outer)
    assert registry.with_references(registry.by_id(outer_id)) == (inner, middle, outer)


def test_what_is_missing_is_named(registry: Registry, name: str) -> None:
    """Subject, version and id have codes of their own; -1 is the latest."""
    subject = Subject(f"{name}-value")
    with pytest.raises(SchemaNotFoundError, match=f"subject {subject} does not exist"):
        registry.latest(subject)
    registry.register(subject, _record(name))
    for number in (0, 2):
        with pytest.raises(SchemaNotFoundError, match=f"version {number} does not exist"):
            registry.version(subject, number)
    assert registry.version(subject, -1).version == 1
    with pytest.raises(SchemaNotFoundError, match="schema id 2000000000 does not exist"):
        registry.by_id(SchemaId(2_000_000_000))


def test_soft_deleted_versions_still_resolve(servers: Any, registry: Registry, name: str) -> None:
    """Old messages carry their ids for ever; lists leave them out unless asked."""
    subject = Subject(f"{name}-value")
    first = registry.register(subject, _record(name, a="int"))
    registry.register(subject, _record(name, a="long"))
    with SchemaRegistryClient({"url": servers.registry_url}) as client:
        client.delete_version(subject, 1)
        assert registry.versions(subject) == (2,)
        assert registry.versions(subject, deleted=True) == (1, 2)
        assert registry.version(subject, 1).id == first
        client.delete_subject(subject)
    assert subject not in registry.subjects(f"{name}*")
    with pytest.raises(SchemaNotFoundError):
        registry.latest(subject)
    assert json.loads(registry.by_id(first).schema_text) == json.loads(_record(name, a="int"))


def test_a_server_that_is_down_is_passed_over(servers: Any, name: str) -> None:
    """The second address answers."""
    settings = RegistrySettings(url=f"http://127.0.0.1:1, {servers.registry_url}", retries=0)
    assert open_registry(settings).subjects(f"{name}*") == ()


def test_a_url_without_the_apis_path_is_explained(servers: Any) -> None:
    """The address of Apicurio's web page is not that of its API."""
    root = servers.registry_url.partition("/apis")[0]
    with pytest.raises(RegistryRefusedError, match="no such path"):
        open_registry(RegistrySettings(url=root)).subjects()
