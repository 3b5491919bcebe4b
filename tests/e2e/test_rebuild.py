"""A rebuilt table has the same rows and offsets, and the next run continues; a kill leaves one of both."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from ingest import Session
from ingest.errors import TableLockedError
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.operations.rebuild.rebuild import Rebuilt
from ingest.testing import nullable
from ingest.testing import time as time_of_day
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics
from tests.e2e.tablefiles import copy_table
from tests.hudi.conftest import timeline_of
from tests.patience import ANSWER_S
from torture.freezes import stopped

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "region": "string", "v": nullable("string"), "t": nullable(time_of_day("us"))}
NOON_US = 43_200_000_000
"""Noon, in microseconds since midnight."""
Row = dict[str, Any]


def row_of(key: int, value: str) -> Row:
    """Return a row of the source."""
    return {"id": key, "region": f"r{key % 3}", "v": value, "t": NOON_US + key}


FIRST = [
    *(Change("c", row_of(key, "a"), at=key) for key in range(1, 13)),
    Change("u", row_of(3, "b"), at=20),
    Change("d", row_of(4, "a"), at=21),
]
LATER = [
    Change("u", row_of(3, "c"), at=30),
    Change("u", row_of(5, "c"), at=31),
    Change("d", row_of(6, "a"), at=32),
    Change("c", row_of(40, "c"), at=33),
]


def source_rows(changes: Sequence[Change]) -> list[tuple[int, str, str, str]]:
    """Apply changes in plain Python; return the rows with their times as text."""
    rows = {change.row["id"]: change for change in changes}
    return sorted(
        (key, row["region"], row["v"], f"12:00:00.{row['t'] - NOON_US:06}")
        for key, change in rows.items()
        for row in [change.row]
        if change.op != "d"
    )


def lake_rows(deployment: Deployment, table: str) -> list[tuple[Any, ...]]:
    """Read a table with plain Spark."""
    return sorted(tuple(row) for row in deployment.frame(table).select("id", "region", "v", "t").collect())


def edit(deployment: Deployment, table: str, **values: str) -> None:
    """Set keys of a table file, by TOML."""
    path = deployment.tables / f"{table}.toml"
    text = path.read_text()
    for key, value in values.items():
        text, count = re.subn(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
        assert count == 1, f"{key} is in the file {count} times"
    path.write_text(text)


def rebuild(deployment: Deployment, table: str, source: Any = "table", **options: Any) -> Rebuilt:
    """Rebuild one table."""
    with deployment.session as session:
        return session.rebuild(table, source, **options)


def next_offsets(deployment: Deployment, table: str) -> dict[int, int]:
    """Return the offsets that the next run of a table starts from."""
    with deployment.session as session:
        (status,) = session.status([table])
    assert status.last is not None
    return dict(status.last.next_offsets)


CASES: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    "keyed": (
        {},
        {"type": '"mor"', "buckets": "5", "columns": '["id", "region"]'},
        "key.columns id -> id,region, buckets 2 -> 5, type cow -> mor",
    ),
    "parted": (
        {},
        {"partition_by": '["region"]', "index": '"global_simple"'},
        "index bucket -> global_simple, partition_by unset -> region",
    ),
    "flat": (
        {"partition_by": '["region"]', "index": '"global_simple"', "type": '"mor"'},
        {"partition_by": "[]", "type": '"cow"'},
        "partition_by region -> unset, type mor -> cow",
    ),
    "named": (
        {"partition_by": '["region"]\nhive_style_partitions = false', "index": '"global_simple"'},
        {"hive_style_partitions": "true"},
        "hive_style_partitions false -> true",
    ),
}
"""By table: the keys of the file at first, those of the rebuild, and the changes that the plan names."""


def test_a_rebuilt_table_has_its_rows_and_offsets_and_continues(
    make_deployment: Callable[[], Deployment],
) -> None:
    """Each part, from the table itself; runs are refused until then, and by the old file afterwards."""
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.orders": COLUMNS})
    deployment.onboard()
    for table, (begin, _, _) in CASES.items():
        copy_table(deployment, "orders", table, **begin)
    topics["orders"].send(*FIRST)
    assert deployment.run(list(CASES)).exit_code == 0
    offsets = {table: next_offsets(deployment, table) for table in CASES}
    files = {table: (deployment.tables / f"{table}.toml").read_text() for table in CASES}

    for table, (_, change, text) in CASES.items():
        edit(deployment, table, **change)
        (plan,) = deployment.plan([table])
        assert (plan.verdict, str(plan.rebuild)) == ("fail", f"{text}, 11 rows, about 1.0 min")
        assert f"`ingest rebuild {table} --from table`" in str(plan.error)
        result = rebuild(deployment, table)
        assert (result.outcome, result.error) == ("rebuilt", None)
        assert result.plan is not None
        assert ", ".join(map(str, result.plan.changes)) == text
        assert lake_rows(deployment, table) == source_rows(FIRST)
        assert next_offsets(deployment, table) == offsets[table]
        assert rebuild(deployment, table).outcome == "idle"

    topics["orders"].send(*LATER)
    assert deployment.run(list(CASES)).exit_code == 0
    for table in CASES:
        assert lake_rows(deployment, table) == source_rows([*FIRST, *LATER])
        (deployment.tables / f"{table}.toml").write_text(files[table])
    with deployment.session as session:
        assert [check.outcome for check in session.verify_files(list(CASES))] == ["sound"] * len(CASES)
    topics["orders"].send(Change("u", row_of(3, "d"), at=50))
    refused = deployment.run(list(CASES))
    assert {table.error and table.error.exit_code for table in refused.tables} == {1}


def test_values_that_a_policy_converted_come_from_the_topic(
    make_deployment: Callable[[], Deployment],
) -> None:
    """The table itself is refused; so is a topic without all messages, or without those of the rows."""
    deployment = make_deployment()
    name = f"{deployment.prefix}.testDB.dbo.times"
    topics = make_topics(deployment.servers, {name: COLUMNS})
    deployment.onboard()
    topics["times"].send(*FIRST)
    assert deployment.run().exit_code == 0
    offsets = next_offsets(deployment, "times")

    edit(deployment, "times", time='"micros"', buckets="3")
    (plan,) = deployment.plan()
    assert plan.rebuild is not None
    assert plan.rebuild.command == "ingest rebuild times --from topic"
    refused = rebuild(deployment, "times")
    assert refused.outcome == "failed"
    assert "types.time string -> micros: the table does not have the values" in str(refused.error)

    assert rebuild(deployment, "times", "topic").error is None
    rows = [(key, region, value, NOON_US + key) for key, region, value, _ in source_rows(FIRST)]
    assert lake_rows(deployment, "times") == rows
    assert next_offsets(deployment, "times") == offsets
    topics["times"].send(*LATER)
    assert deployment.run().exit_code == 0
    everything = source_rows([*FIRST, *LATER])
    rows = [(key, region, value, NOON_US + key) for key, region, value, _ in everything]
    assert lake_rows(deployment, "times") == rows

    edit(deployment, "times", time='"string"')
    admin = AdminClient({"bootstrap.servers": deployment.servers.bootstrap_servers})
    before = TopicPartition(name, 0, 2)
    admin.delete_records([before])[before].result(timeout=ANSWER_S)
    lost = rebuild(deployment, "times", "topic")
    assert "partition 0 of the topic begins at offset 2, not 0" in str(lost.error)
    assert lake_rows(deployment, "times") == rows


def state_of(home: Path) -> tuple[object, ...]:
    """Return the files of a table's timeline, and its properties."""
    try:
        text = (home / "hoodie.properties").read_bytes()
    except FileNotFoundError:
        text = b""
    return frozenset(file.name for file in timeline_of(home.parent).glob("[0-9]*")), text


