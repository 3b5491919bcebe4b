"""The fold gives the rows that the source holds, however the messages are mixed and cut."""

import random
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest.decode.events import decode_events
from ingest.order.batch_counts import BatchCounts
from ingest.order.latest import latest_by_key, rejected
from ingest.order.models import count_batch
from ingest.spark.java import java_rows
from ingest.testing import nullable
from tests.compile.sqlserver import ID, VALUE_ID, compiled
from tests.decode.messages import Topic, change, frame, rows_of
from tests.order.source import Event, Source, lived

pytestmark = pytest.mark.spark

KEYS = {"stream": "int", "id": "int"}
TOPIC = Topic([{**KEYS, "value": nullable("int")}], keys=KEYS)
SEEDS = range(200)
BATCHES = 3
SPLIT = 10_000
"""Stream numbers from here on are batches: of the source `(stream - SPLIT) // BATCHES`."""


def message(stream: int, event: Event) -> tuple[bytes | None, bytes | None]:
    """Encode an event."""
    key = TOPIC.key(stream=stream, id=event.row)
    if not event.is_change:
        return key, None if event.op == "t" else b"\x00junk"
    row = {"stream": stream, "id": event.row, "value": event.value}
    return key, TOPIC.value(change(event.op, None if event.op == "d" else row, **event.source()))


def batches(seed: int, source: Source) -> list[list[tuple[int, Event]]]:
    """Cut a source's messages, with their offsets, into the batches of several runs."""
    choose = random.Random(seed)  # noqa: S311  no secret
    cuts = sorted(choose.randint(0, len(source.events)) for _ in range(BATCHES - 1))
    borders = [0, *cuts, len(source.events)]
    numbered = list(enumerate(source.events))
    return [numbered[start:end] for start, end in pairwise(borders)]


@attrs.frozen
class PreparedBatch:
    """What came out: for each stream and row its operation, value and position."""

    counts: BatchCounts
    rows: dict[int, dict[int, tuple[str, int | None, str]]]


SOURCES = {seed: lived(seed) for seed in SEEDS}


@pytest.fixture(scope="module")
def folded(spark: SparkSession) -> PreparedBatch:
    """Fold all sources at once, whole and in batches, their messages in no order at all."""
    numbered = [(seed, n, event) for seed, source in SOURCES.items() for n, event in enumerate(source.events)]
    numbered += [
        (SPLIT + seed * BATCHES + batch, n, event)
        for seed, source in SOURCES.items()
        for batch, part in enumerate(batches(seed, source))
        for n, event in part
    ]
    random.Random(1).shuffle(numbered)  # noqa: S311  no secret
    messages = frame(
        spark, [message(stream, event) for stream, _, event in numbered], [n for _, n, _ in numbered]
    )
    # Kafka's offsets are one sequence a partition: a reject is known by them
    messages = messages.selectExpr(
        "cast(monotonically_increasing_id() as int) as partition", "offset", "key", "value"
    )
    counts, written = rows_of(messages, compiled(TOPIC.versions, keys=KEYS))
    rows: dict[int, dict[int, tuple[str, int | None, str]]] = {}
    for row in written.collect():
        rows.setdefault(row["stream"], {})[row["id"]] = (row["_cdc_op"], row["value"], row["_cdc_position"])
    return PreparedBatch(counts, rows)


def held(rows: dict[int, tuple[str, int | None, str]]) -> dict[int, int | None]:
    """Return the content of a table after the rows were written, without deletes."""
    return {row: value for row, (op, value, _) in rows.items() if op != "d"}


def test_the_simulation_is_worth_the_name() -> None:
    """Each kind of event is there many times, and events of one key at one change LSN too."""
    ops = Counter(event.op for source in SOURCES.values() for event in source.events)
    assert min(ops[op] for op in "cudrt!") > 50
    pairs = sum(
        item.change is not None and (item.row, item.commit, item.change) == (two.row, two.commit, two.change)
        for source in SOURCES.values()
        for item, two in zip(source.events, source.events[2:], strict=False)
    )
    assert pairs > 50


def test_the_newest_changes_are_the_rows_of_the_source(folded: PreparedBatch) -> None:
    """In any permutation, with snapshots, key changes, pairs and replays."""
    results = {seed: held(folded.rows.get(seed, {})) for seed in SEEDS}
    assert {seed: rows for seed, rows in results.items() if rows != SOURCES[seed].rows} == {}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 0, 1, 2, 1)])
def test_batches_in_any_order_give_the_same_rows(order: tuple[int, ...], folded: PreparedBatch) -> None:
    """Late, or twice, if the table keeps the higher position, as Hudi does."""
    results = {
        seed: held(merged(folded.rows.get(SPLIT + seed * BATCHES + batch, {}) for batch in order))
        for seed in SEEDS
    }
    assert {seed: rows for seed, rows in results.items() if rows != SOURCES[seed].rows} == {}


