"""Deleted rows that stay: any split into runs gives the same table, deletes included."""

import json
from typing import Any, Final

import pytest
from pyspark.sql import DataFrame, SparkSession

from ingest import avro
from ingest.compile.event import DELETED
from ingest.compile.payload import WriterSchema
from ingest.compile.table import CompiledTable, compile_table
from ingest.names import SchemaId, Subject
from ingest.names import Topic as Name
from ingest.order.changes import Stored
from ingest.order.models import model_of
from ingest.order.rewrite import merge
from ingest.tables import Subjects, TableConfig, Target
from ingest.testing import Message, Topic, nullable
from ingest.testing.envelopes import key_schema
from ingest.testing.servers import Memory
from tests.decode.messages import changes_of, frame
from tests.feeds import feed

pytestmark = pytest.mark.spark

UNSENT: Final = "__debezium_unavailable_value"
COLUMNS: Final = {"id": "int", "v": nullable("string"), "n": nullable("int")}
Row = tuple[Any, ...]


def row(number: int, v: str | None, n: int | None = 1) -> dict[str, Any]:
    """Make a row."""
    return {"id": number, "v": v, "n": n}


def life(topic: Topic) -> list[Message]:
    """Tell what happened; a delete brings nothing but the key, as PostgreSQL's do by default."""
    explained = [
        topic.create(row(1, "a"), at=11),
        topic.create(row(2, "b"), at=12),
        topic.update(row(2, UNSENT, 2), at=13),
        topic.delete(row(1, None, None), at=14),
        topic.create(row(3, "c"), at=16),
        topic.delete(row(2, None, None), at=15),
        topic.truncate(at=17),
        topic.create(row(4, "d"), at=18),
        topic.create(row(2, UNSENT, 3), at=19),
        topic.delete(row(4, None, None), at=20),
        topic.delete(row(5, None, None), at=21),
        # Late and older: against a delete, a truncate, and the delete of a row that nobody saw.
        topic.update(row(1, "late"), at=5),
        topic.update(row(3, "late"), at=5),
        topic.update(row(5, UNSENT, None), at=5),
    ]
    return [message for messages in explained for message in messages]


GONE: Final = {
    1: ("d", True, "a", 1),
    2: ("c", False, None, 3),  # its value is nobody's: the old row's was deleted
    3: ("d", True, "c", 1),
    4: ("d", True, "d", 1),
    5: ("d", True, None, None),
}


@pytest.fixture(scope="module")
def compiled() -> CompiledTable:
    """Compile a table that marks deleted rows."""
    subjects = Subjects(key=Subject("k"), value=Subject("v"))
    table = TableConfig(
        name="t", topic=Name("s.p.t"), dialect="postgres", subjects=subjects, target=Target(delete="soft")
    )
    topic = Topic.begin("s.p.t", COLUMNS, Memory(), connector="postgres")
    key, value = key_schema(topic.name, topic.key), topic.envelope(COLUMNS)
    return compile_table(
        feed(table),
        [WriterSchema(SchemaId(topic.key_id), "key", avro.parse(json.dumps(key)))],
        [WriterSchema(SchemaId(topic.current), "value", avro.parse(json.dumps(value)))],
    )


def run(
    spark: SparkSession, compiled: CompiledTable, batch: DataFrame, stored: DataFrame | None
) -> tuple[DataFrame, int]:
    """Lay a batch over the table, as Hudi does; return also how many values were lost."""
    changes, model = changes_of(batch, compiled, stored), model_of(compiled)
    rows = model.rows(changes, Stored(stored), None)
    lost = model.marks(changes, rows, Stored(stored)).lost
    table = merge(rows.limit(0) if stored is None else stored, rows, compiled)
    retained = spark.createDataFrame(table.collect(), table.schema)
    changes.rows.unpersist()
    return retained, lost


def values(table: DataFrame) -> dict[int, Row]:
    """Read a table's row for each key."""
    rows = table.select("id", "_cdc_op", DELETED, "v", "n").collect()
    return {row["id"]: tuple(row)[1:] for row in rows}


def test_rows_that_are_deleted_stay_however_the_runs_are_cut(
    spark: SparkSession, compiled: CompiledTable
) -> None:
    """Values of before the delete, its position, no revival by anything older; a replay changes nothing."""
    messages = life(Topic.begin("s.p.t", COLUMNS, Memory(), connector="postgres"))
    messages = [message for message in messages if message[1] is not None or message[0] is None]
    halves = [frame(spark, messages[start:end], range(start, end)) for start, end in ((0, 5), (5, 14))]

    first, nothing = run(spark, compiled, halves[0], None)
    second, lost = run(spark, compiled, halves[1], first)
    again, _ = run(spark, compiled, frame(spark, messages, range(len(messages))), second)

    assert len(messages) == 14
    assert values(second) == values(again) == GONE
    assert (nothing, lost) == (0, 1), "the value of a row that comes back"
