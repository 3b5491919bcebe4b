"""Find the tables that the messages of a topic name, by reading all of them."""

from collections.abc import Mapping

import attrs
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row
from pyspark.sql import functions as F

from ingest.compile.payload import WriterSchema
from ingest.decode.owner import OTHER, UNCLEAR, has_source, source_name
from ingest.decode.wire import is_framed, written_id_sql
from ingest.errors import IngestError, UnexpectedError
from ingest.kafka.topics import broker_gone
from ingest.names import SchemaId, Topic
from ingest.registry import Registry
from ingest.run.batch.again import read_topic
from ingest.run.batch.owners import Owners, find_owners
from ingest.run.batch.schemas import fetch_by_id
from ingest.run.batch.topic_tables import SourceTable, TopicTables
from ingest.run.work.context import Context
from ingest.run.work.fleet import KAFKA_DOWN
from ingest.spark.java_errors import class_names, root_cause
from ingest.sql.template import literal, sql


@attrs.define
class _Counted:
    """The messages of a table, and the schema ids of their keys and values."""

    messages: int = 0
    key_ids: set[int] = attrs.Factory(set)
    value_ids: set[int] = attrs.Factory(set)


def read_tables(run: Context, topic: Topic, values: tuple[WriterSchema, ...], messages: int) -> TopicTables:
    """Return the tables of a topic.  Reads about as many messages, and decodes only their source blocks.

    `values` are the schemas of its subjects.  Others are fetched by their ids.
    """
    key_id = sql(
        "if(owner.kind = {other} and {framed}, cast({id} as bigint), null)",
        other=literal(OTHER),
        framed=is_framed("key"),
        id=written_id_sql("key"),
    )
    run.waiting[topic] = messages
    spark = run.spark
    run.progress(topic, "reading its tables")
    try:
        topic_messages = read_topic(spark, run.settings.kafka, topic)
        owners = find_owners(topic_messages, run.registry, values, {}, {"key_id": F.expr(str(key_id))})
    except (Py4JJavaError, PySparkException) as error:
        raise _unreadable(run, topic, error) from error
    finally:
        run.progress(topic, "idle")
    return _tables(owners, run.registry)


def _unreadable(run: Context, topic: Topic, error: Exception) -> IngestError:
    if class_names(error) & KAFKA_DOWN:
        return broker_gone(run.settings.kafka, root_cause(error))
    return UnexpectedError(f"topic {topic}", root_cause(error))


def _tables(owners: Owners, registry: Registry) -> TopicTables:
    counted: dict[str, _Counted] = {}
    unnamed: dict[SchemaId, WriterSchema] = {}
    unreadable = 0
    for row in owners.groups:
        writer = _writer(owners, row)
        name = source_name(row.source.asDict(), writer) if row.source and writer else ""
        if name and writer:
            _count(counted.setdefault(name, _Counted()), row, writer)
        elif writer and not has_source(writer):
            unnamed[writer.schema_id] = writer
        elif row.kind in (OTHER, UNCLEAR):
            unreadable += row.messages
    keys = _fetch_keys(registry, counted)
    tables = (
        SourceTable(
            name,
            table.messages,
            tuple(keys[number] for number in sorted(table.key_ids) if number in keys),
            tuple(value for value in owners.values if value.schema_id in table.value_ids),
        )
        for name, table in sorted(counted.items())
    )
    return TopicTables(tuple(tables), tuple(unnamed.values()), unreadable)


def _writer(owners: Owners, row: Row) -> WriterSchema | None:
    """Return the schema of a group's values, if it is known."""
    return owners.values[row.writer] if row.writer is not None and row.writer >= 0 else None


def _count(table: _Counted, row: Row, writer: WriterSchema) -> None:
    table.messages += row.messages
    table.value_ids.add(writer.schema_id)
    if row.key_id is not None:
        table.key_ids.add(row.key_id)


def _fetch_keys(registry: Registry, counted: Mapping[str, _Counted]) -> dict[int, WriterSchema]:
    numbers = sorted({number for table in counted.values() for number in table.key_ids})
    return {key.schema_id: key for key in fetch_by_id(registry, map(SchemaId, numbers))}