def merged(parts: Iterable[dict[int, tuple[str, int | None, str]]]) -> dict[int, tuple[str, int | None, str]]:
    """Write batches over each other; a lower position does not win, even against a delete."""
    table: dict[int, tuple[str, int | None, str]] = {}
    for part in parts:
        for row, new in part.items():
            if row not in table or new[2] >= table[row][2]:
                table[row] = new
    return table


def test_every_message_is_counted_once(folded: PreparedBatch) -> None:
    """The sum: read = upserted + deleted + superseded + ignored + rejected, as the simulation knows it."""
    events = [
        (stream, event)
        for seed, source in SOURCES.items()
        for stream, part in [
            (seed, source.events),
            *((SPLIT + seed * BATCHES + n, [e for _, e in p]) for n, p in enumerate(batches(seed, source))),
        ]
        for event in part
    ]
    ops = Counter(event.op for _, event in events)
    keys = {(stream, event.row) for stream, event in events if event.is_change}
    counts = folded.counts
    assert counts.read == len(events)
    assert counts.rejected == ops["!"]
    assert counts.ignored == {"tombstone": ops["t"]}
    assert counts.upserted + counts.deleted == len(keys)
    assert counts.superseded == sum(ops[op] for op in "cudr") - len(keys)
    assert counts.upserted == sum(len(held(rows)) for rows in folded.rows.values())
    assert counts.counters() == {
        "read": counts.read,
        "upserted": counts.upserted,
        "deleted": counts.deleted,
        "superseded": counts.superseded,
        "rejected": ops["!"],
        "ignored.tombstone": ops["t"],
    }


# --- what else a fold knows ------------------------------------------------------------------------


def test_rejects_keep_their_places_where_a_column_is_a_map(spark: SparkSession) -> None:
    """Maps cannot be compared, and must not cost the place of a record."""
    topic = Topic([{**ID, "m": {"type": "map", "values": "int"}}])
    messages = [topic.row({"id": 1, "m": {"a": n}}) for n in range(3)] + [(topic.key(id=1), b"junk")]
    table = compiled(topic.versions)
    counts, rows = rows_of(frame(spark, messages), table)
    assert (counts.upserted, counts.superseded, counts.rejected) == (1, 2, 1)
    assert [row.m for row in rows.collect()] == [{"a": 2}]
    (position,) = rejected(latest_by_key(decode_events(frame(spark, messages), table), table)).collect()
    assert tuple(position) == (0, 103)


EVENT = (
    "kind string, rejected boolean, partition int, offset bigint, writer int, op string, "
    "sort_key struct<p0:int>, source_ms bigint, bytes bigint, k struct<id:int>, row struct<c0:int>"
)


def test_schema_ids_and_the_newest_source_time_are_those_of_the_changes(spark: SparkSession) -> None:
    """Of as many ids as there may be: a table lives long."""
    table = compiled([ID] * 130)
    seen = (0, 61, 62, 63, 123, 124, 129)

    def event(offset: int, writer: int | None, ts_ms: int | None, kind: str = "change") -> tuple[Any, ...]:
        return (kind, False, 0, offset, writer, "u", (offset,), ts_ms, 10, (offset,), (offset,))

    rows = [event(n, writer, 1_000 * n) for n, writer in enumerate(seen)]
    rows += [event(90, None, 9_000_000, "heartbeat"), event(91, 0, None)]
    counts = count_batch(latest_by_key(spark.createDataFrame(rows, EVENT), table), table)
    assert counts.schema_ids == tuple(VALUE_ID + writer for writer in seen)
    assert counts.max_source_ts == datetime(1970, 1, 1, 0, 0, 6, tzinfo=UTC)
    assert counts.read_bytes == 10 * len(rows)


def test_an_empty_range_counts_nothing(spark: SparkSession) -> None:
    """Offsets without messages are not messages."""
    table = compiled([ID])
    assert count_batch(latest_by_key(spark.createDataFrame([], EVENT), table), table) == BatchCounts()


def test_a_large_batch_is_reduced_in_more_tasks(spark: SparkSession) -> None:
    """One for each million events, if they are more than the session has, with the same counts."""
    table = compiled([ID])
    rows = [("change", False, 0, n, 0, "u", (n,), n, 10, (n % 7,), (n,)) for n in range(50)]
    events = spark.createDataFrame(rows, EVENT)
    usual, larger = latest_by_key(events, table), latest_by_key(events, table, 9_500_000)

    assert java_rows(usual).rdd().getNumPartitions() < java_rows(larger).rdd().getNumPartitions() == 9
    assert count_batch(larger, table) == count_batch(usual, table)
