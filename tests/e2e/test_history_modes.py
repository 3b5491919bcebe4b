"""Histories with all that table files, topics and commands do to them."""

from pathlib import Path
from typing import Any

import pytest

from ingest.errors import RebuildError, TableChangedError
from ingest.testing import Messages, Topic, nullable
from ingest.testing.deployment import Deployment
from tests.long_files import write_out

pytestmark = [pytest.mark.spark, pytest.mark.servers]

TEXTS = nullable({"type": "array", "items": "string"})
COLUMNS = {"id": "int", "v": nullable("int"), "big": nullable("string"), "texts": TEXTS}
MISSING = "__debezium_unavailable_value"
START_MS = 1_700_000_000_000


def event(topic: Topic, op: str, key: int, v: int = 0, *, at: int, big: str = "x") -> Messages:
    """Make a change at a position, which is also its time."""
    place = {"sequence": f'["{at}","{at}"]', "lsn": at, "ts_ms": START_MS + at}
    return (topic.change(op, {"id": key, "v": v, "big": big, "texts": [f"t{v}"]}, at=place),)


def truncate(topic: Topic, *, at: int) -> Messages:
    """Make a truncate at a position."""
    return topic.truncate(at={"sequence": f'["{at}","{at}"]', "lsn": at, "ts_ms": START_MS + at})


def edit(deployment: Deployment, table: str, **lines: str) -> None:
    """Set keys of a table file; `rest` is text to add."""
    path = deployment.tables / f"{table}.toml"
    text = path.read_text()
    for key, value in lines.items():
        before = next((line for line in text.splitlines() if line.startswith(f"{key} = ")), None)
        text = text.replace(before, f"{key} = {value}") if before else f"{text}\n{value}\n"
    path.write_text(text)


def run(deployment: Deployment, max_offsets: int | None = None) -> None:
    """Run the tables of a deployment, which must commit."""
    report = deployment.run(max_offsets=max_offsets)
    assert [(outcome.outcome, str(outcome.error)) for outcome in report.tables] == [("committed", "None")]


