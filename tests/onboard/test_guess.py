"""Schemas guessed from events that hold none: the types that JSON shows, and nothing invented."""

import json
from typing import Any

import pytest

from ingest import avro
from ingest.compile.envelope import classify, find_envelope
from ingest.onboard.guess import Guess, guess_schema


def event(after: Any, connector: str = "mysql", **parts: Any) -> bytes:
    """Make an event without a schema."""
    source = {"connector": connector, "snapshot": "false", "ts_ms": 1, "file": "mysql-bin.000003", "pos": 4}
    return json.dumps(
        {"before": None, "after": after, "source": source, "op": "c", "ts_ms": 2} | parts
    ).encode()


def columns(guess: Guess | None) -> dict[str, str]:
    """Return the guessed type of each column."""
    assert guess is not None
    fields = find_envelope(guess.schema, "guess").row.fields
    types = {field.name: avro.not_null(field.type) for field in fields}
    return {
        name: kind.physical if isinstance(kind, avro.Scalar) else type(kind).__name__
        for name, kind in types.items()
    }


def test_columns_have_the_types_that_hold_all_samples() -> None:
    """Whole numbers among fractions are doubles; values of several kinds, or beyond 64 bits, are text."""
    rows = [
        {"id": 1, "a": 1, "b": True, "c": "x", "d": 1, "e": None, "f": [1, 2], "g": {"h": 1}, "i": 2**70},
        {"id": 2, "a": 1.5, "b": False, "c": None, "d": "1", "e": None, "f": [], "g": {"k": "z"}, "j": 1},
    ]
    guess = guess_schema([None, *map(event, rows), event(None, before=rows[0], op="d")])
    assert columns(guess) == {
        "id": "long", "a": "double", "b": "boolean", "c": "string", "d": "string", "e": "string",
        "f": "Array", "g": "Record", "i": "string", "j": "long",
    }  # fmt: skip
    assert guess is not None
    assert "guessed from 3 messages" in guess.caveat
    assert classify(guess.schema) == "data"
    assert json.loads(guess.text)["name"] == "guessed.Envelope"


@pytest.mark.parametrize(
    ("connector", "dialect"),
    [
        ("mysql", "mysql"),
        ("mariadb", "mysql"),
        ("postgresql", "postgres"),
        ("sqlserver", "sqlserver"),
        ("oracle", "oracle"),
    ],
)
def test_the_connector_is_the_one_that_the_source_block_names(connector: str, dialect: str) -> None:
    """The schema has the record name of that connector's source block."""
    guess = guess_schema([event({"id": 1}, connector)])
    assert guess is not None
    result = find_envelope(guess.schema, "guess").dialect
    assert result is not None
    assert result.name == dialect


def test_documents_are_documents() -> None:
    """MongoDB's rows are JSON text."""
    guess = guess_schema([event('{"_id": 1}', "mongodb")])
    assert guess is not None
    assert find_envelope(guess.schema, "guess").form == "document"


@pytest.mark.parametrize(
    "texts",
    [
        [], [None], [b"", b"not JSON", b"[1]", b"1"], [b"[" * 100_000], [b'{"id": 1}'],
        [b'{"after": {}, "op": "c", "source": {}}'], [event({"id": 1}), event({"id": 1}, "oracle")],
    ],
)  # fmt: skip
def test_other_messages_are_not_guessed(texts: list[bytes | None]) -> None:
    """Without events of one connector there is no schema."""
    assert guess_schema(texts) is None
