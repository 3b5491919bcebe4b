"""Decode and convert against Spark's bare from_avro, over payloads in memory, into a no-op sink."""

import json
import time

from events import KEY_SCHEMA, TOPIC, messages, value_schema
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from ingest import avro
from ingest.compile.payload import WriterSchema
from ingest.compile.table import CompiledTable, compile_table
from ingest.decode.events import decode_events
from ingest.jars.artifacts import spark_jars
from ingest.masking import Masking
from ingest.names import SchemaId, Subject, Topic
from ingest.spark.session import start_session
from ingest.tables import Subjects, TableConfig, feeds

EVENTS = 4_000
COPIES = 40
COLUMNS = 31
KEY_ID = 1
ROUNDS = 12


def decode_against_bare() -> float:
    """Return bare time / our time, of the best rounds: the share of bare speed that is left."""
    spark = _spark()
    frame = _frame(spark, (2,))
    sides = {"key": KEY_SCHEMA, "value": value_schema(COLUMNS)}
    bare = frame.select(
        *(from_avro(F.expr(f"substring({side}, 6)"), json.dumps(schema)) for side, schema in sides.items())
    )
    ours = decode_events(frame, _compiled((2,)))
    best_bare, best_ours = _best(bare, ours)
    return best_bare / best_ours


def four_ids_against_one() -> float:
    """Return the time for four ids over the time for one."""
    spark = _spark()
    item = decode_events(_frame(spark, (2,)), _compiled((2,)))
    ids = (2, 3, 4, 5)
    four = decode_events(_frame(spark, ids), _compiled(ids))
    best_one, best_four = _best(item, four)
    return best_four / best_one


def _spark() -> SparkSession:
    return start_session("bench", "local[2]", {"spark.driver.memory": "3g"}, spark_jars())


def _frame(spark: SparkSession, value_ids: tuple[int, ...]) -> DataFrame:
    """Return messages in memory, without tombstones, as `kafka.read` gives them."""
    built = messages(EVENTS, EVENTS, COLUMNS, KEY_ID, value_ids)
    rows = [(0, n, bytearray(key), bytearray(value)) for n, (key, value) in enumerate(built)]
    few = spark.createDataFrame(rows, "partition int, offset bigint, key binary, value binary")
    many = few.crossJoin(spark.range(COPIES).withColumnRenamed("id", "copy")).drop("copy")
    many = many.repartition(2).persist()
    many.count()
    return many


def _compiled(value_ids: tuple[int, ...]) -> CompiledTable:
    topic = Topic(TOPIC)
    subjects = Subjects(key=Subject(f"{topic}-key"), value=Subject(f"{topic}-value"))
    table = TableConfig(name="wide", topic=topic, dialect="sqlserver", subjects=subjects)
    keys = [WriterSchema(SchemaId(KEY_ID), "key", avro.parse(json.dumps(KEY_SCHEMA)))]
    values = [
        WriterSchema(SchemaId(value_id), f"v{n + 1}", avro.parse(json.dumps(value_schema(COLUMNS, n))))
        for n, value_id in enumerate(value_ids)
    ]
    return compile_table(feeds(table, Masking())[0], keys, values)


def _best(one: DataFrame, other: DataFrame) -> tuple[float, float]:
    """Time both in turn, round by round; the best of the later rounds, when the code is warm."""
    times: list[tuple[float, float]] = [(_time(one), _time(other)) for _ in range(ROUNDS)]
    warm = times[ROUNDS // 3 :]
    return min(first for first, _ in warm), min(second for _, second in warm)


def _time(frame: DataFrame) -> float:
    started = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started
