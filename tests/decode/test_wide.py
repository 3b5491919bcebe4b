"""Wide tables and many schemas: a plan costs in proportion to the columns, for every form of messages."""

import json
import time

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.compile.table import compile_table
from ingest.decode.diagnosis import explain
from ingest.decode.events import decode_events, explain_rejects
from ingest.names import Topic
from ingest.run.batch.messages import written_in
from ingest.tables import TableConfig
from tests.decode.messages import frame
from tests.decode.test_seeds import ZH, message, sample
from tests.decode.wide import FORMS, Wide
from tests.feeds import feed

pytestmark = pytest.mark.spark

WIDTHS = (60, 120)
CASES = [
    pytest.param(form, marks=pytest.mark.pairs if form == "json without schema" else ()) for form in FORMS
]
SECONDS = 120
"""Far more than it takes, far less than an explosion does."""


def size(rows: DataFrame) -> int:
    """Return the length of the optimized plan."""
    return len(rows._jdf.queryExecution().optimizedPlan().toString())  # noqa: SLF001  (only there)


def messages(spark: SparkSession, wide: Wide) -> DataFrame:
    """Make messages, with the headers that an explanation looks at."""
    rows = frame(spark, [wide.whole, wide.rejected])
    return rows.withColumn("headers", F.lit(None).cast("array<struct<key:string,value:binary>>"))


@pytest.mark.parametrize("form", CASES)
def test_a_plan_is_linear_in_the_columns(spark: SparkSession, form: str) -> None:
    """Twice the columns, twice the plan: for a run, and for the reasons of rejects."""
    spark.conf.set("spark.sql.debug.maxToStringFields", "1000000")
    few, many = (FORMS[form](width) for width in WIDTHS)
    for plan in (decode_events, explain_rejects):
        smaller, larger = (size(plan(messages(spark, wide), wide.compiled)) for wide in (few, many))
        assert larger < 2.5 * smaller, plan.__name__


@pytest.mark.parametrize("form", CASES)
def test_a_rejected_record_of_many_columns_is_explained(spark: SparkSession, form: str) -> None:
    """In bounded time, also where a filter asks for some reasons: 75 columns once took all memory."""
    wide = FORMS[form](30 if form == "avro, ten deep" else 300)
    rows = messages(spark, wide)
    started = time.monotonic()
    rejected = decode_events(rows, wide.compiled).select("rejected").collect()
    assert [row.rejected for row in rejected] == [False, True]
    explained = explain(rows.where("offset = 101"), wide.compiled)
    assert explained.where("reason = 'truncate'").count() == 0
    (row,) = explained.where("reason = 'conversion' and error like 'value: column c%'").collect()
    assert row.error.startswith(("value: column c2 is not a valid", "value: column c0 is not a valid"))
    assert time.monotonic() - started < SECONDS


def test_schemas_that_differ_only_in_their_documentation_share_a_parser(spark: SparkSession) -> None:
    """A producer that writes the time of its build into `doc` sends a new text with each release."""
    key = json.dumps(sample("sqlserver-zh-key"), separators=(",", ":")).encode()
    pairs = []
    for number in range(300):
        node = message("sqlserver-zh-update", ZH)
        for image in node["schema"]["fields"][:2]:
            image["doc"] = "built " + "again " * number
        node["payload"]["after"]["id"] = node["payload"]["before"]["id"] = 1004
        pairs.append((key, json.dumps(node, separators=(",", ":")).encode()))
    values = written_in((value for _, value in pairs), "values")
    config = TableConfig(name="t", topic=Topic("t"), dialect="sqlserver", format="debezium-json")
    events = decode_events(
        frame(spark, pairs), compile_table(feed(config), written_in([key], "keys"), values)
    )
    taken = [(row.rejected, row.k.id, row.writer) for row in events.orderBy("offset").collect()]
    assert taken == [(False, 1004, number) for number in range(300)]
    plan = events._jdf.queryExecution().optimizedPlan().toString()  # noqa: SLF001  (only there)
    assert plan.count("from_json") <= 4
