"""The ordering value: fixed width, never null, and bytewise what the tuple of its parts is."""

import random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ingest.compile.position import position_sql, sort_key_sql
from ingest.dialects.sqlserver import SQLSERVER
from ingest.sql.template import sql
from tests.compile.sqlserver import ID, compiled
from tests.order.source import Event, lived, lsn_text

pytestmark = pytest.mark.spark

SOURCE = "struct<commit_lsn:string,change_lsn:string,event_serial_no:bigint>"
EVENT = f"struct<value:struct<op:string,source:{SOURCE}>>"
TABLE = compiled([ID])
Place = tuple[str, str | None, str | None, int | None, int]


def as_tuple(place: Place) -> tuple[Any, ...]:
    """Order a position with numbers: null is lowest, a snapshot before any log lowest of all."""
    op, commit, change, serial, offset = place

    def number(lsn: str | None) -> tuple[int, ...]:
        return (0, 0, 0) if lsn is None else tuple(int(part, 16) for part in lsn.split(":"))

    return (int(op != "r" or commit is not None), number(commit), number(change), serial or 0, offset)


def place_of(event: Event, offset: int) -> Place:
    """Return the place of an event that was simulated."""
    return (event.op, lsn_text(event.commit), lsn_text(event.change), event.serial, offset)


def places() -> list[Place]:
    """Collect places: simulated ones, and every combination of extremes."""
    simulated = [
        place_of(e, n) for seed in range(40) for n, e in enumerate(lived(seed).events) if e.is_change
    ]
    lsns = [None, "00000000:00000000:0001", "00000025:00000d98:00a2", "ffffffff:ffffffff:ffff"]
    extremes: list[Place] = [
        (op, commit, change, serial, offset)
        for op in "ru"
        for commit in lsns
        for change in lsns
        for serial in (None, 0, 1, 2, 9, 10, 2**63 - 1)
        for offset in (0, 9, 10, 2**63 - 1)
    ]
    both = simulated + extremes
    random.Random(7).shuffle(both)  # noqa: S311  no secret
    return both


def positions(spark: SparkSession, found: list[Place], epoch: int = 0) -> tuple[list[str], list[int]]:
    """Let Spark make the ordering values, and sort the places that they are made of."""
    rows = [(n, ((op, position),), offset) for n, (op, *position, offset) in enumerate(found)]
    given = spark.createDataFrame(rows, f"n int, event {EVENT}, offset bigint")
    places = given.selectExpr("n", str(sort_key_sql(SQLSERVER, TABLE.form).alias("sort_key")))
    built = places.selectExpr(
        "n",
        str(position_sql(TABLE.terms, epoch, sql("sort_key")).alias("position")),
        "rank() over (order by sort_key) as rank",
    )
    rows = built.orderBy("n").collect()
    return [row.position for row in rows], [row.rank for row in rows]


def test_positions_compare_bytewise_as_their_parts_do(spark: SparkSession) -> None:
    """Rank, commit LSN, change LSN, serial number, Kafka offset; and so do the places that are folded."""
    result = places()
    built, ranks = positions(spark, result)
    assert len({len(position) for position in built}) == 1
    assert all(position.isascii() for position in built)
    by_text = sorted(range(len(result)), key=lambda n: (built[n].encode(), n))
    by_parts = sorted(range(len(result)), key=lambda n: (as_tuple(result[n]), n))
    assert [as_tuple(result[n]) for n in by_text] == [as_tuple(result[n]) for n in by_parts]
    assert len(set(built)) == len({as_tuple(place) for place in result})
    assert [as_tuple(result[n]) for n in sorted(range(len(result)), key=ranks.__getitem__)] == sorted(
        as_tuple(place) for place in result
    )


def test_an_epoch_outweighs_everything(spark: SparkSession) -> None:
    """A recreated source begins a new log."""
    highest: Place = ("u", "ffffffff:ffffffff:ffff", "ffffffff:ffffffff:ffff", 2**63 - 1, 2**63 - 1)
    lowest: Place = ("r", None, None, None, 0)
    old, new, later = (
        positions(spark, [p], epoch)[0][0] for p, epoch in ((highest, 9), (lowest, 10), (lowest, 9999))
    )
    assert old < new < later
    assert len(old) == len(new) == len(later)
