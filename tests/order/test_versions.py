"""A history has every version of a row, the same for any order and slicing of its changes."""

import random
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ingest.compile.row_model import REMOVED
from ingest.compile.table import CompiledTable
from ingest.order.changes import Stored
from ingest.order.models import model_of
from ingest.tables import Target
from ingest.testing import nullable
from tests.compile.sqlserver import VALUE_ID, compiled, table
from tests.decode.messages import Topic, change, changes_of, frame
from tests.e2e.referee.scd2 import Change, Version, versions
from tests.order.source import lsn_text

pytestmark = pytest.mark.spark

KEYS = {"stream": "int", "id": "int"}
TOPIC = Topic([{**KEYS, "value": nullable("int"), "text": nullable("string")}], keys=KEYS)
PLACEHOLDER = "__debezium_unavailable_value"
ROUNDS = 4
STREAMS = 60
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.pairs) for seed in range(1, 10))]
START_MS = 1_700_000_000_000
MESSAGES_MS = START_MS + 2
"""The time of the message at offset 0; that of each one after it is later by 1 ms."""
Row = dict[str, Any]


@attrs.frozen
class Event:
    """A change of one of few rows; `text` is null for the placeholder."""

    row: int
    op: str
    value: int
    text: str | None
    lsn: int
    ms: int


def random_event(choose: random.Random, ops: str) -> Event:
    """Return a change of one of two rows; an update may lack its text."""
    op, value = choose.choice(ops), choose.randint(0, 1)
    text = None if op == "u" and value else choose.choice("ab")
    return Event(choose.randint(0, 1), op, value, text, lsn=choose.randint(1, 6), ms=choose.randint(0, 3))


def streams(choose: random.Random, ops: str) -> list[list[Event]]:
    """Return streams of events: the number in a stream is the offset."""
    return [[random_event(choose, ops) for _ in range(choose.randint(1, 9))] for _ in range(STREAMS)]


def slices(count: int, choose: random.Random) -> list[list[list[int]]]:
    """Return ways to give offsets to a table in rounds: at once, cut, in any order, and again."""
    shuffled = choose.sample(range(count), count)
    bounds = [0, *sorted(choose.randint(0, count) for _ in range(ROUNDS - 1)), count]
    cut = [list(range(start, end)) for start, end in pairwise(bounds)]
    mixed = [shuffled[start:end] for start, end in pairwise(bounds)]
    again = [sorted({*part, *choose.sample(range(count), choose.randint(0, count))}) for part in mixed]
    return [[list(range(count)), [], [], []], cut, mixed, again]


@cache
def history() -> CompiledTable:
    """Return the compiled table."""
    return compiled(TOPIC.versions, of=attrs.evolve(table(), target=Target(mode="history")), keys=KEYS)


def message(stream: int, event: Event) -> tuple[bytes, bytes | None]:
    """Encode an event."""
    if event.op == "t":
        return TOPIC.key(stream=stream, id=event.row), None
    text = PLACEHOLDER if event.text is None else event.text
    row = {"stream": stream, "id": event.row, "value": event.value, "text": text}
    at = {"commit_lsn": lsn_text(event.lsn), "ts_ms": START_MS + event.ms}
    after = None if event.op == "d" else row
    return TOPIC.key(stream=stream, id=event.row), TOPIC.value(change(event.op, after, **at))


@attrs.define
class Written:
    """A table in memory: its rows by stream, key and offset, and their types."""

    spark: SparkSession
    rows: dict[tuple[int, int, int], Row] = attrs.Factory(dict)
    ddl: str = ""

    def write(self, batch: list[tuple[int, int, Event]]) -> None:
        """Write a batch of streams, offsets and events, as Hudi does by the record key."""
        offsets = [offset for _, offset, _ in batch]
        messages = frame(self.spark, [message(stream, event) for stream, _, event in batch], offsets)
        messages = messages.withColumn("timestamp", F.timestamp_millis(F.col("offset") + MESSAGES_MS))
        changes, model, stored = changes_of(messages, history()), model_of(history()), None
        if self.rows:
            stored = self.spark.createDataFrame([tuple(r.values()) for r in self.rows.values()], self.ddl)
        rows = model.chosen(model.rows(changes, Stored(stored), None), history())
        self.ddl = ", ".join(f"`{name}` {spark_type}" for name, spark_type in rows.dtypes)
        for row in rows.collect():
            key = row["stream"], row["id"], row["_cdc_offset"]
            if key in self.rows and row["_cdc_position"] < self.rows[key]["_cdc_position"]:
                continue
            self.rows[key] = row.asDict()
            if row["_cdc_op"] == REMOVED:
                del self.rows[key]


