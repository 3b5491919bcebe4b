"""Tombstones on compacted topics: tables equal the log, however it is compacted, cut and read again."""

import json
import random
from itertools import pairwise
from typing import Any, Literal

import attrs
import pytest
from pyspark.sql import DataFrame, SparkSession

from ingest import avro
from ingest.compile.event import DELETED
from ingest.compile.payload import WriterSchema
from ingest.compile.table import CompiledTable, compile_table
from ingest.decode.events import decode_events, explain_rejects
from ingest.names import SchemaId, Subject
from ingest.names import Topic as Name
from ingest.order.batch_counts import BatchCounts
from ingest.order.changes import Stored
from ingest.order.latest import latest_by_key
from ingest.order.models import count_batch, model_of
from ingest.order.rewrite import merge
from ingest.order.tombstones import stored_deletes
from ingest.tables import Subjects, TableConfig, Target
from ingest.testing import Message, Topic, nullable
from ingest.testing.envelopes import key_schema
from ingest.testing.servers import Memory
from tests.decode.messages import changes_of, frame
from tests.feeds import feed

pytestmark = pytest.mark.spark

COLUMNS = {"id": "int", "v": nullable("string")}
IDS = 6
STREAMS = 150
BATCHES = 3
Log = list[tuple[int, Message]]
"""Messages with their offsets."""


def topic_of(connector: str) -> Topic:
    """Begin a topic."""
    return Topic.begin("s.p.t", COLUMNS, Memory(), connector=connector)


def compiled_of(connector: str, delete: Literal["hard", "soft"]) -> CompiledTable:
    """Compile a table of the topic."""
    subjects = Subjects(key=Subject("k"), value=Subject("v"))
    table = TableConfig(
        name="t", topic=Name("s.p.t"), dialect=connector, subjects=subjects, target=Target(delete=delete)
    )
    topic = topic_of(connector)
    key, value = key_schema(topic.name, topic.key), topic.envelope(COLUMNS)
    return compile_table(
        feed(table),
        [WriterSchema(SchemaId(topic.key_id), "key", avro.parse(json.dumps(key)))],
        [WriterSchema(SchemaId(topic.current), "value", avro.parse(json.dumps(value)))],
    )


@attrs.frozen
class Table:
    """The rows so far, and the counts of all batches."""

    rows: DataFrame | None
    counts: tuple[BatchCounts, ...] = ()

    def after(self, spark: SparkSession, compiled: CompiledTable, log: Log) -> "Table":
        """Apply a batch as a run does."""
        batch = frame(spark, [message for _, message in log], [offset for offset, _ in log])
        stored = self.rows
        changes = changes_of(batch, compiled, stored)
        counts = changes.counts
        if counts.bare_tombstones and stored is not None:
            deletes = stored_deletes(changes, stored)
            counts = counts.with_tombstone_deletes(deletes.where("is_alone").count())
        rows = model_of(compiled).rows(changes, Stored(stored), None)
        assert rows.groupBy("id").count().where("count > 1").isEmpty(), "one row a key"
        table = merge(rows.limit(0) if stored is None else stored, rows, compiled)
        retained = spark.createDataFrame(table.collect(), table.schema).persist()
        changes.rows.unpersist()
        assert counts.read == len(log)
        return Table(retained, (*self.counts, counts))

    @property
    def alive(self) -> dict[int, str]:
        """The rows that are not deleted."""
        if self.rows is None:
            return {}
        rows = self.rows.where(f"not {DELETED}") if DELETED in self.rows.columns else self.rows
        return {row["id"]: row["v"] for row in rows.select("id", "v").collect()}


@attrs.frozen
class Record:
    """One message of a log; `value` is the row's text, None for a delete and for its tombstone."""

    offset: int
    key: int
    value: str | None
    message: Message


def lived(stream: int, topic: Topic) -> list[Record]:
    """Write a log of a few keys of its own: every delete has its tombstone."""
    choose = random.Random(stream)  # noqa: S311  no secret
    rows: dict[int, str] = {}
    log: list[Record] = []
    for number in range(choose.randint(1, 14)):
        key = stream * IDS + choose.randrange(IDS)
        row: dict[str, Any] = {"id": key, "v": f"{stream}-{number}"}
        if key in rows and choose.random() < 0.5:
            messages = topic.delete(row)
            del rows[key]
        else:
            messages = (topic.update if key in rows else topic.create)(row)
            rows[key] = row["v"]
        log += [Record(len(log) + n, key, rows.get(key), message) for n, message in enumerate(messages)]
    return log


def compacted(log: list[Record], choose: random.Random) -> list[Record]:
    """Clean a prefix of a log as Kafka does: only the last record of each key stays."""
    clean = choose.randint(0, len(log))
    last = {record.key: record.offset for record in log[:clean]}
    return [item for item in log if item.offset >= clean or last[item.key] == item.offset]


def slices(log: list[Record], choose: random.Random) -> list[list[Record]]:
    """Cut a log into the ranges of several runs; each reads the log as it is compacted then."""
    cuts = sorted(choose.randint(0, len(log)) for _ in range(BATCHES - 1))
    return [
        [item for item in compacted(log, choose) if start <= item.offset < end]
        for start, end in pairwise([0, *cuts, len(log)])
    ]