def versions(deployment: Deployment, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return the versions, with their times since the start; the end is None for a current one."""
    frame = deployment.frame(table).where("_cdc_end_position is null or _cdc_position < _cdc_end_position")
    times = [f"int(unix_millis(_cdc_valid_{end}) - {START_MS})" for end in ("from", "to")]
    rows = frame.orderBy("id", "_cdc_position").selectExpr("id", *(columns or ("v",)), *times).collect()
    return [tuple(row) for row in rows]


def table_of(deployment: Deployment, name: str) -> Topic:
    """Make a topic and the table file of its history."""
    topic = deployment.topic(f"{name}.inv.rows", COLUMNS, connector="postgres")
    deployment.onboard([topic.name], name=name)
    write_out(deployment.tables)
    edit(deployment, name, mode='"history"')
    return topic


def test_a_truncate_ends_versions_of_rows_that_come_later(ingest_deployment: Deployment) -> None:
    """In slices; a row that was deleted before has no end by it, whichever of both arrives first."""
    topic = table_of(ingest_deployment, "cut")
    topic.send(event(topic, "c", 1, at=10), event(topic, "c", 2, at=11), truncate(topic, at=20))
    topic.send(event(topic, "c", 1, 5, at=30))
    run(ingest_deployment)
    topic.send(event(topic, "c", 3, at=12), event(topic, "d", 2, at=15), event(topic, "u", 1, 1, at=13))
    run(ingest_deployment)
    expected = [(1, 0, 10, 13), (1, 1, 13, 20), (1, 5, 30, None), (2, 0, 11, 15), (3, 0, 12, 20)]
    assert versions(ingest_deployment, "cut") == expected
    ends = ingest_deployment.frame("cut").where("_cdc_op = 'd'").orderBy("id").select("id", "_cdc_offset")
    assert [tuple(row) for row in ends.collect()] == [(1, 2), (2, 5), (3, 2)]

    with ingest_deployment.session as session:
        session.move_offsets("cut", "earliest")
    run(ingest_deployment)
    assert versions(ingest_deployment, "cut") == expected


def test_a_tombstone_without_its_delete_ends_the_version(ingest_deployment: Deployment) -> None:
    """At the time of its message: the delete was compacted away, or rejected."""
    topic = table_of(ingest_deployment, "tomb")
    topic.send(event(topic, "c", 1, at=10), event(topic, "c", 2, at=11), event(topic, "d", 2, at=12))
    run(ingest_deployment)
    topic.send(topic.tombstone({"id": 2}), topic.tombstone({"id": 1}), topic.tombstone({"id": 3}))
    run(ingest_deployment)
    (first, second) = versions(ingest_deployment, "tomb")
    assert (first[:3], second) == ((1, 0, 10), (2, 0, 11, 12))
    assert first[3] > 0
    topic.send(event(topic, "c", 1, 7, at=20), topic.tombstone({"id": 1}), event(topic, "c", 1, 8, at=21))
    run(ingest_deployment)
    assert [row[1] for row in versions(ingest_deployment, "tomb")] == [0, 7, 8, 0]


def test_a_delete_that_comes_after_its_tombstone_takes_its_place(ingest_deployment: Deployment) -> None:
    """The table is the one of a single run, also where the row began before and goes on after it."""
    topic = table_of(ingest_deployment, "late")
    topic.send(event(topic, "c", 1, at=10), event(topic, "c", 2, at=11))
    topic.send(event(topic, "u", 1, 1, at=20), event(topic, "d", 1, at=30), topic.tombstone({"id": 1}))
    topic.send(event(topic, "c", 1, 5, at=40), topic.tombstone({"id": 2}))
    with ingest_deployment.session as session:
        run(ingest_deployment, max_offsets=2)
        session.move_offsets("late", "0=4")
        run(ingest_deployment)
        early = versions(ingest_deployment, "late")
        assert [row[:2] for row in early] == [(1, 0), (1, 5), (2, 0)]
        assert early[0][3] > 40
        session.move_offsets("late", "earliest")
    run(ingest_deployment)
    found = versions(ingest_deployment, "late")
    assert found[:3] == [(1, 0, 10, 20), (1, 1, 20, 30), (1, 5, 40, None)]
    assert found[3] == early[2]
    ends = ingest_deployment.frame("late").where("_cdc_op = 'd'").orderBy("id")
    assert [tuple(row) for row in ends.select("id", "_cdc_offset", "_cdc_partial").collect()] == [
        (1, 3, None),
        (2, 6, "tombstone"),
    ]


def shards_of(deployment: Deployment, name: str) -> tuple[Topic, Topic]:
    """Make two topics, and the table file of their history."""
    topics = [f"{name}{number}.inv.rows" for number in (1, 2)]
    first, second = (deployment.topic(topic, COLUMNS, connector="postgres") for topic in topics)
    with deployment.session as session:
        session.onboard([f"{name}*.inv.*"], name=name, merge=True)
    write_out(deployment.tables)
    edit(deployment, name, mode='"history"')
    return first, second


def test_a_history_of_two_shards_keeps_them_apart(ingest_deployment: Deployment) -> None:
    """Equal keys, a truncate of one shard, changes that come late, and a replay of each topic."""
    first, second = shards_of(ingest_deployment, "halves")
    first.send(event(first, "c", 1, at=10), event(first, "u", 1, 1, at=20), truncate(first, at=30))
    second.send(event(second, "c", 1, 5, at=5), event(second, "u", 1, 6, at=25, big=MISSING))
    (plan,) = ingest_deployment.plan()
    assert [topic.verdict for topic in plan.topics] == ["commit", "commit"]
    run(ingest_deployment)
    first.send(event(first, "c", 2, 2, at=15))
    second.send(event(second, "c", 2, 7, at=12), event(second, "u", 1, 9, at=7), event(second, "d", 2, at=40))
    run(ingest_deployment, max_offsets=1)
    run(ingest_deployment)

    shard = "int(substring(_cdc_source, 7, 1))"
    expected = [
        (1, 1, 0, "x", 10, 20), (1, 1, 1, "x", 20, 30), (2, 1, 2, "x", 15, 30),
        (1, 2, 5, "x", 5, 7), (1, 2, 9, "x", 7, 25), (1, 2, 6, "x", 25, None), (2, 2, 7, "x", 12, 40),
    ]  # fmt: skip
    found = versions(ingest_deployment, "halves", shard, "v", "big")
    assert sorted(found) == sorted(expected)
    for topic in (first, second):
        with ingest_deployment.session as session:
            session.move_offsets("halves", "earliest", topic=topic.name)
    run(ingest_deployment)
    assert versions(ingest_deployment, "halves", shard, "v", "big") == found
    with ingest_deployment.session as session:
        (status,) = session.status(["halves"])
    assert status.rows == 1


def test_unique_keys_of_shards_are_those_of_current_versions(
    ingest_deployment: Deployment,
) -> None:
    """A row that moved from one shard to the other has its versions in both."""
    first, second = shards_of(ingest_deployment, "moved")
    edit(ingest_deployment, "moved", keys='"unique"')
    first.send(event(first, "c", 1, at=10), event(first, "u", 1, 1, at=20))
    second.send(event(second, "c", 1, 5, at=30))
    (plan,) = ingest_deployment.plan()
    (outcome,) = ingest_deployment.run().tables
    assert [topic.outcome for topic in outcome.topics] == ["committed", "failed"]
    assert f"is also that of a row from {first.name}-0-1" in str(outcome.error)
    assert str(outcome.error) == str(plan.error)
    first.send(event(first, "d", 1, at=25))
    run(ingest_deployment)
    assert versions(ingest_deployment, "moved") == [(1, 0, 10, 20), (1, 1, 20, 25), (1, 5, 30, None)]


def test_conditions_masks_and_computed_columns_hold_for_every_version(ingest_deployment: Deployment) -> None:
    """A row that leaves the condition ends a version; a value that an update leaves out stays."""
    topic = table_of(ingest_deployment, "chosen")
    edit(
        ingest_deployment,
        "chosen",
        rest='[rows]\nwhere = "v < 5"\n[columns.big]\nmask = "last4"\n[columns.twice]\nsql = "v * 2"\n',
    )
    topic.send(
        event(topic, "c", 1, 1, at=10, big="secret-0001"),
        event(topic, "u", 1, 9, at=20, big="secret-0002"),
        event(topic, "u", 1, 2, at=30, big=MISSING),
        event(topic, "c", 2, 7, at=31),
    )
    for _ in range(4):
        run(ingest_deployment, max_offsets=1)
    found = versions(ingest_deployment, "chosen", "v", "twice", "right(big, 4)")
    assert found == [(1, 1, 2, "0001", 10, 20), (1, 2, 4, "0002", 30, None)]
    files = (ingest_deployment.root / "lake" / "chosen").rglob("*.parquet")
    assert not any(b"secret" in path.read_bytes() for path in files if isinstance(path, Path))


def test_a_table_becomes_a_history_by_a_rebuild_from_its_topic(ingest_deployment: Deployment) -> None:
    """Buckets change from the table; the key only from the topic; a changed mode stops a run."""
    topic = table_of(ingest_deployment, "again")
    edit(ingest_deployment, "again", mode='"upsert"')
    topic.send(event(topic, "c", 1, at=10), event(topic, "u", 1, 1, at=20), event(topic, "u", 1, 1, at=25))
    run(ingest_deployment)
    edit(ingest_deployment, "again", mode='"history"')
    (outcome,) = ingest_deployment.run().tables
    assert isinstance(outcome.error, TableChangedError)
    assert outcome.error.exit_code == 1
    (plan,) = ingest_deployment.plan()
    assert plan.rebuild is not None
    assert plan.rebuild.command == "ingest rebuild again --from topic"
    with ingest_deployment.session as session:
        assert session.rebuild("again", source="topic").outcome == "rebuilt"
    assert versions(ingest_deployment, "again") == [(1, 0, 10, 20), (1, 1, 20, None)]
    edit(ingest_deployment, "again", buckets="4")
    topic.send(event(topic, "d", 1, at=40))
    with ingest_deployment.session as session:
        assert session.rebuild("again").outcome == "rebuilt"
    run(ingest_deployment)
    assert versions(ingest_deployment, "again") == [(1, 0, 10, 20), (1, 1, 20, 40)]
    edit(ingest_deployment, "again", columns='["v"]')
    with ingest_deployment.session as session:
        rebuilt = session.rebuild("again")
        assert isinstance(rebuilt.error, RebuildError)
        assert "--from topic" in str(rebuilt.error)
