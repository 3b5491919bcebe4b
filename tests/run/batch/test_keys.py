"""Keys that Hudi could not hold apart."""

import pytest
from pyspark.sql import SparkSession

from ingest.decode.events import decode_events, explain_rejects
from ingest.errors import EvolutionError
from ingest.names import SchemaId
from ingest.run.batch.keys import check_key_texts, with_key_rules
from ingest.testing import semantic
from tests.compile import sqlserver
from tests.compile.sqlserver import VALUE_ID, compiled
from tests.decode.messages import Topic, frame

pytestmark = pytest.mark.spark


def test_a_change_whose_key_hudi_would_mix_up_is_rejected_alone(spark: SparkSession) -> None:
    """`a:1,b:2` and `b:3` must not become the key of another row."""
    keys = {"a": "string", "b": "string"}
    topic = Topic([keys], keys=keys)
    rows = [("1", "2,b:3"), ("1,b:2", "3"), ("__empty__", "b"), ("", ""), ("", "b"), ("it's", "?")]
    messages = frame(spark, [topic.row({"a": a, "b": b}) for a, b in rows])
    table = with_key_rules(compiled(topic.versions, keys=keys))

    judged = decode_events(messages, table).orderBy("offset").select("rejected").collect()
    explained = explain_rejects(messages, table).orderBy("offset").select("reason", "error").collect()

    assert [row.rejected for row in judged] == [False, True, True, True, False, False]
    assert {row.reason for row in explained if row.reason} == {"unsafe-key"}
    assert explained[1].error == "key: key column a holds ',b:', which parts the columns of a record key"


def test_a_key_with_another_text_in_another_schema_is_refused() -> None:
    """A time of day with three digits and with six: one row would have two record keys."""
    millis, micros = semantic("int", "io.debezium.time.Time"), semantic("long", "io.debezium.time.MicroTime")
    versions, both = [{"k": millis}, {"k": micros}], {VALUE_ID, SchemaId(VALUE_ID + 1)}
    table = compiled(versions, keys={"k": millis})
    check_key_texts(table, {VALUE_ID})
    with pytest.raises(EvolutionError, match=r"Time becomes io.debezium.time.MicroTime.*would be doubled"):
        check_key_texts(table, both)
    check_key_texts(compiled(versions, keys={"k": millis}, of=sqlserver.table(time="micros")), both)