def frozen_states(deployment: Deployment, table: str, work: Callable[[], object]) -> Iterator[Path]:
    """Do some work; yield the lake as a `kill -9` would have left it, at each change of the table's state."""
    lake = deployment.root / "lake"
    homes = [lake / table / ".hoodie", lake / "_rebuild" / table / ".hoodie"]
    seen, copies = set[tuple[object, ...]](), list[Path]()
    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        state = tuple(map(state_of, homes))
        if state not in seen:
            seen.add(state)
            copies.append(deployment.root / f"frozen{len(copies)}")
            with stopped(deployment.spark):
                shutil.copytree(lake, copies[-1])
        time.sleep(0.001)
    thread.join()
    yield from copies


@pytest.mark.parametrize(
    "change",
    [
        {"type": '"cow"', "buckets": "4", "columns": '["id", "region"]'},
        pytest.param({"partition_by": '["region"]', "index": '"global_simple"'}, marks=pytest.mark.pairs),
    ],
    ids=["in_place", "exchange"],
)
def test_a_kill_at_any_moment_leaves_the_old_table_or_the_new_one(
    change: dict[str, str], make_deployment: Callable[[], Deployment]
) -> None:
    """Readable at once, with its rows; runs are refused until the same command has finished the rebuild."""
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.killed": COLUMNS})
    deployment.onboard()
    edit(deployment, "killed", type='"mor"')
    topics["killed"].send(*FIRST)
    assert deployment.run().exit_code == 0
    before = lake_rows(deployment, "killed")
    assert before == source_rows(FIRST)
    edit(deployment, "killed", **change)

    outcomes = []
    for copy in frozen_states(deployment, "killed", lambda: rebuild(deployment, "killed")):
        frozen = attrs.evolve(deployment, root=copy)
        frame = deployment.spark.read.format("hudi").load(str(copy / "killed"))
        assert sorted(tuple(row) for row in frame.select("id", "region", "v", "t").collect()) == before
        (plan,) = plan_at(deployment, copy)
        result = rebuild_at(deployment, copy)
        assert result.error is None
        outcomes.append((plan.verdict, result.outcome, result.plan is None))
        assert lake_rows_at(frozen) == before
    assert ("fail", "rebuilt", False) in outcomes  # killed before the commit
    if "type" in change:
        assert ("fail", "rebuilt", True) in outcomes  # killed after it, before the type was set
    assert outcomes[-1][1] == "idle"
    topics["killed"].send(*LATER)
    assert deployment.run().exit_code == 0
    assert lake_rows(deployment, "killed") == source_rows([*FIRST, *LATER])


