"""Sources that `ingest verify` cannot use: each is an error that says why, and accuses nothing."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import functions as F

from ingest.errors import SourceRefusedError, SourceUnreachableError, UsageError
from ingest.local.ports import choose_port
from tests.live.database import Database, serve_replica
from tests.live.verified import Live

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]

KILL_WAITING = """
select count(pg_terminate_backend(pid)) from pg_stat_activity
where wait_event_type = 'Lock' and backend_type = 'client backend'
"""
WAIT_S = 60.0


@contextmanager
def locked(database: Database, table: str) -> Iterator[None]:
    """Let readers of a table wait."""
    with database.transaction() as transaction:
        transaction.run(f"lock table {table} in access exclusive mode")
        yield


@contextmanager
def connections_cut(database: Database) -> Iterator[None]:
    """Terminate the connections that wait for a lock, as a server that goes down does."""
    leaving = threading.Event()

    def cut() -> None:
        while not leaving.wait(0.2):
            database.run(KILL_WAITING)

    thread = threading.Thread(target=cut)
    thread.start()
    try:
        yield
    finally:
        leaving.set()
        thread.join()


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"user": "reader"}, SourceRefusedError, "permission denied for table hidden"),
        ({"user": "nobody_here"}, SourceRefusedError, 'role "nobody_here" does not exist'),
        ({"database": "template1"}, UsageError, "postgres.inv.hidden"),
        ({"port": choose_port()}, SourceUnreachableError, "refused"),
    ],
)
def test_a_wrong_source_is_named(
    settings: dict[str, Any], error: type[Exception], text: str, live: Live
) -> None:
    """Nothing is compared, and the error says why."""
    with live.source(**settings):
        answer = live.verify("hidden")
    assert isinstance(answer.error, error)
    assert text in str(answer.error)
    assert answer.counts == {}


def test_a_dropped_column_is_named(live: Live) -> None:
    """Others are compared."""
    live.database.run("alter table inv.dropped drop column v; alter table inv.dropped add column x int")
    answer = live.verify("dropped")
    assert answer.error is None
    assert answer.outcome == "equal"
    assert dict(answer.uncompared) == {
        "v": "is not a column of the source",
        "x": "is not a column of the table",
    }
    live.plant("dropped", lambda rows: rows.withColumn("w", F.expr("if(id = 2, 3, w)")))
    assert live.verify("dropped").columns == {"w": 1}


def test_a_column_that_changed_its_type_is_compared_where_its_values_are(live: Live) -> None:
    """The table keeps the new type in a column of its own; the old one is named as not compared."""
    file = live.deployment.tables / "evolved.toml"
    file.write_text(f'{file.read_text()}\n[evolution]\ncolumn-changed = "evolve"\n')
    live.database.run("alter table inv.evolved alter column a type bytea using convert_to(a, 'UTF8')")
    live.database.run("update inv.evolved set b = 'c'")
    live.run("evolved")
    answer = live.verify("evolved")
    assert answer.error is None
    (home,) = [name for name in answer.compared if name.startswith("a_v")]
    assert (answer.error, answer.outcome) == (None, "equal")
    assert dict(answer.uncompared) == {"a": f"holds values of an earlier type; column {home} has the newest"}
    live.plant("evolved", lambda rows: rows.withColumn(home, F.expr(f"if(id = 2, null, {home})")))
    assert live.verify("evolved").columns == {home: 1}


def test_keys_that_a_collation_makes_equal_are_compared_by_their_octets(live: Live) -> None:
    """A key in the other case is another key: one is missing, one is extra, and no row counts twice."""
    live.plant("cased", lambda rows: rows.withColumn("k", F.expr("if(k = 'a', 'A', k)")))
    answer = live.verify("cased")
    assert answer.error is None
    assert {(row.key["k"], row.difference) for row in answer.rows} == {("a", "missing"), ("A", "extra")}
    live.plant("cased", lambda rows: rows.withColumn("k", F.expr("if(k = 'A', 'a', k)")))
    live.database.run("update inv.cased set k = 'b' where k = 'B'")
    live.run("cased")
    assert live.verify("cased").outcome == "equal"


def test_a_source_that_goes_away_while_it_sums_is_temporary(live: Live) -> None:
    """The connections are cut during the checksums of chunks."""
    with locked(live.database, "inv.hidden"), connections_cut(live.database):
        answer = live.verify("hidden")
    assert isinstance(answer.error, SourceUnreachableError), answer.error
    assert answer.counts == {}
    assert live.verify("hidden").outcome == "equal"


def test_a_source_that_goes_away_while_rows_are_read_is_temporary(live: Live) -> None:
    """The connections are cut later, while Spark reads the rows of a chunk."""
    live.plant("hidden", lambda rows: rows.withColumn("v", F.lit("y")))
    until_end = threading.Event()

    def lock_rows() -> None:
        with locked(live.database, "inv.hidden"), connections_cut(live.database):
            until_end.wait(WAIT_S)

    thread = threading.Thread(target=lock_rows)

    def progress(_: str, step: str) -> None:
        if step.startswith("compared") and not thread.is_alive():
            thread.start()
            time.sleep(1.0)

    try:
        answer = live.verify("hidden", progress=progress)
    finally:
        until_end.set()
        thread.join()
    assert isinstance(answer.error, SourceUnreachableError), answer.error
    assert answer.counts == {}
    live.plant("hidden", lambda rows: rows.withColumn("v", F.lit("x")))
    assert live.verify("hidden").outcome == "equal"


def test_a_query_that_exceeds_its_time_is_temporary(live: Live) -> None:
    """A statement that waits for a lock ends by its time limit."""
    with locked(live.database, "inv.hidden"), live.source(statement_timeout_s=1):
        answer = live.verify("hidden")
    assert isinstance(answer.error, SourceUnreachableError), answer.error
    assert "cancel" in str(answer.error)


def test_a_replica_that_lags_is_refused(live: Live) -> None:
    """Its rows may be older than the table's; as it is, it is compared on request, and the answer says so."""
    with serve_replica(live.database) as replica:
        replica.run("select pg_wal_replay_pause()")
        live.database.run("insert into inv.scratch values (1001, 'not in the replica')")
        live.run("scratch")
        with live.source(port=replica.port):
            answer = live.verify("scratch")
            as_is = live.verify("scratch", following="as-is")
    assert isinstance(answer.error, SourceRefusedError)
    assert "is a replica, which may lag" in str(answer.error)
    assert answer.counts == {}
    assert as_is.counts == {"extra": 1}
    assert "replica" in as_is.note
    assert live.verify("scratch").outcome == "equal"
