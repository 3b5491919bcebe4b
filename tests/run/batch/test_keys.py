"""Keys that Hudi could not hold apart."""

import pytest
from pyspark.sql import SparkSession

from ingest.decode.events import decode_events, explain_rejects
from ingest.run.batch.keys import with_key_rules
from tests.compile.sqlserver import compiled
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
