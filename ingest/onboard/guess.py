"""Guess the schema of Debezium's JSON events without schemas, from a sample of them.

JSON has fewer types than Connect.  A guess knows text, whole numbers, fractions, booleans, arrays and
objects, and cannot find dates, times or decimals.  It is written as a file next to the table's, for people to
correct.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from ingest import avro
from ingest.avro import connect

_SEMANTIC_JSON: Final = {"name": "io.debezium.data.Json"}
_MAX_LONG: Final = 2**63 - 1
_SNAPSHOT: Final = {"type": "string", "optional": True, "name": "io.debezium.data.Enum"}


@attrs.frozen
class Guess:
    """A guessed schema: parsed, as the text of its file, and the caveat that says how it was made."""

    schema: avro.Schema
    text: str
    messages: int

    @property
    def caveat(self) -> str:
        """The remark for the table's file."""
        return (
            f"the types are guessed from {self.messages} messages, which hold no schema: dates and times "
            "stay numbers, base64 decimals stay text, fields that these messages lack are ignored; correct "
            "the file of `schema` before the first run"
        )


def guess_schema(texts: Iterable[bytes | None]) -> Guess | None:
    """Guess the schema of values, or return None unless they are change events of exactly one connector."""
    events = [event for text in texts if (event := _event(text)) is not None]
    connectors = {event["source"]["connector"] for event in events}
    if len(connectors) != 1:
        return None
    (connector,) = connectors
    node = _envelope(events, connector)
    text = json.dumps(node, indent=1, ensure_ascii=False) + "\n"
    return Guess(connect.parse(node, where="guess"), text, len(events))


def _event(text: bytes | None) -> dict[str, Any] | None:
    """Return a change event without a schema, or None for anything else."""
    try:
        event = json.loads(text or b"")
    except (ValueError, RecursionError):
        return None
    if isinstance(event, dict) and set(event) == {"schema", "payload"}:
        event = event["payload"]
    is_event = isinstance(event, dict) and isinstance(event.get("op"), str) and "after" in event
    if not is_event or not isinstance(event.get("source"), dict):
        return None
    return event if isinstance(event["source"].get("connector"), str) else None


def _envelope(events: Sequence[Mapping[str, Any]], connector: str) -> dict[str, Any]:
    """Return an envelope as Kafka Connect's JSON describes it."""
    package = "mongo" if connector == "mongodb" else connector
    rows = [row for event in events for row in (event.get("before"), event.get("after"))]
    row = _node(rows, "Value")
    if row["type"] == "string":  # documents
        row |= _SEMANTIC_JSON
    source = _node([event["source"] for event in events], f"io.debezium.connector.{package}.Source")
    fields = [_SNAPSHOT | {"field": "snapshot"} if f["field"] == "snapshot" else f for f in source["fields"]]
    return {
        "type": "struct",
        "name": "guessed.Envelope",
        "fields": [
            {**row, "field": "before"},
            {**row, "field": "after"},
            {**source, "fields": fields, "optional": False, "field": "source"},
            {"type": "string", "field": "op"},
            {"type": "int64", "optional": True, "field": "ts_ms"},
        ],
    }


def _node(values: Sequence[Any], name: str) -> dict[str, Any]:
    """Return the type that holds all values. If they differ it is text, which takes the JSON of each."""
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    if kinds == {dict}:
        return {**_struct(present, name), "optional": True}
    if kinds == {list}:
        items = _node([item for value in present for item in value], f"{name}.item")
        return {"type": "array", "items": items, "optional": True}
    return {"type": _scalar(kinds, present), "optional": True}


def _scalar(kinds: set[type], values: Sequence[Any]) -> str:
    if kinds == {bool}:
        return "boolean"
    if kinds == {int} and all(abs(value) <= _MAX_LONG for value in values):
        return "int64"
    return "double" if kinds and kinds <= {int, float} and float in kinds else "string"


def _struct(objects: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    names = dict.fromkeys(field for value in objects for field in value)
    fields = [
        {**_node([value.get(field) for value in objects], f"{name}.{field}"), "field": field}
        for field in names
    ]
    return {"type": "struct", "name": name, "fields": fields}
