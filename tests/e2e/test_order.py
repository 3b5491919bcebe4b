"""Source order wins over arrival order; reading a range again changes nothing."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
import pytest

from ingest.report.outcome import RunReport
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, Topic, make_topics
from tests.e2e.tablefiles import copy_table

pytestmark = [pytest.mark.spark, pytest.mark.servers]

Values = dict[tuple[Any, ...], Any]


@attrs.frozen
class Batch:
    """Messages that arrive between two runs, and the expected rows of all tables: the column `v`, by key."""

    changes: Sequence[Change]
    rows: Values


def values(deployment: Deployment, table: str, key: Sequence[str]) -> Values:
    """Read the column `v` by key; fails on two rows of one key."""
    rows = deployment.frame(table).select(*key, "v").collect()
    by_key = {tuple(row[name] for name in key): row["v"] for row in rows}
    assert len(by_key) == len(rows), f"{table} has a key twice: {rows}"
    return by_key


def everything(deployment: Deployment, table: str) -> list[tuple[Any, ...]]:
    """Read all rows with the columns of `ingest`, without those of Hudi."""
    frame = deployment.frame(table)
    names = [name for name in frame.columns if not name.startswith("_hoodie_")]
    return sorted(tuple(row) for row in frame.select(names).collect())


def run_batches(
    deployment: Deployment, topic: Topic, tables: Sequence[str], batches: Sequence[Batch]
) -> list[RunReport]:
    """Run after each batch, and check every table each time."""
    reports = []
    for batch in batches:
        topic.send(*batch.changes)
        reports.append(deployment.run(tables))
        assert reports[-1].outcome == "done", reports[-1].to_json()
        rows = {table: values(deployment, table, list(topic.key)) for table in tables}
        assert rows == dict.fromkeys(tables, batch.rows)
    return reports


def assert_replays_change_nothing(
    deployment: Deployment, tables: Sequence[str], moves: Sequence[str]
) -> None:
    """Move the offsets back and run, one offset at a time, until idle; check after every commit."""
    before = {table: everything(deployment, table) for table in tables}
    for move in moves:
        for table in tables:
            deployment.session.move_offsets(table, move)
        commits = 0
        while deployment.run(tables, max_offsets=1).tables[0].outcome == "committed":
            commits += 1
            assert {table: everything(deployment, table) for table in tables} == before
        assert commits


def row(number: int, value: str) -> Mapping[str, Any]:
    """Return a row with a single key column."""
    return {"id": number, "v": value}


LATE: Final = (
    # A row inserted and deleted in one batch, its tombstone, and an older change after its delete.
    Batch(
        [
            Change("c", row(1, "a"), at=10),
            Change("c", row(2, "b"), at=11),
            Change("c", row(3, "c"), at=12),
            Change("d", row(3, "c"), at=20),
            Change("u", row(3, "older"), at=13),
        ],
        {(1,): "a", (2,): "b"},
    ),
    Batch([Change("u", row(1, "new"), at=30), Change("d", row(2, "b"), at=31)], {(1,): "new"}),
    # Late and older: against a row of an earlier batch.
    Batch([Change("u", row(1, "old"), at=15)], {(1,): "new"}),
    # A key change: delete and create at one position.  A reused key.
    Batch(
        [
            Change("d", row(1, "new"), at=40, serial=1),
            Change("c", row(9, "new"), at=40, serial=2),
            Change("c", row(2, "again"), at=41),
        ],
        {(9,): "new", (2,): "again"},
    ),
    # Late and older again: a delete, and a row of a repeated snapshot.
    Batch(
        [Change("d", row(9, "older"), at=25), Change("r", row(2, "older"), at=35)],
        {(9,): "new", (2,): "again"},
    ),
)


def test_the_newest_change_of_a_key_wins(make_deployment: Callable[[], Deployment]) -> None:
    """Late older changes lose, and deleted rows stay deleted while offsets are read again, on COW and MOR."""
    deployment = make_deployment()
    columns = {"id": "int", "v": nullable("string")}
    topic = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.cow": columns})["cow"]
    deployment.onboard()
    copy_table(deployment, "cow", "mor", type='"mor"')
    tables = ("cow", "mor")

    first, *_ = run_batches(deployment, topic, tables, LATE)

    for outcome in first.tables:
        counts = (
            outcome.counts.read,
            outcome.counts.upserted,
            outcome.counts.deleted,
            outcome.counts.superseded,
        )
        assert counts == (6, 2, 1, 2)
        assert outcome.counts.ignored == {"tombstone": 1}
    assert_replays_change_nothing(deployment, tables, ("earliest", "0=6"))


UNSENT: Final = "__debezium_unavailable_value"
PARTIAL: Final = (
    Batch([Change("c", row(1, "a"), at=10), Change("c", row(2, "b"), at=11)], {(1,): "a", (2,): "b"}),
    # The older value is in the table; in the batch; in the batch, two changes back.
    Batch(
        [
            Change("u", row(1, UNSENT), at=20),
            Change("c", row(3, "c"), at=21),
            Change("u", row(3, UNSENT), at=22),
            Change("u", row(2, "b2"), at=23),
            Change("u", row(2, UNSENT), at=24),
            Change("u", row(2, UNSENT), at=25),
        ],
        {(1,): "a", (2,): "b2", (3,): "c"},
    ),
    # A delete discards the old row; only a later change's value counts.
    Batch(
        [
            Change("d", row(1, "a"), at=30),
            Change("c", row(1, "again"), at=31),
            Change("u", row(1, UNSENT), at=32),
            Change("u", row(3, UNSENT), at=33),
            Change("u", row(3, "new"), at=34),
        ],
        {(1,): "again", (2,): "b2", (3,): "new"},
    ),
    Batch([Change("u", row(3, UNSENT), at=40)], {(1,): "again", (2,): "b2", (3,): "new"}),
)


def test_missing_values_come_from_the_previous_row(
    make_deployment: Callable[[], Deployment],
) -> None:
    """From the batch or the table, on COW and MOR, whether or not the previous run expected any."""
    deployment = make_deployment()
    columns = {"id": "int", "v": nullable("string")}
    topic = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.unsent": columns})["unsent"]
    deployment.onboard()
    copy_table(deployment, "unsent", "unsent_mor", type='"mor"')

    run_batches(deployment, topic, ("unsent", "unsent_mor"), PARTIAL)

    assert_replays_change_nothing(deployment, ("unsent", "unsent_mor"), ("earliest",))


def part(a: int, b: str, region: str | None, value: str) -> Mapping[str, Any]:
    """Return a row with a key of two columns."""
    return {"a": a, "b": b, "region": region, "v": value}


COMPOSITE: Final = (
    # The first load has a delete too, which a bulk insert would store as a row.
    Batch(
        [
            Change("c", part(1, "x", "eu", "p"), at=1),
            Change("c", part(1, "y", "eu", "q"), at=2),
            Change("c", part(2, "x", "us", "r"), at=3),
            Change("c", part(4, "x", "us", "s"), at=4),
            Change("d", part(4, "x", "us", "s"), at=5),
        ],
        {(1, "x"): "p", (1, "y"): "q", (2, "x"): "r"},
    ),
    # A row moves to another partition, one has a null partition; a late older change would move one back.
    Batch(
        [
            Change("u", part(1, "x", "us", "p2"), at=10),
            Change("d", part(2, "x", "us", "r"), at=11),
            Change("c", part(3, "z", None, "t"), at=12),
            Change("u", part(1, "y", "us", "older"), at=1, serial=0),
        ],
        {(1, "x"): "p2", (1, "y"): "q", (3, "z"): "t"},
    ),
    # Deletes find their rows in any partition; a key returns in another partition.
    Batch(
        [
            Change("d", part(1, "x", "us", "p2"), at=20),
            Change("d", part(3, "z", None, "t"), at=21),
            Change("c", part(2, "x", "eu", "u"), at=22),
        ],
        {(1, "y"): "q", (2, "x"): "u"},
    ),
)


def test_composite_keys_and_partitions_have_one_row_per_key(
    make_deployment: Callable[[], Deployment],
) -> None:
    """Unpartitioned, partitioned inside the key, and outside it, where rows move."""
    deployment = make_deployment()
    columns = {"a": "int", "b": "string", "region": nullable("string"), "v": nullable("string")}
    names = {f"{deployment.prefix}.testDB.dbo.whole": columns}
    topic = make_topics(deployment.servers, names, key=("a", "b"))["whole"]
    deployment.onboard()
    outside = {"partition_by": '["region"]', "index": '"global_simple"'}
    copy_table(deployment, "whole", "inside", partition_by='["b"]')
    copy_table(deployment, "whole", "outside", first_load='"bulk_insert"', **outside)
    copy_table(deployment, "whole", "outside_mor", type='"mor"', **outside)
    outside["index"] = '"global_record"'
    copy_table(deployment, "whole", "indexed", **outside)
    copy_table(deployment, "whole", "indexed_mor", type='"mor"', **outside)
    tables = ("whole", "inside", "outside", "outside_mor", "indexed", "indexed_mor")

    run_batches(deployment, topic, tables, COMPOSITE[:1])
    topic.send(*COMPOSITE[0].changes)
    indexing = [plan.table for plan in deployment.plan(tables) if plan.makes_index]
    assert indexing == ["indexed", "indexed_mor"]
    run_batches(deployment, topic, tables, COMPOSITE[1:])

    regions = deployment.frame("outside_mor").select("a", "b", "region").collect()
    assert {(row["a"], row["b"]): row["region"] for row in regions} == {(1, "y"): "eu", (2, "x"): "eu"}
    assert_replays_change_nothing(deployment, tables, ("earliest",))
