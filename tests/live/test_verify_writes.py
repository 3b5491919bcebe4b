"""`ingest verify` while its source is written to: it ends, and accuses nothing that is only late."""

import time

import pytest
from pyspark.sql import functions as F

from tests.live.steady import SteadyWriter
from tests.live.verified import LOST_BY_DEBEZIUM, STEADY, Live
from tests.live.writer import CompiledWriter

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]


def test_only_the_planted_fault_counts_among_writes(live: Live) -> None:
    """Transactions of several tables go on all the time; the lost row stays lost."""
    live.database.run("insert into inv.customers (id, first_name) values (1000, 'steady')")
    live.run("customers")
    live.plant("customers", lambda rows: rows.where("id != 1000"))
    with CompiledWriter(live.database, 7):
        customers = live.verify("customers")
        lines = live.verify("order_lines", mode="full")
    assert customers.error is None
    assert customers.counts == {"missing": 1}
    assert [row.key for row in customers.rows] == [{"id": "1000"}]
    assert lines.error is None
    assert lines.counts == {}


def test_a_steady_writer_is_never_accused(live: Live) -> None:
    """200 changes a second: every mode ends, and finds nothing."""
    with live.source(chunk_rows=2000), SteadyWriter(live.database, STEADY) as writer:
        answers = [live.verify("steady", mode=mode) for mode in ("checksums", "checksums", "full", "keys")]
        counted = live.verify("steady", mode="counts")
    assert writer.per_second > 150
    assert [answer.error for answer in (*answers, counted)] == [None] * 5
    assert [answer.counts for answer in answers] == [{}] * 4
    assert counted.outcome in {"equal", "in-flight"}
    assert any(answer.looks > 1 for answer in answers)


def test_faults_are_found_under_a_steady_writer(live: Live) -> None:
    """The rows that nobody writes any more are named, each in its kind; the others are equal."""
    live.database.run(f"{STEADY.fill(-2, -1)} {STEADY.fill(-9, -8)}")
    live.run("steady")
    live.plant(
        "steady",
        lambda rows: (
            rows.where("id != -1")
            .withColumn("b", F.expr("if(id = -2, b + 1, b)"))
            .unionByName(rows.where("id = -8").withColumn("id", F.expr("cast(-7 as bigint)")))
        ),
    )
    with live.source(chunk_rows=2000), SteadyWriter(live.database, STEADY, seed=2):
        answer = live.verify("steady")
    assert answer.error is None
    assert {int(row.key["id"]): (row.difference, row.columns) for row in answer.rows} == {
        -1: ("missing", ()), -2: ("different", ("b",)), -7: ("extra", ()),
    }  # fmt: skip
    live.plant("steady", lambda rows: rows.where("id > 0"))
    live.database.run("delete from inv.steady where id < 0")
    live.run("steady")


def test_a_connector_that_does_not_deliver_accuses_nothing(live: Live) -> None:
    """Its server has sent it the changes, and it has not read them: they are in flight."""
    with live.stopped_connector(), live.source(wait_s=2.0):
        live.database.run("update inv.widepk set v = 'late'")
        live.database.run("delete from inv.widepk where id = (select min(id) from inv.widepk)")
        answer = live.verify("widepk")
        counted = live.verify("widepk", mode="counts")
    assert (answer.error, answer.counts, answer.outcome) == (None, {}, "in-flight")
    assert "has not delivered position" in answer.note
    assert (counted.error, counted.outcome, counted.in_flight) == (None, "in-flight", 1)
    assert live.verify("widepk").outcome == "equal"


def test_tables_wait_for_the_connector_at_the_same_time(live: Live) -> None:
    """Two tables with late rows take less time than one after the other."""
    with live.stopped_connector(), live.source(wait_s=15.0):
        for name in ("widepk", "scratch"):
            live.database.run(
                f"update inv.{name} set v = 'later' where id = (select max(id) from inv.{name})"
            )
        began = time.monotonic()
        answers = live.verify_all("widepk", "scratch")
        seconds = time.monotonic() - began
    assert {name: answer.outcome for name, answer in answers.items()} == dict.fromkeys(answers, "in-flight")
    assert all("has not delivered position" in answer.note for answer in answers.values())
    assert sum(answer.seconds for answer in answers.values()) > seconds


def test_a_position_that_is_only_received_counts_after_a_while(live: Live) -> None:
    """In a quiet database the connector never confirms the newest position: the answer says so."""
    with live.quiet_log(), live.source(wait_s=8.0):
        answer = live.verify("all_types")
    assert (answer.error, answer.in_flight) == (None, 0)
    assert dict(answer.columns) == LOST_BY_DEBEZIUM["all_types"]
    assert "received position" in answer.note
    assert "did not confirm it" in answer.note
