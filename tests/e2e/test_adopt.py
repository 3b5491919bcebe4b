"""The table of another writer becomes one of ours: its rows stay, and later changes are applied to them."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.adopt.plan import Takeover
from ingest.adopt.request import AdoptRequest
from ingest.testing import date, nullable, timestamp
from ingest.testing import time as time_of_day
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, Topic, make_topics
from tests.e2e.other_writers import COLUMNS as OF_THE_STREAMER
from tests.e2e.other_writers import NOON_US, V1, V2, write_as_streamer
from tests.e2e.tablefiles import copy_table

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {
    "id": "int", "region": "string", "v": nullable("string"), "t": nullable(time_of_day("us")),
    "at_us": nullable(timestamp("us")), "day": nullable(date()),
}  # fmt: skip
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a wall clock
Row = dict[str, Any]


def row_of(key: int, value: str) -> Row:
    """Return a row of the source."""
    times = {"t": NOON_US + key, "at_us": 1_000_000 + key, "day": key - 100}
    return {"id": key, "region": f"r{key % 3}", "v": value, **times}


FIRST = [
    *(Change("c", row_of(key, "a"), at=key) for key in range(1, 9)),
    Change("u", row_of(3, "b"), at=20),
    Change("d", row_of(4, "a"), at=21),
]
"""Eleven messages: a tombstone follows the delete."""
LATER = [
    Change("u", row_of(3, "c"), at=30),
    Change("d", row_of(6, "a"), at=31),
    Change("c", row_of(40, "c"), at=32),
]


def rows_after(changes: Sequence[Change]) -> dict[int, Row]:
    """Apply changes in plain Python."""
    rows: dict[int, Row] = {}
    for change in changes:
        if change.op == "d":
            rows.pop(change.row["id"], None)
        else:
            rows[change.row["id"]] = {**change.row, "at": change.at}
    return rows


def expected(changes: Sequence[Change]) -> list[tuple[Any, ...]]:
    """Return the rows of the source as the table has them."""
    return sorted(
        (
            *(row["id"], row["region"], row["v"], f"12:00:00.{row['t'] - NOON_US:06}"),
            *(EPOCH + timedelta(microseconds=row["at_us"]), EPOCH.date() + timedelta(days=row["day"])),
        )
        for row in rows_after(changes).values()
    )


def stored(deployment: Deployment, table: str) -> list[tuple[Any, ...]]:
    """Read a table with plain Spark."""
    frame = deployment.frame(table)
    assert "_event_lsn" not in frame.columns
    return sorted(tuple(row) for row in frame.select(*COLUMNS).collect())


def adopt(deployment: Deployment, table: str, **options: Any) -> Takeover:
    """Adopt one table."""
    with deployment.session as session:
        return session.adopt(table, AdoptRequest(**options))


def begin(make_deployment: Callable[[], Deployment], *tables: str) -> tuple[Deployment, Topic]:
    """Make a topic with the first changes, and table files that read it."""
    deployment = make_deployment()
    (topic,) = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.shop": COLUMNS}).values()
    deployment.onboard()
    for table in tables:
        copy_table(deployment, "shop", table)
    if "shop" not in tables:
        (deployment.tables / "shop.toml").unlink()
    topic.send(*FIRST)
    return deployment, topic


@pytest.mark.parametrize(
    ("key", "kind"),
    [(V1, "MERGE_ON_READ"), pytest.param(V2, "COPY_ON_WRITE", marks=pytest.mark.pairs)],
    ids=["mor", "cow"],
)
def test_a_streamers_table_is_taken_over_and_continues_from_its_checkpoint(
    key: str, kind: str, make_deployment: Callable[[], Deployment]
) -> None:
    """In its own place, of version 6, with log files and names in other case; runs wait until then."""
    deployment, topic = begin(make_deployment, "shop")
    lake, spark = deployment.root / "lake", deployment.spark
    half = list(rows_after(FIRST[:8]).values())
    write_as_streamer(spark, lake / "shop", half, kind=kind, metadata={key: f"{topic.name},0:8"})
    changed = [*rows_after(FIRST).values(), {**row_of(4, "a"), "at": 21, "_hoodie_is_deleted": True}]
    with_deletes = f"{OF_THE_STREAMER}, _hoodie_is_deleted boolean"
    metadata = {key: f"{topic.name},0:11"}
    write_as_streamer(spark, lake / "shop", changed, kind=kind, metadata=metadata, columns=with_deletes)
    (refused,) = deployment.run().tables
    assert refused.error is not None
    assert "`ingest adopt shop --dry-run`" in str(refused.error)

    named = adopt(deployment, "shop", path=str(lake / "shop")).error
    assert "holds a table of another writer" in str(named)
    planned = adopt(deployment, "shop", dry_run=True)
    assert (planned.error, planned.outcome) == (None, "planned")
    assert planned.plan is not None
    assert str(planned.plan) == f"7 rows of {lake / 'shop'}, about 1.0 min"
    fits = {column.name: (column.origin, column.fit) for column in planned.plan.columns.all}
    assert fits == {
        "id": ("ID", "same"), "region": ("region", "same"), "v": ("v", "same"), "t": ("t", "converted"),
        "at_us": ("at_us", "converted"), "day": ("day", "converted"),
    }  # fmt: skip
    assert planned.plan.columns.dropped == ("_change_operation_type", "_event_lsn")

    assert adopt(deployment, "shop").error is None
    assert stored(deployment, "shop") == expected(FIRST)
    assert adopt(deployment, "shop").outcome == "idle"
    assert (lake / "_adopted" / "shop" / ".hoodie").is_dir()
    topic.send(*LATER)
    (outcome,) = deployment.run().tables
    assert (outcome.error, outcome.counts.read) == (None, 4)
    assert stored(deployment, "shop") == expected([*FIRST, *LATER])


def test_a_job_of_ones_own_is_taken_over_from_given_offsets(
    make_deployment: Callable[[], Deployment],
) -> None:
    """From another folder, and from offsets before its newest changes: they are applied again, in one run."""
    deployment, topic = begin(make_deployment, "shop_own")
    old = deployment.root / "old"
    write_as_streamer(deployment.spark, old, list(rows_after(FIRST).values()), version=9)

    assert "no checkpoint of HoodieStreamer" in str(adopt(deployment, "shop_own", path=str(old)).error)
    wrong = adopt(deployment, "shop_own", path=str(old), offsets="0=99").error
    assert wrong is not None
    assert (wrong.exit_code, "Allowed: 0 to 11" in str(wrong)) == (2, True)
    taken = adopt(deployment, "shop_own", path=str(old), offsets="0=2")
    assert taken.error is None
    assert stored(deployment, "shop_own") == expected(FIRST)

    topic.send(*LATER)
    (outcome,) = deployment.run(max_offsets=1).tables  # no state in between is shown
    assert (outcome.error, outcome.counts.read) == (None, 9)
    deployment.run_until_idle()
    assert stored(deployment, "shop_own") == expected([*FIRST, *LATER])
    topic.produce(topic.tombstone(row_of(7, "a")))  # compaction took its delete
    deployment.run()
    gone = Change("d", row_of(7, "a"), at=50)
    assert stored(deployment, "shop_own") == expected([*FIRST, *LATER, gone])


def test_columns_that_do_not_fit_are_refused_by_name(make_deployment: Callable[[], Deployment]) -> None:
    """Missing ones, and types of which the table's holds not every value; nothing is written."""
    deployment, _ = begin(make_deployment, "shop")
    old, columns = deployment.root / "old", "at int, region string, v int, t string, _event_lsn bigint"
    rows = [{**row_of(key, "a"), "at": key, "v": 1, "t": "noon"} for key in (1, 2)]
    write_as_streamer(deployment.spark, old, rows, version=9, columns=columns)
    result = adopt(deployment, "shop", path=str(old), offsets="earliest", dry_run=True)
    assert result.error is not None
    assert result.error.exit_code == 1
    assert (
        "key column id (int) is missing, column v is a int, which does not fit string, column at_us"
        in str(result.error)
    )
    assert not (deployment.root / "lake" / "shop").exists()


def test_an_adoption_that_is_killed_leaves_the_table_of_the_other_writer(
    make_deployment: Callable[[], Deployment], tmp_path: Path
) -> None:
    """A copy that was begun is removed by the next one; its old table is kept from an adoption before."""
    deployment, topic = begin(make_deployment, "shop")
    lake = deployment.root / "lake"
    rows = list(rows_after(FIRST).values())
    write_as_streamer(deployment.spark, lake / "shop", rows, metadata={V2: f"{topic.name},0:11"})
    begun = lake / "_adopted" / "shop" / ".hoodie"
    begun.mkdir(parents=True)
    (begun / "hoodie.properties").touch()
    assert adopt(deployment, "shop").error is None
    assert stored(deployment, "shop") == expected(FIRST)

    (lake / "shop").rename(tmp_path / "new")
    (lake / "_adopted" / "shop").rename(lake / "shop")
    write_as_streamer(deployment.spark, lake / "_adopted" / "shop", rows)
    kept = adopt(deployment, "shop").error
    assert "holds the table of another writer, from an earlier adoption" in str(kept)
