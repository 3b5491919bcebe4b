"""The topic that is read while processes die, and the expected tables: payloads replayed in plain Python.

Two partitions, four schema versions (one widens a column in place, one writes the table again), deletes, keys
that change, doubled messages, and records that nothing can read.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import attrs
import fastavro

from ingest.api.session import Session
from ingest.local.servers import Addresses
from ingest.testing import Columns, Message, Messages, Row, Topic, date, decimal, nullable
from ingest.testing.servers import LocalServers
from ingest.testing.topic import Servers
from ingest.testing.wire import without_logical_types
from tests.e2e.referee.shape import convert, of_avro

FIRST: Final[Columns] = {
    "id": "int",
    "name": nullable("string"),
    "n": nullable("int"),
    "amount": nullable(decimal(12, 2)),
    "on": nullable(date()),
}
VERSIONS: Final[Sequence[Columns]] = (
    FIRST,
    {**FIRST, "phone": nullable("string")},
    {**FIRST, "phone": nullable("string"), "n": nullable("long")},
    {**FIRST, "phone": nullable("string"), "n": nullable(decimal(20, 0))},
)
PARTITIONS: Final = 2
NO_DATE: Final = 2**31 - 1
"""Days since 1970 that no date can be: the year is beyond 9999."""

Texts = Mapping[int, Mapping[str, str | None]]
"""A table's rows by key, each value as Spark writes it as text."""
Offsets = Mapping[int, int]


@attrs.frozen
class Wanted:
    """The expected rows and rejected coordinates of a table that has read up to some offsets."""

    rows: Texts
    rejects: frozenset[tuple[int, int]]


@attrs.frozen
class Scene:
    """The messages of each partition, in order, and the schemas that wrote them."""

    topic: str
    schemas: Mapping[int, Any]
    messages: tuple[tuple[Message, ...], ...]

    @property
    def count(self) -> int:
        """How many messages there are."""
        return sum(map(len, self.messages))

    @property
    def ends(self) -> Offsets:
        """The offsets behind the last messages."""
        return {partition: len(messages) for partition, messages in enumerate(self.messages)}

    def wanted(self, offsets: Offsets) -> Wanted:
        """Replay the messages before some offsets."""
        rows: dict[int, Mapping[str, str | None]] = {}
        rejects = set()
        columns: set[str] = set()
        for partition, messages in enumerate(self.messages):
            for offset, (key, value) in enumerate(messages[: offsets.get(partition, 0)]):
                if value is None:
                    continue
                change = self._read(key, value)
                if change is None:
                    rejects.add((partition, offset))
                    continue
                number, row = change
                rows.pop(number, None)
                if row is not None:
                    rows[number] = row
                    columns |= row.keys()
        empty = dict.fromkeys(columns)
        return Wanted({number: {**empty, **row} for number, row in rows.items()}, frozenset(rejects))

    def _read(self, key: bytes | None, value: bytes) -> tuple[int, Mapping[str, str | None] | None] | None:
        """Give key and row of a change, no row for a delete; None if it cannot be read."""
        number, event = self._decode(key), self._decode(value)
        if number is None or event is None:
            return None
        if event["op"] == "d":
            return number["id"], None
        shape = of_avro(self.schemas[int.from_bytes(value[1:5], "big")]).fields["after"]
        row = {name: convert(shape.fields[name], part) for name, part in event["after"].items()}
        if event["after"]["on"] is not None and row["on"] is None:
            return None  # beyond the years that a date can have
        return number["id"], {name: None if part is None else f"{part}" for name, part in row.items()}

    def _decode(self, payload: bytes | None) -> Any:
        if payload is None or payload[:1] != b"\0" or int.from_bytes(payload[1:5], "big") not in self.schemas:
            return None
        schema = without_logical_types(self.schemas[int.from_bytes(payload[1:5], "big")])
        body = BytesIO(payload[5:])
        try:
            result = fastavro.schemaless_reader(body, schema, None)
        except (EOFError, IndexError, ValueError):
            return None
        return result if body.tell() == len(payload) - 5 else None


def make_scene(servers: Addresses, name: str, count: int, seed: int) -> Scene:
    """Make a topic on real servers, and its messages."""
    local = LocalServers(servers)
    local.make_topic(name, PARTITIONS)
    return build_scene(local, name, count, seed)


