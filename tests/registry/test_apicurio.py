"""The client against the real registry, Apicurio behind Confluent's API."""

import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from ingest.errors import RegistryRefusedError, SchemaNotFoundError
from ingest.names import SchemaId, Subject
from ingest.registry import (
    CompatibilityResult,
    FolderRegistry,
    Reference,
    Registry,
    deleted_versions,
    open_registry,
    versions_in_order,
)
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
    for subject in values:
        here, present = folder.latest(subject), registry.latest(Subject(f"{name}.{subject}"))
        assert present.version == here.version
        assert json.loads(present.schema_text) == json.loads(here.schema_text)
        assert registry.by_id(present.id).schema_text == present.schema_text


def test_registering_the_same_again_gives_the_same_id(registry: Registry, name: str) -> None:
    """One id for one content, under several subjects too."""
    text = _record(name, a="int")
    ids = {registry.register(Subject(f"{name}{side}"), text) for side in ("-key", "-value", "-key")}
    assert len(ids) == 1


def test_an_incompatible_version_is_refused_with_the_reason(registry: Registry, name: str) -> None:
    """BACKWARD is enforced; the check has the same reason, and registers nothing."""
    subject = Subject(f"{name}-value")
    registry.register(subject, _record(name, a="int"))
    assert registry.compatibility(subject) == "BACKWARD"
    assert registry.compatible(subject, _record(name, a="long")).compatible
    reason = "reader type: STRING not compatible with writer type: INT at /fields/0/type"
    assert registry.compatible(subject, _record(name, a="string")) == CompatibilityResult(False, (reason,))  # noqa: FBT003 - a value
    assert registry.versions(subject, deleted=True) == (1,)
    with pytest.raises(RegistryRefusedError, match=r"HTTP 409.*STRING not compatible"):
        registry.register(subject, _record(name, a="string"))


def test_a_schema_is_checked_against_any_version(registry: Registry, name: str) -> None:
    """What it would have said then: int follows int, though not the long of today."""
    subject = Subject(f"{name}-value")
    for kind in ("int", "long"):
        registry.register(subject, _record(name, a=kind))
    assert registry.compatible(subject, _record(name, a="int"), version=1).compatible
    assert not registry.compatible(subject, _record(name, a="int"), version=2).compatible
    assert not registry.compatible(subject, _record(name, a="int")).compatible
    for missing in (3, 0):
        with pytest.raises(SchemaNotFoundError, match=f"{subject} version {missing} does not exist"):
            registry.compatible(subject, _record(name, a="int"), version=missing)


def test_a_transitive_level_asks_for_all_versions(servers: Any, registry: Registry, name: str) -> None:
    """What follows the latest may not follow an older one; the reason is that one's."""
    subject = Subject(f"{name}-value")
    with SchemaRegistryClient({"url": servers.registry_url}) as client:
        registry.register(subject, _record(name, a="string"))
        client.set_compatibility(subject, level="NONE")
        registry.register(subject, _record(name, a="int"))
        client.set_compatibility(subject, level="BACKWARD")
        assert registry.compatible(subject, _record(name, a="long")).compatible
        client.set_compatibility(subject, level="BACKWARD_TRANSITIVE")
    text = registry.compatible(subject, _record(name, a="long"))
    assert not text.compatible
    assert "LONG not compatible with writer type: STRING" in " ".join(text.messages)
    assert registry.compatible(subject, _record(name, a="long"), version=2).compatible


def test_a_subject_that_is_not_there_takes_any_schema(registry: Registry, name: str) -> None:
    """And has the global level."""
    assert registry.compatible(Subject(name), _record(name)).compatible
    assert registry.compatibility(Subject(name)) == "BACKWARD"


def test_an_invalid_schema_is_refused(registry: Registry, name: str) -> None:
    """The registry answers 422 to an invalid schema."""
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


def test_a_schema_with_references_is_checked(registry: Registry, name: str) -> None:
    """Against the latest: Apicurio's check does not resolve references, so a registration is tried."""
    inner = Reference(f"{name}A", Subject(f"{name}-inner"), 1)
    registry.register(inner.subject, _record(inner.name, a="int"))
    subject = Subject(f"{name}-value")
    registry.register(subject, _record(name, a=inner.name), (inner,))
    extra = _record(name, a=inner.name, b="int")
    assert registry.compatible(subject, _record(name, a=inner.name), (inner,)).compatible
    assert registry.compatible(subject, extra, (inner,)) == CompatibilityResult(False, ("b at /fields/1",))  # noqa: FBT003 - a value
    with pytest.raises(RegistryRefusedError, match="HTTP 422"):
        registry.compatible(subject, _record(name, a="Nowhere"))
    with pytest.raises(RegistryRefusedError, match="HTTP 422"):
        registry.compatible(subject, extra, (inner,), version=1)
    assert registry.versions(subject, deleted=True) == (1,)


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
    """Old messages carry their ids permanently; lists leave them out unless asked."""
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


