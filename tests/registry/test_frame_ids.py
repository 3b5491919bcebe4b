"""The ids by which framings name schemas: of Confluent's answers, a folder, and Glue's recorded answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import SchemaError, SchemaNotFoundError
from ingest.names import SchemaId, Subject
from ingest.registry import FolderRegistry, FrameId, Registered, open_registry
from ingest.settings import RegistrySettings

GUID = "8b2e4c9c-4d3a-4f1c-9a51-0d8f6f1f3a11"
GLUE = "b7b4a7f0-9c24-4e96-a55b-dffb0a02d8cc"
SUBJECT = Subject("t-value")
KINDS = frozenset({"id", "GUID"})


def play(asked: Any) -> tuple[int, Any]:
    """Answer as Confluent Platform 8 does (schema-registry 8.5.0: Schema, ContextId)."""
    answers = {
        "/subjects/t-value/versions/1": {
            "subject": "t-value", "version": 1, "id": 7, "guid": GUID.upper(), "schema": '"int"'
        },
        f"/schemas/guids/{GUID}/ids": [{"context": ".other", "id": 3}, {"context": ".", "id": 7}],
        "/schemas/ids/7": {"schema": '"int"'},
    }  # fmt: skip
    path = asked.path.partition("?")[0]
    return (200, answers[path]) if path in answers else (404, {"error_code": 40403, "message": "not found"})


def test_confluents_guids_come_with_the_versions_and_are_found_by_themselves(stage: Any) -> None:
    """In the default context, whose ids are those of the subject's versions."""
    registry = open_registry(RegistrySettings(url=stage(play).url, retries=0))
    version = registry.version(SUBJECT, 1)
    assert registry.frame_ids(version, KINDS) == (FrameId("GUID", GUID),)
    assert registry.frame_ids(version, frozenset({"id"})) == ()
    assert registry.by_frame_id(FrameId("GUID", GUID)).id == 7
    with pytest.raises(SchemaNotFoundError, match="GUID 00000000"):
        registry.by_frame_id(FrameId("GUID", "00000000-0000-0000-0000-000000000000"))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("GUID", "Confluent Platform 8.0"),
        ("globalId", "/apis/ccompat/v7"),
        ("schemaVersionId", "Record Glue's answers in a folder"),
    ],
)
def test_a_registry_that_lacks_a_kind_of_id_is_refused_by_name(stage: Any, kind: Any, text: str) -> None:
    """With the registry that has it."""
    registry = open_registry(RegistrySettings(url=stage(lambda _: (404, {})).url, retries=0))
    version = Registered(SUBJECT, 1, SchemaId(7), '"int"')
    with pytest.raises(SchemaNotFoundError, match=f"the {kind} of subject t-value version 1") as caught:
        registry.frame_ids(version, frozenset({kind}))
    assert text in str(caught.value)
    with pytest.raises(SchemaNotFoundError):
        registry.by_frame_id(FrameId(kind, "1"))


def test_a_folder_holds_ids_of_other_framings(tmp_path: Path) -> None:
    """Next to the schema's own id."""
    entry = {"subject": "t-value", "version": 1, "id": 7, "schema": '"int"', "guid": GUID, "content_id": "12"}
    (tmp_path / "registry.json").write_text(json.dumps([entry]))
    registry = FolderRegistry(tmp_path)
    ids = (FrameId("GUID", GUID), FrameId("contentId", "12"))
    version = registry.latest(SUBJECT)
    assert registry.frame_ids(version, frozenset({"GUID", "contentId"})) == ids
    assert {registry.by_frame_id(frame_id).id for frame_id in ids} == {7}
    with pytest.raises(SchemaNotFoundError, match="the globalId of subject t-value version 1"):
        registry.frame_ids(version, frozenset({"globalId"}))
    with pytest.raises(SchemaNotFoundError, match="globalId 1 "):
        registry.by_frame_id(FrameId("globalId", "1"))


def glue_answer(path: Path, **fields: Any) -> None:
    """Write an answer as `aws glue get-schema-version` does."""
    answer = {
        "SchemaVersionId": GLUE,
        "SchemaDefinition": '"int"',
        "DataFormat": "AVRO",
        "SchemaArn": "arn:aws:glue:eu-west-1:123456789012:schema/registry/t",
        "VersionNumber": 1,
        "Status": "AVAILABLE",
        "CreatedTime": "2026-11-22T10:00:00.000Z",
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(answer | fields))


def test_glues_recorded_answers_are_a_registry(tmp_path: Path) -> None:
    """Their ids are the same in every run, whatever other schemas are recorded."""
    glue_answer(tmp_path / "t-value" / "v1.json")
    first = FolderRegistry(tmp_path).latest(SUBJECT)
    glue_answer(tmp_path / "a-value" / "v1.json", SchemaVersionId=GUID)
    registry = FolderRegistry(tmp_path)
    assert registry.subjects() == ("a-value", "t-value")
    assert registry.latest(SUBJECT) == first
    assert registry.frame_ids(first, frozenset({"schemaVersionId"})) == (FrameId("schemaVersionId", GLUE),)
    assert registry.by_frame_id(FrameId("schemaVersionId", GLUE)).id == first.id
    assert 0 < first.id < 2**31


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"DataFormat": "PROTOBUF"}, "DataFormat: found PROTOBUF, allowed: AVRO"),
        ({"SchemaVersionId": "7"}, "is not an answer of GetSchemaVersion"),
        ({"SchemaDefinition": None}, "is not an answer of GetSchemaVersion"),
    ],
)
def test_an_answer_of_another_form_is_refused_by_its_file(
    tmp_path: Path, fields: dict[str, Any], problem: str
) -> None:
    """With the command that writes one."""
    glue_answer(tmp_path / "t-value" / "v1.json", **fields)
    with pytest.raises(SchemaError, match=problem) as caught:
        FolderRegistry(tmp_path)
    assert "v1.json" in str(caught.value)


def test_uuids_that_would_get_one_id_are_refused(tmp_path: Path) -> None:
    """Only where their schemas differ."""
    glue_answer(tmp_path / "t-value" / "v1.json")
    glue_answer(tmp_path / "t-value" / "v2.json", SchemaVersionId=GLUE[:-1] + "d")
    assert len(FolderRegistry(tmp_path).versions(SUBJECT)) == 2
    glue_answer(tmp_path / "t-value" / "v2.json", SchemaVersionId=GLUE[:-1] + "d", SchemaDefinition='"long"')
    with pytest.raises(SchemaError, match="of another schema"):
        FolderRegistry(tmp_path)
