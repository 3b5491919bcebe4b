"""Tables of one topic that are run from one read of it."""

from typing import Final

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from ingest.errors import IngestError
from ingest.kafka.read import OFFSETS_PER_TASK
from ingest.report.outcome import TableOutcome
from ingest.spark.java import jvm_of
from ingest.testing import Topic, nullable
from ingest.testing.deployment import Deployment
from tests.long_files import write_out
from tests.patience import ANSWER_S

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS: Final = {"id": "int", "v": nullable("int")}
KEYS: Final = 500
EVENTS: Final = OFFSETS_PER_TASK + KEYS


def make_tables(deployment: Deployment, *, share_reads: bool) -> Topic:
    """Make a topic with many versions of few keys, and files for its current rows and its history."""
    topic = deployment.topic("shared.inv.rows", COLUMNS, connector="postgres")
    deployment.onboard([topic.name], name="rows")
    write_out(deployment.tables)
    text = (deployment.tables / "rows.toml").read_text()
    history = text.replace('table = "rows"', 'table = "versions"').replace('"upsert"', '"history"')
    (deployment.tables / "versions.toml").write_text(history)
    with (deployment.root / "ingest.toml").open("a") as settings:
        settings.write(f"[run]\nparallel_tables = 1\nshare_reads = {str(share_reads).lower()}\n")
    rows = ({"id": number % KEYS, "v": number} for number in range(EVENTS))
    topic.send(*(topic.create(row) if row["v"] < KEYS else topic.update(row, before=None) for row in rows))
    return topic


def run_while_messages_expire(deployment: Deployment, topic: Topic) -> list[TableOutcome]:
    """Run the tables one after the other; delete the messages when the first one has committed."""
    admin = AdminClient({"bootstrap.servers": deployment.servers.bootstrap_servers})

    def expire(_: str, step: str) -> None:
        if step == "committed":
            end = TopicPartition(topic.name, 0, EVENTS)
            admin.delete_records([end])[end].result(timeout=ANSWER_S)

    with deployment.session as session:
        return list(session.run(progress=expire).tables)


def kept_rdds(deployment: Deployment) -> set[int]:
    """Return the ids of what Spark keeps in memory and on disk."""
    spark = jvm_of(deployment.spark).org.apache.spark
    context = spark.api.java.JavaSparkContext.fromSparkContext(spark.SparkContext.getOrCreate())
    return set(context.getPersistentRDDs().keys())


def test_current_rows_and_history_come_from_one_read(ingest_deployment: Deployment) -> None:
    """The second table does not ask Kafka for messages that the first one has read."""
    topic = make_tables(ingest_deployment, share_reads=True)
    before = kept_rdds(ingest_deployment)
    outcomes = run_while_messages_expire(ingest_deployment, topic)
    assert [(table.outcome, str(table.error)) for table in outcomes] == [("committed", "None")] * 2
    assert [table.counts.read for table in outcomes] == [EVENTS] * 2

    rows, versions = ingest_deployment.frame("rows"), ingest_deployment.frame("versions")
    current = versions.where("_cdc_is_current").select("id", "v")
    assert versions.count() == EVENTS
    assert rows.select("id", "v").exceptAll(current).count() == 0
    assert current.count() == rows.count() == KEYS
    assert kept_rdds(ingest_deployment) <= before


def test_without_the_setting_each_table_reads(ingest_deployment: Deployment) -> None:
    """Messages that expire between the tables fail the second one; the first one stays."""
    topic = make_tables(ingest_deployment, share_reads=False)
    rows, versions = run_while_messages_expire(ingest_deployment, topic)
    assert (rows.outcome, versions.outcome) == ("committed", "failed")
    assert isinstance(versions.error, IngestError)
    assert ingest_deployment.frame("rows").count() == KEYS


def test_tables_at_other_offsets_read_by_themselves(ingest_deployment: Deployment) -> None:
    """A table that is behind reads its own range, and the rows are right."""
    topic = make_tables(ingest_deployment, share_reads=True)
    ingest_deployment.run(["rows"], max_offsets=OFFSETS_PER_TASK // 2)
    topic.send(topic.update({"id": 0, "v": -1}, before=None))
    assert {table.outcome for table in ingest_deployment.run().tables} == {"committed"}
    current = ingest_deployment.frame("versions").where("_cdc_is_current").select("id", "v")
    assert ingest_deployment.frame("rows").select("id", "v").exceptAll(current).count() == 0
    assert current.count() == KEYS
