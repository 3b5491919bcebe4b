"""The commits of a table as its people read them, without a JVM."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest

from ingest import Session
from ingest.cli.app import call
from ingest.errors import UsageError
from ingest.moments import to_millis
from ingest.names import Partition
from ingest.operations.status.history import parse_time
from tests.lakes import FIRST, MadeDeployment, MadeTable


@attrs.define
class Orders:
    """A deployment with one table of five commits: two runs, a move back, a replay, a run."""

    deployment: MadeDeployment
    table: MadeTable

    @property
    def session(self) -> Session:
        """Open a session that cannot start Spark."""
        return Session.open(
            self.deployment.root / "ingest.toml", overrides={"spark.master": "no-such-master"}
        )


@pytest.fixture
def orders(deployment: MadeDeployment) -> Orders:
    """Make the table."""
    table = deployment.table("orders")
    began = FIRST + timedelta(minutes=10) - timedelta(milliseconds=1_540)
    table.commit(8, schema_ids=[1], run_id="11111111-first", started_ms=to_millis(began))
    table.commit(15, schema_ids=[1, 2], columns={"id": "int", "name": "string", "phone": "string"})
    table.commit(15, kind="set-offsets", note="moved back", counters={}, to=10)
    table.commit(15, kind="replay", note="2 rejects", counters={"read": 2, "upserted": 2}, to=10)
    table.commit(14, counters={"read": 10, "deleted": 1, "rejected": 2, "ignored.tombstone": 7})
    return Orders(deployment, table)


def run_cli(orders: Orders, *arguments: str) -> str:
    """Run `ingest commits orders` as a process of its own; return its output."""
    command = [sys.executable, "-m", "ingest", "commits", "orders", *arguments]
    return subprocess.run(
        command, cwd=orders.deployment.root, capture_output=True, text=True, check=True
    ).stdout


def test_commits_say_what_came_from_which_offsets(orders: Orders) -> None:
    """Each with the offsets before it, newest first; the first one's beginning is unknown."""
    with orders.session as session:
        history = session.commits("orders")

    assert [commit.kind for commit in history.commits] == ["run", "replay", "set-offsets", "run", "run"]
    assert [commit.ranges().get(Partition(0)) for commit in history.commits] == [
        (10, 20), None, (20, 10), (10, 20), (None, 10),
    ]  # fmt: skip
    newest, *_, first = [commit.to_json() for commit in history.commits]
    assert (newest["read"], newest["applied"], newest["rejected"], newest["ignored"]) == (
        10, {"upserted": 0, "deleted": 1}, 2, {"tombstone": 7},
    )  # fmt: skip
    assert (first["run_id"], first["schema_ids"]) == ("11111111-first", [1])
    assert (first["read_seconds"], first["commit_seconds"], newest["read_seconds"]) == (1.5, 2.5, None)
    assert first["committed_at"] == "2026-11-20T08:10:02.500Z"
    assert not history.is_cut


def test_since_keeps_the_younger_commits(orders: Orders) -> None:
    """By the time from which readers see them."""
    with orders.session as session:
        assert len(session.commits("orders", since=FIRST + timedelta(minutes=25)).commits) == 3


def test_archived_commits_are_announced_unless_since_stops_before_them(orders: Orders) -> None:
    """Nothing is missing where the active timeline reaches back further."""
    (orders.table.folder / ".hoodie" / "timeline" / "history" / "a_b_0.parquet").touch()
    with orders.session as session:
        assert session.commits("orders").is_cut
        assert session.commits("orders", since=FIRST).is_cut
        assert not session.commits("orders", since=FIRST + timedelta(minutes=15)).is_cut


def test_times_do_not_depend_on_the_zone_of_hudis_instants(orders: Orders) -> None:
    """An old JVM east of UTC names instants hours ahead; the account knows the time."""
    orders.table.commit(
        20, committed_ms=int((orders.table.now + timedelta(minutes=10)).timestamp() * 1000) - 8 * 3_600_000
    )
    with orders.session as session:
        newest = session.commits("orders").commits[0]

    assert newest.stored.at == orders.table.now - timedelta(hours=8) + timedelta(seconds=2.5)