def build_scene(servers: Servers, name: str, count: int, seed: int) -> Scene:
    """Register the versions, make messages of a number of changes and produce them."""
    topic = Topic.begin(name, FIRST, servers)
    for columns in VERSIONS[1:]:
        topic.version(columns)
    built: tuple[list[Message], ...] = tuple([] for _ in range(PARTITIONS))
    dice = random.Random(seed)  # noqa: S311  data, no secret
    for group in _changes(topic, dice, count):
        for message, number in group:
            built[number % PARTITIONS].append(message)
    for partition, messages in enumerate(built):
        topic.produce(messages, partition)
    schemas = {version: topic.envelope(columns) for version, columns in topic.versions.items()}
    schemas[topic.key_id] = {
        "type": "record", "name": "Key", "fields": [{"name": "id", "type": "int"}]
    }  # fmt: skip
    return Scene(name, schemas, tuple(map(tuple, built)))


Placed = Sequence[tuple[Message, int]]
"""Messages, each with the number that chooses its partition."""


def _changes(topic: Topic, dice: random.Random, count: int) -> Iterator[Placed]:
    alive: set[int] = set()
    ids = list(topic.versions)
    for step in range(count):
        # Versions follow each other, and the one before goes on for a while, as with two writers.
        version = max(0, min(len(ids) - 1, step * len(ids) // count - (dice.random() < 0.1)))
        topic.current = ids[version]
        yield _change(topic, dice, alive, VERSIONS[version])


def _change(topic: Topic, dice: random.Random, alive: set[int], columns: Columns) -> Placed:
    number = dice.randrange(1, 300)
    row = _row(dice, number, columns)
    what = dice.random()
    if what < 0.02:
        return [(_corrupt(topic, dice, row), number)]
    if number not in alive:
        alive.add(number)
        return _placed(topic.create(row), number)
    if what < 0.12:
        alive.remove(number)
        return _placed(topic.delete(row), number)
    other = dice.randrange(300, 600)
    if what < 0.15 and other not in alive:
        alive.symmetric_difference_update({number, other})
        *deleted, come = topic.change_key(row, {**row, "id": other})
        return [*_placed(tuple(deleted), number), (come, other)]
    built = _placed(topic.update(row), number)
    return [*built, *built] if what < 0.2 else built


def _placed(messages: Messages, number: int) -> Placed:
    return [(message, number) for message in messages]


def _row(dice: random.Random, number: int, columns: Columns) -> Row:
    limit = 2**31 if columns["n"] == nullable("int") else 2**62
    row = {
        "id": number,
        "name": dice.choice([None, "", "naïve", f"name {dice.random()}"]),
        "n": dice.choice([None, 0, -dice.randrange(limit), dice.randrange(limit)]),
        "amount": (dice.randrange(-(10**11), 10**11)).to_bytes(6, "big", signed=True),
        "on": dice.randrange(-10_000, 30_000),
        "phone": f"+{dice.randrange(10**9)}",
    }
    if isinstance(row["n"], int) and columns is VERSIONS[-1]:
        row["n"] = row["n"].to_bytes(9, "big", signed=True)
    return {name: row[name] for name in columns}


def _corrupt(topic: Topic, dice: random.Random, row: Row) -> Message:
    key, value = topic.update(row)[0]
    assert value is not None
    return dice.choice(
        [
            topic.update({**row, "on": NO_DATE})[0],
            (key, value[: dice.randrange(6, len(value))]),
            (key, b"\7" + value),
            (key, value + b"\0"),
            (None, value),
            (b"\0\0\0", value),
            (key, b"\0\0\1\0\0" + value[5:]),
        ]
    )


# --- the deployment ------------------------------------------------------------------------------

SERVICES: Final = {
    "hoodie.clean.trigger.max.commits": "1",
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.compact.inline.max.delta.commits": "2",
}
"""Options with which every commit or two is cleaned, archived and compacted."""
TABLES: Final = ("cow", "mor")


def make_deployment(root: Path, servers: Addresses, topic: str, kinds: Sequence[str] = TABLES) -> None:
    """Write settings, and a table file of each kind of storage over one topic."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "ingest.toml").write_text(
        f'[registry]\nurl = "{servers.registry_url}"\n'
        f'[kafka]\nbootstrap_servers = "{servers.bootstrap_servers}"\n'
    )
    with Session.open(root / "ingest.toml") as session:
        session.onboard([topic], name="first")
    services = "".join(f'"{key}" = "{value}"\n' for key, value in SERVICES.items())
    text = (root / "tables" / "first.toml").read_text()
    (root / "tables" / "first.toml").unlink()
    for kind in kinds:
        built = text.replace('table = "first"', f'table = "{kind}"').replace(
            'type = "cow"', f'type = "{kind}"'
        )
        built = built.replace('out_of_range = "null"', 'out_of_range = "fail"')
        built += f"\n[rejects]\nmax_share = 1.0\n\n[hudi]\n{services}"
        (root / "tables" / f"{kind}.toml").write_text(built)
