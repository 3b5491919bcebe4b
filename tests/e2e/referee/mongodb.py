"""MongoDB's documents: Extended JSON, with its spellings (v1 strict, v2 relaxed, v2 extended) normalized."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from tests.e2e.referee.kind import Kind
from tests.e2e.referee.moments import EPOCH


def kind_of(declared: str) -> Kind:
    """Return the reader of an `_id` or a document: both are JSON text."""
    return {"json _id": DOCUMENT, "document json": DOCUMENT}[declared]


def one_spelling(text: str) -> str:
    """Normalize Extended JSON; the order of fields does not matter, and true differs from 1."""
    return json.dumps(_unwrap(json.loads(text)), sort_keys=True, ensure_ascii=False)


def _unwrap(value: Any) -> Any:
    match value:
        case dict():
            first = next(iter(value), "")
            inner = {name: _unwrap(part) for name, part in value.items()}
            return _WRAPPERS[first](inner) if first in _WRAPPERS else inner
        case list():
            return [_unwrap(part) for part in value]
        case _:
            return value


def _date(node: dict[str, Any]) -> dict[str, Any]:
    """Return a date in milliseconds; relaxed JSON writes it as ISO text."""
    when = node["$date"]
    if isinstance(when, str):
        return {"$date": round((datetime.fromisoformat(when) - EPOCH).total_seconds() * 1000)}
    return {"$date": when}


def _binary(node: dict[str, Any]) -> dict[str, Any]:
    bytes_ = node["$binary"]
    if isinstance(bytes_, str):
        return {"$binary": {"base64": bytes_, "subType": node["$type"]}}
    return node


def _regex(node: dict[str, Any]) -> dict[str, Any]:
    return {"$regularExpression": {"pattern": node["$regex"], "options": node.get("$options", "")}}


def _object_id(node: dict[str, Any]) -> dict[str, Any]:
    """Return an id in lower case: its digits are hexadecimal."""
    digits = node["$oid"]
    return {"$oid": digits.lower()} if isinstance(digits, str) else node


_WRAPPERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "$oid": _object_id,
    "$numberInt": lambda node: int(node["$numberInt"]),
    "$numberLong": lambda node: int(node["$numberLong"]),
    "$numberDouble": lambda node: float(node["$numberDouble"]),
    "$date": _date,
    "$binary": _binary,
    "$regex": _regex,
}
DOCUMENT = Kind(one_spelling, one_spelling)