def test_other_writers_and_table_services_are_in_the_history(orders: Orders) -> None:
    """They moved no offsets."""
    for operation in ("COMPACT", "DELETE_PARTITION"):
        orders.table.now += timedelta(minutes=1)
        orders.table.commits += 1
        orders.table.write(operation, {"schema": "{}"}, 3)
    with orders.session as session:
        other, service, run, *_ = session.commits("orders").commits

    assert (other.kind, other.to_json()["operation"]) == ("other-writer", "delete_partition")
    assert (service.kind, service.ranges(), run.kind) == ("table-service", {}, "run")


@pytest.mark.parametrize(("minutes", "rows"), [(15, 8), (20.1, 15), (55, 14), (1e6, 14)])
def test_the_state_at_a_time_has_rows_and_queries(orders: Orders, minutes: float, rows: int) -> None:
    """Of the newest commit that readers saw then."""
    with orders.session as session:
        state = session.state_at("orders", FIRST + timedelta(minutes=minutes))

    assert state.rows == rows
    assert state.sql == f"SELECT * FROM `orders` TIMESTAMP AS OF '{state.commit.stored.instant}'"
    assert str(orders.table.folder) in state.create_sql
    assert str(orders.table.folder) in state.python


def test_a_time_before_the_first_commit_is_refused(orders: Orders) -> None:
    """With the time of the oldest one."""
    with (
        orders.session as session,
        pytest.raises(UsageError, match="oldest commit is of 2026-11-20T08:10:02"),
    ):
        session.state_at("orders", FIRST)


def test_a_session_in_a_catalog_queries_the_table_by_its_name(
    orders: Orders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without making it known first."""
    monkeypatch.setenv("INGEST_LAKE_DATABASE", "shop")
    state = json.loads(run_cli(orders, "--at", "2026-11-21", "--json"))
    assert [query.split()[3] for query in state["sql"]] == ["`shop`.`orders`"]


def test_the_text_fits_and_names_every_commit(orders: Orders) -> None:
    """One line per commit; columns without content are left out."""
    (orders.table.folder / ".hoodie" / "timeline" / "history" / "a_b_0.parquet").touch()
    out = run_cli(orders)

    assert "5 commits" in out
    assert "11111111" in out
    assert "moved back" in out
    assert "ingest commits orders --archived" in out
    assert max(map(len, out.splitlines())) <= 100


def test_the_json_has_every_field(orders: Orders) -> None:
    """A script reads the same; `--at` gives rows and queries."""
    history: dict[str, Any] = json.loads(run_cli(orders, "--since", "2026-11-20T08:45", "--json"))
    assert (len(history["commits"]), history["since"]) == (1, "2026-11-20T08:45:00Z")

    state = json.loads(run_cli(orders, "--at", "2026-11-20T16:15+08:00", "--json"))
    assert (state["rows"], state["at"]) == (8, "2026-11-20T08:15:00Z")
    out = run_cli(orders, "--at", "2026-11-20T08:15")
    assert "8 rows" in out
    assert "TIMESTAMP AS OF '20261120081000000'" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--since", "yesterday"), ("--at", "99999999h"), ("--at", ""), ("--since", "999999w"),
        ("--at", "1d", "--since", "1d"), ("--at", "1d", "--archived"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    """Exit code 2 and one line, before anything is read."""
    assert call(["commits", "orders", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_duration_is_before_now() -> None:
    """In units from seconds to weeks."""
    ages = [datetime.now(UTC) - parse_time("--since", text) for text in ("30s", "90m", "2 h", "1d", "2w")]
    assert [round(age.total_seconds()) for age in ages] == [30, 5_400, 7_200, 86_400, 1_209_600]
