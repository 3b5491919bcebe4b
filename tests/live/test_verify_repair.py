"""`ingest verify --repair` through a real connector, and the deletion of extra rows."""

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.live.engine import signal_topic
from tests.live.verified import PREFIX, Live

SIGNAL_TOPIC = signal_topic(PREFIX)
pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]


def test_a_repair_makes_the_table_equal(live: Live) -> None:
    """The connector sends exactly the rows that differ; extra rows go in a commit that says so."""

    def change(rows: DataFrame) -> DataFrame:
        changed = rows.where("id not in (103, 104)").withColumn("v", F.expr("if(id = 107, 'wrong', v)"))
        return changed.unionByName(rows.where("id = 110").withColumn("id", F.lit(177)))

    live.plant("repaired", change)
    shown = live.verify("repaired", repair="print")
    assert shown.counts == {"missing": 2, "different": 1, "extra": 1}
    (statement,) = shown.repair
    assert '"inv"."debezium_signal"' in statement
    assert '\\"id\\" BETWEEN 103 AND 104 OR \\"id\\" = 107' in statement

    repaired = live.verify("repaired", repair="execute", lake_wait_s=120.0)
    assert repaired.error is None
    assert (repaired.counts, repaired.deleted) == ({"extra": 1}, 0)
    assert (repaired.source_rows, repaired.table_rows) == (10, 11)
    events = live.deployment.frame("repaired").where("_cdc_op = 'r' and id in (103, 104, 107)")
    assert events.count() == 3

    deleted = live.verify("repaired", delete_extra=True)
    assert (deleted.outcome, deleted.deleted, deleted.error) == ("equal", 1, None)
    with live.deployment.session as session:
        commits = session.commits("repaired").commits
    notes = [str(commit.entry.note) for commit in commits if commit.kind == "repair" and commit.entry]
    assert notes == ["verify deleted 1 rows that its source postgres.inv.repaired does not have"]


def test_a_repair_through_kafka_writes_nothing_in_the_source(live: Live) -> None:
    """A user who may only read is enough."""
    live.database.run("grant select on inv.repaired to reader; grant pg_monitor to reader")
    live.plant("repaired", lambda rows: rows.where("id not in (105, 106)"))
    with live.source(user="reader", signals="", signal_topic=SIGNAL_TOPIC):
        (message,) = live.verify("repaired", repair="print").repair
        repaired = live.verify("repaired", repair="execute", lake_wait_s=120.0)
    assert message.startswith(f"{SIGNAL_TOPIC}: {PREFIX} {{")
    assert '\\"id\\" BETWEEN 105 AND 106' in message
    assert (repaired.error, repaired.outcome) == (None, "equal")
    live.plant("repaired", lambda rows: rows.where("id <> 106"))
    with live.source(signals=""):
        shown = live.verify("repaired", repair="print")
    assert (shown.error, shown.outcome, shown.counts) == (None, "different", {"missing": 1})
    assert "does not say where its signals go" in shown.note
    assert live.verify("repaired", repair="execute", lake_wait_s=120.0).outcome == "equal"


def test_a_newer_change_wins_against_the_deletion_of_an_extra_row(live: Live) -> None:
    """A row that comes back under the key of a deleted one is stored."""
    live.plant("repaired", lambda rows: rows.unionByName(rows.where("id = 110").withColumn("id", F.lit(178))))
    assert live.verify("repaired", delete_extra=True).deleted == 1
    live.database.run("insert into inv.repaired values (178, 'back')")
    live.run("repaired")
    assert live.deployment.frame("repaired").where("id = 178 and v = 'back'").count() == 1
    assert live.verify("repaired").outcome == "equal"
