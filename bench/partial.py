"""Changes that lack values: PostgreSQL's placeholders for large values, MongoDB's update descriptions."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import attrs
import fastavro
from events import framed

from ingest.testing.columns import Columns, nullable
from ingest.testing.connectors import LogEntry, connector_of
from ingest.testing.envelopes import envelope_schema, key_schema
from ingest.testing.topic import as_json

UNCHANGED: Final = "__debezium_unavailable_value"
LARGE: Final = "large value " * 150
Images = tuple[str, Mapping[str, Any]]
"""An operation, and the event's fields that hold the row."""


@attrs.frozen
class Stream:
    """A topic of one connector, whose updates are mostly partial."""

    topic: str
    connector: str
    columns: Columns
    change: Callable[[random.Random, int, bool], Images]
    """Make a key's first or a later change."""
    key: Callable[[int], Any]

    def key_schema(self) -> Any:
        """Return the schema of keys."""
        keys = {"id": "string"} if connector_of(self.connector).is_document else {"id": self.columns["id"]}
        return key_schema(self.topic, keys)

    def value_schema(self) -> Any:
        """Return the schema of values."""
        return envelope_schema(self.topic, self.columns, connector_of(self.connector))

    def messages(
        self, count: int, keys: int, key_id: int, value_id: int, seed: int = 1
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield framed keys and values: an insert of each key, then updates of random keys."""
        rng = random.Random(seed)  # noqa: S311  data, no secret
        connector = connector_of(self.connector)
        key_node, value_node = (
            fastavro.parse_schema(node) for node in (self.key_schema(), self.value_schema())
        )
        empty = {field["name"]: None for field in self.value_schema()["fields"]}
        for number in range(count):
            key = number if number < keys else rng.randrange(keys)
            op, images = self.change(rng, key, number < keys)
            source = connector.source(self.topic, LogEntry(number + 1, op, 1, "false"))
            event = {**empty, **images, "op": op, "source": source, "ts_ms": source["ts_ms"]}
            yield framed(key_id, key_node, {"id": self.key(key)}), framed(value_id, value_node, event)


def _row(rng: random.Random, key: int, is_first: bool) -> Images:  # noqa: FBT001  a signature
    texts = {f"t{i}": f"text {rng.randrange(100_000)} of column {i}" for i in range(6)}
    large = LARGE if is_first or rng.random() < 0.1 else UNCHANGED
    return "c" if is_first else "u", {"after": {"id": key, "n": rng.randrange(1000), **texts, "large": large}}


def _document(rng: random.Random, key: int, is_first: bool) -> Images:  # noqa: FBT001  same
    if is_first:
        fields = {f"t{i}": f"text {rng.randrange(100_000)} of field {i}" for i in range(6)}
        return "c", {"after": as_json({"_id": key, "n": 0, **fields, "tags": ["a", "b"], "large": LARGE})}
    updated = json.dumps({"n": rng.randrange(1000), f"t{rng.randrange(6)}": "changed"})
    description = {"updatedFields": updated, "removedFields": None, "truncatedArrays": None}
    return "u", {"updateDescription": description}


TEXTS: Final = {f"t{i}": nullable("string") for i in range(6)}
POSTGRES: Final = Stream(
    "bench.public.wide",
    "postgres",
    {"id": "long", "n": nullable("int"), **TEXTS, "large": nullable("string")},
    _row,
    lambda key: key,
)
MONGODB: Final = Stream("bench.db.docs", "mongodb", {}, _document, str)