def batches(logs: list[list[Record]], seed: int) -> list[Log]:
    """Return the messages of each run, in no order at all."""
    choose = random.Random(seed)  # noqa: S311  no secret
    cut = [slices(log, choose) for log in logs]
    merged = [[part for parts in cut for part in parts[batch]] for batch in range(BATCHES)]
    for batch in merged:
        choose.shuffle(batch)
    return [[(item.offset, item.message) for item in batch] for batch in merged]


CASES = [
    ("sqlserver", "hard"),
    ("postgres", "soft"),
    pytest.param("oracle", "hard", marks=pytest.mark.pairs),
]


@pytest.mark.parametrize(("connector", "delete"), CASES)
def test_tables_equal_the_compacted_log(
    spark: SparkSession, connector: str, delete: Literal["hard", "soft"]
) -> None:
    """Whatever the cleaner removed before each run, and whatever is read again."""
    topic, compiled = topic_of(connector), compiled_of(connector, delete)
    logs = [lived(stream, topic) for stream in range(STREAMS)]
    last = {record.key: record.value for log in logs for record in log}
    expected = {key: value for key, value in last.items() if value is not None}
    table = Table(None)
    for batch in batches(logs, 1):
        table = table.after(spark, compiled, batch)
    assert table.alive == expected
    assert sum(counts.bare_tombstones for counts in table.counts) > STREAMS / 10
    for batch in batches(logs, 2)[1:]:
        table = table.after(spark, compiled, batch)
    assert table.alive == expected


def test_only_rows_of_earlier_offsets_of_the_partition_are_deleted(spark: SparkSession) -> None:
    """A newer row, one of another partition, and one whose delete is there keep what they have."""
    topic, compiled = topic_of("sqlserver"), compiled_of("sqlserver", "hard")
    rows = [{"id": key, "v": "a"} for key in range(5)]
    creates = [topic.create(row)[0] for row in rows]
    table = Table(None).after(spark, compiled, list(zip((10, 10, 30, 10, 10), creates, strict=True)))
    tombstones = [topic.tombstone(row)[0] for row in rows]
    stale = topic.delete(rows[3], at=1, tombstone=False)[0]
    batch = [(20, tombstones[0]), (20, tombstones[2]), (20, stale), (21, tombstones[3]), (21, tombstones[4])]
    after = table.after(spark, compiled, [*batch, (20, topic.update({"id": 4, "v": "b"}, at=1)[0])])

    assert after.alive == {1: "a", 2: "a", 3: "a"}
    counts = after.counts[-1]
    assert (counts.deleted, counts.superseded, counts.ignored) == (3, 1, {"tombstone": 2})


def test_a_tombstone_after_its_delete_needs_no_look_at_the_table(spark: SparkSession) -> None:
    """As connectors send them: the delete, then the tombstone."""
    topic, compiled = topic_of("sqlserver"), compiled_of("sqlserver", "hard")
    messages = [*topic.create({"id": 1, "v": "a"}), *topic.delete({"id": 1, "v": "a"})]
    messages += [*topic.create({"id": 2, "v": "a"}), *topic.tombstone({"id": 3})]
    table = Table(None).after(spark, compiled, list(enumerate(messages)))
    assert table.counts[0].bare_tombstones == 1
    assert table.counts[0].ignored == {"tombstone": 2}
    assert table.alive == {2: "a"}


def test_a_soft_delete_by_tombstone_keeps_values_and_loses_only_against_newer_changes(
    spark: SparkSession,
) -> None:
    """Its position is the row's, at the tombstone's offset."""
    topic, compiled = topic_of("sqlserver"), compiled_of("sqlserver", "soft")
    (create,) = topic.create({"id": 1, "v": "a"}, at=5)
    table = Table(None).after(spark, compiled, [(10, create)])
    table = table.after(spark, compiled, [(20, topic.tombstone({"id": 1})[0])])
    late = table.after(spark, compiled, [(21, topic.update({"id": 1, "v": "late"}, at=4)[0])])
    assert table.rows is not None
    assert late.rows is not None
    for rows in (table.rows, late.rows):
        (row,) = rows.select("_cdc_op", DELETED, "v", "_cdc_offset").collect()
        assert tuple(row) == ("d", True, "a", 20)
    assert late.after(spark, compiled, [(22, topic.create({"id": 1, "v": "b"}, at=6)[0])]).alive == {1: "b"}


def test_tombstones_whose_keys_cannot_be_read_are_rejected(spark: SparkSession) -> None:
    """A delete may be behind them; a message without key and value names no row."""
    compiled = compiled_of("sqlserver", "hard")
    batch = [(1, (b"\x00\x00\x00\x00\x63junk", None)), (2, (b"junk", None)), (3, (None, None))]
    events = frame(spark, [message for _, message in batch])
    counts = count_batch(latest_by_key(decode_events(events, compiled), compiled), compiled)
    assert (counts.rejected, counts.ignored) == (2, {"empty-message": 1})
    reasons = [
        row["reason"]
        for row in explain_rejects(events.where("offset < 102"), compiled).orderBy("offset").collect()
    ]
    assert reasons == ["unknown-schema", "unreadable"]