def test_the_latest_moves_backwards_when_the_newest_is_deleted(
    servers: Any, registry: Registry, name: str
) -> None:
    """The next version follows the one that is left, and gets a number of its own."""
    subject = Subject(f"{name}-value")
    ids = [registry.register(subject, _record(name, a=kind)) for kind in ("int", "long")]
    assert registry.latest(subject).id == ids[1]
    with SchemaRegistryClient({"url": servers.registry_url}) as client:
        client.delete_version(subject, 2)
    assert registry.latest(subject).id == ids[0]
    assert deleted_versions(registry, subject) == {2}
    assert versions_in_order(registry, subject) == (2, 1)
    assert (registry.version(subject, 2).id, registry.by_id(ids[1]).id) == (ids[1], ids[1])
    registry.register(subject, _record(name, a="float"))
    assert registry.versions(subject) == (1, 3)
    assert versions_in_order(registry, subject) == (2, 1, 3)


def test_all_versions_of_a_deleted_subject_are_deleted(servers: Any, registry: Registry, name: str) -> None:
    """Its messages can still be read."""
    subject = Subject(f"{name}-value")
    registry.register(subject, _record(name, a="int"))
    with SchemaRegistryClient({"url": servers.registry_url}) as client:
        client.delete_subject(subject)
    assert deleted_versions(registry, subject) == {1}
    assert versions_in_order(registry, subject) == (1,)


def test_the_newest_versions_come_in_one_list(servers: Any, registry: Registry, name: str) -> None:
    """As each subject's own answers have them, with deleted versions.  A deleted subject is asked for."""
    subjects = [Subject(f"{name}-{number}-value") for number in range(5)]
    for number, subject in enumerate(subjects):
        for kind in ("int", "long", "float")[: number + 1]:
            registry.register(subject, _record(name, a=kind))
    with SchemaRegistryClient({"url": servers.registry_url}) as client:
        client.delete_version(subjects[2], 3)
        client.delete_subject(subjects[3])
    every = registry.subjects()
    newest = registry.newest([*every, subjects[3], Subject(f"{name}-missing-value")])
    assert set(newest) == set(every)
    for subject in set(subjects) - {subjects[3]}:
        numbers = registry.versions(subject, deleted=True)
        assert newest[subject].id == registry.version(subject, numbers[-1]).id
        assert newest[subject].is_only == (len(numbers) == 1)


def test_a_server_that_is_down_is_passed_over(servers: Any, name: str) -> None:
    """The second address answers."""
    settings = RegistrySettings(url=f"http://127.0.0.1:1, {servers.registry_url}", retries=0)
    assert open_registry(settings).subjects(f"{name}*") == ()


def test_a_url_without_the_apis_path_is_explained(servers: Any) -> None:
    """The address of Apicurio's web page is not that of its API."""
    root = servers.registry_url.partition("/apis")[0]
    with pytest.raises(RegistryRefusedError, match="the path does not exist"):
        open_registry(RegistrySettings(url=root)).subjects()


def test_more_subjects_than_a_page_are_all_listed(registry: Registry, name: str) -> None:
    """Apicurio answers with 1,000 names where no limit is given, and with 1,000 versions at any limit."""
    subjects = [Subject(f"{name}.{number:04d}-value") for number in range(1_010)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda subject: registry.register(subject, '"string"'), subjects))
    assert registry.subjects(f"{name}.*") == tuple(subjects)
    assert set(registry.newest(subjects)) == set(subjects)


def test_ids_of_one_kind_do_not_hide_those_of_another(registry: Registry, name: str) -> None:
    """Two tables may read a version by different framings."""
    subject = Subject(f"{name}-value")
    registry.register(subject, _record(name, a="int"))
    version = registry.version(subject, 1)
    with pytest.raises(SchemaNotFoundError, match="GUID"):
        registry.frame_ids(version, frozenset({"GUID"}))
    assert [found.kind for found in registry.frame_ids(version, frozenset({"globalId"}))] == ["globalId"]