def session_at(deployment: Deployment, lake: Path) -> Session:
    """Open a deployment over another lake."""
    path = deployment.root / "ingest.toml"
    return Session.open(path, overrides={"lake.path": str(lake)}, spark=deployment.spark)


def plan_at(deployment: Deployment, lake: Path) -> Any:
    """Plan a run of the tables of another lake."""
    with session_at(deployment, lake) as session:
        return session.plan()


def rebuild_at(deployment: Deployment, lake: Path) -> Rebuilt:
    """Rebuild the table of another lake."""
    with session_at(deployment, lake) as session:
        return session.rebuild("killed")


def lake_rows_at(deployment: Deployment) -> list[tuple[Any, ...]]:
    """Read the table of a lake."""
    frame = deployment.spark.read.format("hudi").load(str(deployment.root / "killed"))
    return sorted(tuple(row) for row in frame.select("id", "region", "v", "t").collect())


def test_a_run_during_a_rebuild_is_temporary_and_finishes_one_that_was_killed(
    make_deployment: Callable[[], Deployment],
) -> None:
    """The file has changed already: a run waits for the rebuild, and does it after a kill."""
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.orders": COLUMNS})
    deployment.onboard()
    topics["orders"].send(*FIRST)
    assert deployment.run().exit_code == 0
    edit(deployment, "orders", buckets="5")
    topics["orders"].send(*LATER)
    note = deployment.root / ".ingest" / "state" / "rebuild" / "orders.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "ingest", "rebuild", "orders"], cwd=deployment.root, start_new_session=True
    )
    try:
        while not note.exists():
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGSTOP)
        with Session.open(
            deployment.root / "ingest.toml", overrides={"run.lock_wait_s": 0}, spark=deployment.spark
        ) as session:
            (waiting,) = session.run().tables
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert (waiting.outcome, type(waiting.error)) == ("temporary", TableLockedError)
    assert deployment.run().exit_code == 0
    assert not note.exists()
    assert lake_rows(deployment, "orders") == source_rows([*FIRST, *LATER])
    assert [entry.kind for entry in commits(deployment, "orders")] == ["run", "rebuild", "run"]


def commits(deployment: Deployment, table: str) -> list[LedgerEntry]:
    """Return the entries of a table's commits, newest first."""
    with deployment.session as session:
        return [commit.entry for commit in session.commits(table).commits if commit.entry]
