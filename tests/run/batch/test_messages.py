"""Schemas that JSON messages hold, and those that files declare."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest import avro
from ingest.avro import connect
from ingest.errors import SchemaError
from ingest.kafka.sample import RawRecord
from ingest.run.batch.messages import MOST_TEXTS, bare_keys, read_schema, written_in

INT = {"type": "int32", "optional": False, "field": "id"}
TEXT = {"type": "string", "optional": True, "field": "naïve"}


def struct(*fields: Any) -> Any:
    """Make a struct's schema."""
    return {"type": "struct", "fields": list(fields), "optional": False, "name": "s.t.Key"}


def compact(node: Any) -> bytes:
    """Write JSON as JsonConverter does."""
    return json.dumps(node, separators=(",", ":"), ensure_ascii=False).encode()


def message(schema: Any, payload: Any) -> dict[str, Any]:
    """Make a message with its schema."""
    return {"schema": schema, "payload": payload}


def records(*keys: bytes | None) -> list[RawRecord]:
    """Make records of which only the keys count."""
    return [RawRecord(key, None, (), None) for key in keys]


def test_a_schema_is_found_once_in_the_order_of_the_messages() -> None:
    """With ids below zero, that no registry gives, and a label that names the place."""
    item, two = struct(INT), struct(INT, TEXT)
    texts = [compact(message(schema, {"id": 1})) for schema in (item, two, item)]
    result = written_in(texts, "keys of topic t")
    assert [(w.schema_id, w.label) for w in result] == [
        (-1, "keys of topic t, schema 1"),
        (-2, "keys of topic t, schema 2"),
    ]
    assert [w.schema for w in result] == [connect.parse(schema, where="") for schema in (item, two)]
    assert result[0].frame == b'{"schema":' + compact(item) + b',"payload":'


def test_schemas_that_are_known_are_passed_over() -> None:
    """New ones are counted on."""
    existing = written_in([compact(message(struct(INT), None))], "v")
    texts = [compact(message(struct(INT), {"id": 1})), compact(message(struct(TEXT), {}))]
    (result,) = written_in(texts, "v", existing)
    assert (result.schema_id, result.label) == (-2, "v, schema 2")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(message(struct(INT, TEXT), {"id": 1})).encode(),
        json.dumps(message(struct(INT, TEXT), {"id": 1}), indent=2, ensure_ascii=False).encode(),
        compact(dict(reversed(message(struct(INT, TEXT), {"id": 1}).items()))),
        b'{"schema":' + compact(struct(INT, TEXT)) + b', "payload":{"id":1}}',
        compact({**message(struct(INT, TEXT), {}), "payload": {"a": {"x": [1], "payload": 2}}}),
    ],
    ids=["blanks", "pretty", "payload first", "one blank", "payload twice"],
)
def test_a_message_spaced_otherwise_holds_the_same_schema(text: bytes) -> None:
    """Its frame is the one that JsonConverter would write."""
    (result,) = written_in([text], "v")
    (usual,) = written_in([compact(message(struct(INT, TEXT), None))], "v")
    assert result == usual


@pytest.mark.parametrize(
    "text",
    [
        None,
        b"",
        b"null",
        b"42",
        b"[1]",
        b"{",
        b"\xff\xfe",
        b'{"id":1}',
        b'{"schema":null,"payload":{"id":1}}',
        b'{"schema":"dbo","payload":1}',
        b'{"schema":"dbo","id":1}',
    ],
)
def test_a_message_without_a_schema_tells_nothing(text: bytes | None) -> None:
    """A row may have a column of that name."""
    assert written_in([text], "v") == ()


def test_an_invalid_connect_schema_is_refused_with_its_path() -> None:
    """By the label, and the path in it."""
    with pytest.raises(SchemaError, match="is not a Connect schema") as caught:
        written_in([compact(message(struct({"type": "odd", "field": "x"}), {}))], "values of topic t")
    assert (caught.value.where, caught.value.path) == ("values of topic t, schema 1", "$.x")


@pytest.mark.parametrize(
    ("keys", "columns"),
    [
        ([None, b"", b"7", b'{"id":1,"part":2}', b'{"other":1}'], ("id", "part")),
        ([b'{"schema":null,"payload":{"id":1}}'], ("id",)),
        ([b'{"schema":"dbo","id":1}'], ("schema", "id")),
        ([b"text", b'"text"', b'{"schema":null,"payload":7}'], ()),
        ([], ()),
    ],
)
def test_a_keys_columns_are_those_of_the_first_object(
    keys: list[bytes | None], columns: tuple[str, ...]
) -> None:
    """Where no schema tells them."""
    assert bare_keys(records(*keys)) == columns


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(struct(INT)),
        json.dumps(message(struct(INT), {"id": 1}), indent=1),
        '{"type":"record","name":"s.t.Key","fields":[{"name":"id","type":"int"}],"connect.name":"s.t.Key"}',
    ],
    ids=["connect", "message", "avro"],
)
def test_a_schema_file_is_avro_connect_or_a_message(tmp_path: Path, text: str) -> None:
    """Each gives the same record."""
    path = tmp_path / "t.json"
    path.write_text(text)
    result = read_schema(path)
    assert isinstance(result, avro.Record)
    assert (result.name, [field.name for field in result.fields]) == ("s.t.Key", ["id"])


@pytest.mark.parametrize("text", [None, "", "{", "\udcff"], ids=["missing", "empty", "cut", "no UTF-8"])
def test_a_file_that_is_not_json_is_named(tmp_path: Path, text: str | None) -> None:
    """With the problem."""
    path = tmp_path / "t.json"
    if text is not None:
        path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(SchemaError, match="cannot be read as JSON") as caught:
        read_schema(path)
    assert caught.value.where == str(path)


@pytest.mark.parametrize("text", ['{"id":1}', "7", '{"schema":null,"payload":{"id":1}}'])
def test_a_file_that_is_not_a_schema_is_refused(tmp_path: Path, text: str) -> None:
    """JSON that is neither Avro nor Connect's, such as a bare message."""
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(SchemaError) as caught:
        read_schema(path)
    assert caught.value.where == str(path)


def test_an_odd_schema_among_others_is_passed_over() -> None:
    """Its messages are then rejected, for their own fault."""
    odd = compact(message(struct({"type": "odd", "field": "x"}), {}))
    usual = compact(message(struct(INT), None))

    (result,) = written_in([odd, usual, odd], "v")

    assert written_in([odd], "v", [result]) == ()
    assert result.frame == usual[: len(result.frame)]


def test_texts_of_schemas_without_end_are_refused_with_the_way_out() -> None:
    """Each may be a new version, and none can be left out."""
    texts = [
        json.dumps({"schema": {"type": "struct", "fields": [], "doc": str(n)}, "payload": None}).encode()
        for n in range(MOST_TEXTS + 1)
    ]
    assert len(written_in(texts[:-1], "values of topic t")) == MOST_TEXTS
    with pytest.raises(SchemaError, match=r"values of topic t .*: hold more than 1,000 texts of schemas"):
        written_in(texts, "values of topic t")
