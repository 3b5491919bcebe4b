"""A folder answers like a registry."""

import json
from pathlib import Path

import pytest

from ingest.errors import SchemaError, SchemaNotFoundError, SettingsError, UsageError
from ingest.names import SchemaId, Subject
from ingest.registry import FolderRegistry, Reference, deleted_versions, open_registry, versions_in_order
from ingest.settings import RegistrySettings

KEY = '{"type": "record", "name": "Key", "fields": [{"name": "id", "type": "int"}]}'
V1 = '{"type": "record", "name": "Envelope", "fields": []}'
V2 = '{"type": "record", "name": "Envelope", "fields": [], "doc": "2"}'
TEXTS = {("s.t-key", 1): KEY, ("s.t-value", 1): V1, ("s.t-value", 2): V2, ("s.u-value", 1): V1}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write two topics, one of them without a key, as bare files."""
    for (subject, version), text in TEXTS.items():
        (tmp_path / subject).mkdir(exist_ok=True)
        (tmp_path / subject / f"v{version}.avsc").write_text(text)
    return tmp_path


def _entries(**more: object) -> list[dict[str, object]]:
    return [
        {"subject": subject, "version": version, "id": 100 + number, **more}
        for number, (subject, version) in enumerate(TEXTS)
    ]


def test_files_alone_are_numbered_by_subject_and_version(folder: Path) -> None:
    """Without recorded ids the order decides, so that it is the same everywhere."""
    registry = FolderRegistry(folder)
    ids = [registry.version(Subject(s), v).id for s, v in TEXTS]
    assert ids == [1, 2, 3, 4]
    assert registry.by_id(SchemaId(3)).schema_text == V2


def test_version_ten_comes_after_version_nine(tmp_path: Path) -> None:
    """Versions are numbers, not names."""
    (tmp_path / "s-value").mkdir()
    for version in range(1, 11):
        (tmp_path / "s-value" / f"v{version}.avsc").write_text(f'"{version}"')
    registry = FolderRegistry(tmp_path)
    assert registry.versions(Subject("s-value")) == tuple(range(1, 11))
    assert registry.latest(Subject("s-value")).schema_text == '"10"'


def test_recorded_ids_are_kept(folder: Path) -> None:
    """fixture.json says which ids the recorded messages carry."""
    (folder / "fixture.json").write_text(json.dumps({"origin": "x", "schemas": _entries()}))
    registry = FolderRegistry(folder)
    assert registry.version(Subject("s.t-value"), 2).id == 102
    assert registry.by_id(SchemaId(102)).schema_text == V2


def test_a_corpus_with_texts_inside_is_read(tmp_path: Path) -> None:
    """registry.json holds everything in one file."""
    entries = [
        {"subject": subject, "version": version, "id": 7 * version, "schema": text}
        for (subject, version), text in TEXTS.items()
        if subject == "s.t-value"
    ]
    (tmp_path / "registry.json").write_text(json.dumps(entries))
    registry = FolderRegistry(tmp_path)
    assert registry.latest(Subject("s.t-value")).id == 14
    assert registry.subjects() == ("s.t-value",)


def test_versions_in_order_end_with_the_latest(folder: Path) -> None:
    """A folder has no deleted ones, and the error of a subject that is not there is its own."""
    registry = FolderRegistry(folder)
    assert versions_in_order(registry, Subject("s.t-value")) == (1, 2)
    assert deleted_versions(registry, Subject("s.t-value")) == frozenset()
    with pytest.raises(SchemaNotFoundError, match=r"subject s\.x-value does not exist"):
        versions_in_order(registry, Subject("s.x-value"))


def test_references_come_before_their_users_and_once(tmp_path: Path) -> None:
    """A diamond of references: the shared one is first and not repeated."""
    uses = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
    entries = [
        {
            "subject": name,
            "version": 1,
            "id": number,
            "schema": f'"{name}"',
            "references": [{"name": n, "subject": n, "version": 1} for n in used],
        }
        for number, (name, used) in enumerate(uses.items(), start=1)
    ]
    (tmp_path / "registry.json").write_text(json.dumps(entries))
    registry = FolderRegistry(tmp_path)
    top = registry.latest(Subject("d"))
    assert top.references[0] == Reference("b", Subject("b"), 1)
    assert registry.with_references(top) == ('"a"', '"b"', '"c"', '"d"')
    assert registry.with_references(registry.by_id(top.id)) == registry.with_references(top)


def test_what_is_missing_is_named(folder: Path) -> None:
    """Each error names the folder and the missing item."""
    registry = FolderRegistry(folder)
    with pytest.raises(SchemaNotFoundError, match="subject nope does not exist"):
        registry.versions(Subject("nope"))
    with pytest.raises(SchemaNotFoundError, match=r"subject s\.t-value version 3 does not exist"):
        registry.version(Subject("s.t-value"), 3)
    with pytest.raises(SchemaNotFoundError, match="schema id 99 does not exist"):
        registry.by_id(SchemaId(99))
    with pytest.raises(SchemaNotFoundError, match=r"folder .*/gone"):
        FolderRegistry(folder / "gone")


def test_a_text_that_fixture_json_names_must_be_there(folder: Path) -> None:
    """A recorded version without its file is an error when the folder is opened."""
    (folder / "fixture.json").write_text(json.dumps({"schemas": _entries()}))
    (folder / "s.t-value" / "v2.avsc").unlink()
    with pytest.raises(SchemaNotFoundError, match=r"s\.t-value/v2\.avsc"):
        FolderRegistry(folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "schemas: is not a list"),
        ('{"schemas": [{"subject": "s", "version": "1"}]}', r"schemas\[0\]\.version: found '1'"),
        ('{"schemas": [1]}', "is not a list of objects"),
    ],
)
def test_a_broken_fixture_json_is_named_with_the_place(tmp_path: Path, text: str, said: str) -> None:
    """No entry is skipped silently."""
    (tmp_path / "fixture.json").write_text(text)
    with pytest.raises(SchemaError, match=said) as caught:
        FolderRegistry(tmp_path)
    assert "fixture.json" in str(caught.value)


def test_a_folder_takes_no_schemas(folder: Path) -> None:
    """Registering is refused, and nothing is checked."""
    registry = FolderRegistry(folder)
    with pytest.raises(UsageError, match="read-only"):
        registry.register(Subject("s.t-value"), V1)
    assert registry.compatibility(Subject("s.t-value")) == "NONE"
    assert registry.compatible(Subject("s.t-value"), V1).compatible
    assert registry.compatible(Subject("s.t-value"), V1, version=2).compatible
    with pytest.raises(SchemaNotFoundError, match="version 3 does not exist"):
        registry.compatible(Subject("s.t-value"), V1, version=3)


def test_a_registry_opens_from_a_folder_by_url_or_path(folder: Path) -> None:
    """Both `file:` and a bare folder path mean the folder."""
    for url in (f"file:{folder}", f"file://{folder}", str(folder)):
        registry = open_registry(RegistrySettings(url=url))
        assert registry.subjects("s.t-*") == ("s.t-key", "s.t-value")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("file:/nowhere/at/all", "is not a folder"),
        ("localhost:8081", "is neither http"),
        ("ftp://u:geheim@h", r"'ftp://\*\*\*@h' is neither"),
        ("http://[", "registry"),
    ],
)
def test_a_registry_url_that_leads_nowhere_is_a_settings_error(url: str, said: str) -> None:
    """It is found before anything is asked."""
    with pytest.raises(SettingsError, match=said):
        open_registry(RegistrySettings(url=url))


def test_without_a_registry_only_a_query_fails() -> None:
    """JSON topics ask nothing."""
    registry = open_registry(RegistrySettings(url=""))
    with pytest.raises(SettingsError, match="is not set"):
        registry.subjects()
    registry.close()
