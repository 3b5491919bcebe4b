"""Reading fixture and corpus folders."""

import gzip
import json
from pathlib import Path

import pytest

from ingest.errors import FixtureError
from ingest.local.cut import read_id
from ingest.local.fixture import Message, read_messages, read_recording

FIXTURES = Path(__file__).parents[2] / "registry_fixtures"
FOLDERS = sorted(file.parent for file in FIXTURES.glob("*/fixture.json"))
SQLSERVER = FIXTURES / "sqlserver"
LINE = {"p": 0, "o": 0, "ts": 5, "h": [["a", "AQI="], ["a", None]], "k": None, "v": "AAAAAAc="}
FRAMED = b"\0\0\0\0\7"


def write_corpus(
    folder: Path, lines: list[str | dict[str, object]], manifest: object = None, registry: object = None
) -> Path:
    """Write a corpus folder with one topic, `t`."""
    (folder / "topics").mkdir()
    text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    (folder / "topics" / "t.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    for name, content in (("manifest", manifest), ("registry", registry)):
        if content is not None:
            (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_fixture_matches_its_fixture_json(folder: Path) -> None:
    """Every topic has its file and its count, every schema is an Avro record; no file is left over."""
    recording = read_recording(folder)
    explained = {
        t["name"]: t["messages"] for t in json.loads((folder / "fixture.json").read_text())["topics"]
    }
    counted = {topic.name: sum(1 for _ in read_messages(topic)) for topic in recording.topics}
    assert counted == explained
    assert {file.name for file in (folder / "messages").iterdir()} == {
        f"{name}.jsonl.gz" for name in explained
    }
    assert all(json.loads(schema.schema)["type"] == "record" for schema in recording.schemas)
    named = {folder / schema.subject / f"v{schema.version}.avsc" for schema in recording.schemas}
    assert set(folder.glob("*/*.avsc")) == named


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_fixtures_payloads_name_the_schemas_that_it_lists(folder: Path) -> None:
    """Every schema id in a payload is listed, each is used; payloads of JSON name none."""
    recording = read_recording(folder)
    messages = [message for topic in recording.topics for message in read_messages(topic)]
    named = {read_id(payload) for message in messages for payload in (message.key, message.value)}
    assert named - {None} == {schema.id for schema in recording.schemas}


def test_a_fixtures_schema_is_compact_for_any_layout_of_its_file() -> None:
    """Line breaks are for people; a registry that compares text must not see a new version."""
    first = read_recording(SQLSERVER).schemas[0]
    assert "\n" not in first.schema
    assert '": ' not in first.schema


def test_a_message_keeps_timestamp_headers_and_nulls(tmp_path: Path) -> None:
    """Duplicate headers, a null header, a null key, a binary value."""
    (topic,) = read_recording(write_corpus(tmp_path, [LINE])).topics
    assert list(read_messages(topic)) == [Message(0, 0, 5, (("a", b"\1\2"), ("a", None)), None, FRAMED)]


def test_a_corpus_without_registry_json_has_no_schemas(tmp_path: Path) -> None:
    """Its payloads are JSON: nothing in them is a schema id."""
    recording = read_recording(write_corpus(tmp_path, [LINE], {"partitions": 3}))
    assert (recording.schemas, recording.topics[0].partitions) == ((), 3)


def test_without_a_manifest_the_messages_tell_the_number_of_partitions(tmp_path: Path) -> None:
    """A dump may be nothing but topics."""
    recording = read_recording(write_corpus(tmp_path, [LINE, {**LINE, "p": 3}]))
    assert recording.topics[0].partitions == 4


def test_partitions_are_read_in_the_order_of_time_each_in_its_own_order(tmp_path: Path) -> None:
    """So that a prefix of the topic is a prefix of every partition; a clock that jumped changes no order."""
    places = [(0, 0, 10), (0, 1, 5), (0, 2, 40), (1, 0, 7), (1, 1, 30)]
    lines = [{**LINE, "p": p, "o": o, "ts": ts} for p, o, ts in places]
    (topic,) = read_recording(write_corpus(tmp_path, lines)).topics
    read = [(message.partition, message.offset) for message in read_messages(topic)]
    assert read == [(1, 0), (0, 0), (0, 1), (1, 1), (0, 2)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{\n", "JSONDecodeError"),
        ({**LINE, "v": "?"}, "Error"),
        ({"p": 0}, "KeyError: 'h'"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str | dict[str, object], problem: str) -> None:
    """File, line and what is wrong with it."""
    (topic,) = read_recording(write_corpus(tmp_path, [LINE, line], {"partitions": 1})).topics
    with pytest.raises(FixtureError, match=rf"t\.jsonl\.gz: line 2: is not a message: .*{problem}"):
        list(read_messages(topic))


def test_a_cut_off_file_is_named(tmp_path: Path) -> None:
    """As a download that stopped leaves it."""
    write_corpus(tmp_path, [{**LINE, "v": "AAAA" * 1000}], {"partitions": 1})
    file = tmp_path / "topics" / "t.jsonl.gz"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(FixtureError, match=r"t\.jsonl\.gz"):
        list(read_messages(read_recording(tmp_path).topics[0]))


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    """The message says what a folder must hold."""
    with pytest.raises(FixtureError, match=r"is not a fixture folder\. A fixture folder holds"):
        read_recording(tmp_path)
    with pytest.raises(FixtureError, match="does not exist"):
        read_recording(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("fixture", "problem"),
    [
        ("{", "is not JSON"),
        ('{"topics": []}', "required field missing.*schemas"),
        ('{"topics": [{"name": "t", "partitions": "x"}], "schemas": []}', "partitions"),
        (
            '{"topics": [], "schemas": [{"subject": "s", "version": 1, "id": 1, "references": []}]}',
            r"v1\.avsc: No such file",
        ),
    ],
)
def test_a_wrong_fixture_json_is_named_with_the_place(tmp_path: Path, fixture: str, problem: str) -> None:
    """What is missing or wrong, and in which file."""
    (tmp_path / "fixture.json").write_text(fixture)
    with pytest.raises(FixtureError, match=problem):
        read_recording(tmp_path)
