"""The values that hold for a table, each with its origin."""

from collections.abc import Iterator
from typing import Any

import attrs

from ingest.config.rules import file_fields
from ingest.json_values import JsonValue
from ingest.tables.defaults import Origin
from ingest.tables.evolution import RULES
from ingest.tables.table import TableConfig


@attrs.frozen
class Value(JsonValue):
    """The value of a dotted key of table files, as TOML has it, and its origin."""

    json_keys = "key value from=origin"

    key: str
    value: Any
    origin: Origin


def values_of(table: TableConfig) -> tuple[Value, ...]:
    """Return the values that hold for a table, in the order of the reference.

    Keys without a value are left out.  `[evolution]` has the policy of every kind of change.
    """
    policies: dict[str, str] = {kind: table.policy(kind) for kind in RULES}
    subject = table.subjects.key if table.target.mode != "append" else None
    values = []
    for key, value in _leaves("", attrs.evolve(table, evolution=policies)):
        is_idle = key.startswith("shards.") and not table.topics
        is_empty = value is None or value is False or value in ("", [])
        if key == "key.columns" and is_empty and subject:
            values.append(Value(key, f"the columns of subject {subject}", "derived"))
        elif not is_idle and not is_empty:
            values.append(Value(key, value, table.origins.of(key)))
    return tuple(values)


def _leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values inside a value by their dotted keys."""
    match value:
        case dict():
            inner = value
        case tuple():
            yield key, list(value)
            return
        case _ if attrs.has(type(value)):
            inner = {name: getattr(value, field.name) for name, field in file_fields(type(value)).items()}
        case _:
            yield key, value
            return
    for name, part in inner.items():
        yield from _leaves(f"{key}.{name}" if key else name, part)