@pytest.mark.parametrize("seed", SEEDS)
def test_any_order_and_slicing_gives_the_versions_of_a_replay(spark: SparkSession, seed: int) -> None:
    """Sixty streams, each at once, in slices, in any order, and with repeated ranges; cell by cell.

    Every other round finds the stored changes as a large batch does.
    """
    choose = random.Random(seed)  # noqa: S311  test data
    plans = [(case, plan) for case in streams(choose, "ccuuurd") for plan in slices(len(case), choose)]
    written = Written(spark)
    for number in range(ROUNDS):
        batch = [
            (stream, offset, case[offset])
            for stream, (case, plan) in enumerate(plans)
            for offset in plan[number]
        ]
        with pytest.MonkeyPatch.context() as patch:
            if number % 2:
                patch.setattr("ingest.order.history._FEW", 0)
            written.write(batch)
    expected = {}
    for stream, (case, _) in enumerate(plans):
        expected |= expected_rows(stream, case)
    found = {key: _in_millis(row) for key, row in written.rows.items()}
    assert found.keys() == expected.keys()
    wrong = [(plans[key[0]], key) for key, row in expected.items() if found[key] != {**found[key], **row}]
    assert wrong == []


@pytest.mark.parametrize("seed", SEEDS)
def test_tombstones_end_the_same_versions_however_the_runs_are_cut(spark: SparkSession, seed: int) -> None:
    """At once; cut; and from an offset in the middle, then all of them again.

    A tombstone, "t", may follow a delete, another change, or nothing.
    """
    plans, choose = [], random.Random(seed)  # noqa: S311  test data
    for case in streams(choose, "cuudddttt"):
        count = len(case)
        first, second = sorted(choose.randint(0, count) for _ in range(2))
        every = list(range(count))
        plans += [
            (case, [every, [], []]),
            (case, [every[:first], every[first:second], every[second:]]),
            (case, [every[:first], every[second:], every]),
        ]
    written = Written(spark)
    for number in range(3):
        written.write(
            [(s, offset, case[offset]) for s, (case, plan) in enumerate(plans) for offset in plan[number]]
        )
    expected = {}
    for stream, (case, _) in enumerate(plans):
        expected |= expected_rows(stream, case)
    found = {key: _in_millis(row) for key, row in written.rows.items()}
    differing = set(found.keys() ^ expected.keys())
    assert [(plans[key[0]], key) for key in sorted(differing)] == []
    wrong = [(plans[key[0]], key) for key, row in expected.items() if found[key] != {**found[key], **row}]
    assert wrong == []


def expected_rows(stream: int, case: list[Event]) -> dict[tuple[int, int, int], Row]:
    """Return the rows of a stream by the referee."""
    rows = {}
    for number in {event.row for event in case}:
        own = [(offset, event) for offset, event in enumerate(case) if event.row == number]
        changes = [_change(offset, event) for offset, event in own if event.op != "t"]
        for version in _with_tombstones(changes, [offset for offset, event in own if event.op == "t"]):
            offset = version.change.order[1]
            rows[stream, number, offset] = _row(version, case[offset])
    return rows


def _with_tombstones(changes: list[Change], offsets: list[int]) -> list[Version]:
    """Return the versions of a row; a tombstone ends one, unless a delete is the last change before it."""
    ends = []
    for offset in offsets:
        before = [change for change in changes if change.order[1] < offset]
        if before and max(before, key=lambda change: change.order[1]).values is not None:
            lsn, _ = max(change.order for change in before)
            ends.append(Change(order=(lsn, offset), time_ms=MESSAGES_MS + offset, values=None))
    ended = {version.end for version in versions([*changes, *ends]) if not version.is_empty}
    return versions([*changes, *(end for end in ends if end.order in ended)])


def _change(offset: int, event: Event) -> Change:
    values = None if event.op == "d" else {"value": event.value, "text": event.text}
    lacks = frozenset({"text"} if event.text is None else ())
    return Change(order=(event.lsn, offset), time_ms=START_MS + event.ms, values=values, lacks=lacks)


def _row(version: Version, event: Event) -> Row:
    lacks, is_tombstone = sorted(version.change.lacks), event.op == "t"
    partial = f'["{lacks[0]}"]' if lacks else None
    return {
        "_cdc_op": "d" if is_tombstone else event.op,
        "_cdc_source_ts": version.change.time_ms,
        "_cdc_schema_id": None if is_tombstone else VALUE_ID,
        "_cdc_valid_from": version.valid_from,
        "_cdc_valid_to": version.valid_to,
        "_cdc_end_position": _position(version.end),
        "_cdc_is_current": version.end is None,
        "_cdc_partial": "tombstone" if is_tombstone else partial,
        **(version.values or {"value": None, "text": None}),
    }


def _position(order: tuple[Any, ...] | None) -> str | None:
    """Write a position as the contract says: epoch, rank, the three terms, the offset."""
    if order is None:
        return None
    lsn, offset = order
    return f"0000.1.{lsn_text(lsn)}.00000000:00000000:0000.{0:019d}.{offset:019d}"


def _in_millis(row: Row) -> Row:
    """Return a row with its times in ms since 1970, independent of the zone of this process."""
    return {
        name: round(value.astimezone(UTC).timestamp() * 1000) if isinstance(value, datetime) else value
        for name, value in row.items()
    }
