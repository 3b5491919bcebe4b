"""NanoTimestamp of datetime2(7): Debezium up to 3.5 wraps values beyond 64 bits of nanoseconds."""

import random
from datetime import datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from ingest.decode.events import decode_events
from ingest.tables import Column
from ingest.testing import nullable, semantic
from tests.compile.sqlserver import compiled, table
from tests.decode.messages import Topic, frame, rows_of

pytestmark = pytest.mark.spark

NANOS = semantic("long", "io.debezium.time.NanoTimestamp")
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  wall clocks have no zone
TICKS_PER_DAY = 864_000_000_000
FIRST_TICK = (datetime(1, 1, 1) - EPOCH).days * TICKS_PER_DAY  # noqa: DTZ001
LAST_TICK = ((datetime(9999, 12, 31) - EPOCH).days + 1) * TICKS_PER_DAY - 1  # noqa: DTZ001
SEED = 20_261_121


def wrapped(ticks: int) -> int:
    """Convert a count of 100 ns to nanoseconds as Java does: keep 64 bits."""
    return (ticks * 100 + 2**63) % 2**64 - 2**63


def text_of(ticks: int, digits: int) -> str:
    """Write a moment with Python's own calendar, cut to 6 digits or with all 9."""
    micros, tick = divmod(ticks, 10)
    whole = (EPOCH + timedelta(microseconds=micros)).isoformat("T", timespec="microseconds")
    return f"{whole}{tick}00" if digits == 9 else whole


def ticks_to_try() -> list[int]:
    """Choose moments: one of every year, and those around each border where the wrap begins."""
    choose = random.Random(SEED)  # noqa: S311  no secret
    years = [(datetime(year, 1, 1) - EPOCH).days * TICKS_PER_DAY for year in range(1, 10_000)]  # noqa: DTZ001
    spread = [start + choose.randrange(365 * TICKS_PER_DAY) for start in years]
    borders = [(2**63 + k * 2**64) // 100 + near for k in range(-4, 15) for near in range(-25, 26)]
    ends = [tick for edge in (FIRST_TICK, 0, LAST_TICK) for tick in range(edge - 25, edge + 26)]
    return [tick for tick in [*spread, *borders, *ends] if FIRST_TICK <= tick <= LAST_TICK]


def test_every_moment_of_datetime2_comes_out_true(spark: SparkSession) -> None:
    """To the microsecond as a timestamp, and with all seven digits as text."""
    ticks = ticks_to_try()
    assert {wrapped(tick) != tick * 100 for tick in ticks} == {True, False}
    topic = Topic([{"id": "long", "t": NANOS, "s": NANOS}], keys={"id": "long"})
    of = table(columns={"s": Column(nanos="string")})
    rows = [{"id": tick, "t": wrapped(tick), "s": wrapped(tick)} for tick in ticks]
    counts, written = rows_of(
        frame(spark, [topic.row(row) for row in rows]), compiled(topic.versions, of=of, keys=topic.keys)
    )
    assert counts.rejected == 0
    shown = written.selectExpr("id", "date_format(t, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\") as t", "s").collect()
    wrong = [row for row in shown if (row.t, row.s) != (text_of(row.id, 6), text_of(row.id, 9))]
    assert {row.id for row in shown} == set(ticks)
    assert wrong == []


FIRST, LAST = -6_795_364_578_871_345_152, -4_852_116_231_933_722_724
"""What a real Debezium made of 0001-01-01 and of 9999-12-31 23:59:59.9999999."""


def test_the_ends_of_the_calendar_are_those_measured_on_debezium() -> None:
    """So that this file's own arithmetic is not its only witness."""
    assert (wrapped(FIRST_TICK), wrapped(LAST_TICK)) == (FIRST, LAST)


VERDICTS = [
    ("timestamp", -1, True),
    ("timestamp", 99, True),
    ("timestamp", wrapped(LAST_TICK + 1), True),
    ("timestamp", wrapped(FIRST_TICK - 1), True),
    ("timestamp", FIRST, False),
    ("string", 2**63 - 1, True),
    ("string", wrapped(LAST_TICK + 1), True),
    ("string", LAST, False),
    ("bigint", FIRST, True),
    ("bigint", LAST, True),
    ("bigint", -100, False),
]


def test_a_number_outside_datetime2_is_rejected(spark: SparkSession) -> None:
    """As is, for bigint, all that was wrapped: the number would be false."""
    policies = ("timestamp", "string", "bigint")
    topic = Topic([{"id": "int", **dict.fromkeys(policies, nullable(NANOS))}])
    of = table(columns={nanos: Column(nanos=nanos) for nanos in policies})
    rows = [{"id": 1, nanos: value} for nanos, value, _ in VERDICTS]
    events = decode_events(frame(spark, [topic.row(row) for row in rows]), compiled(topic.versions, of=of))
    results = [row.rejected for row in events.select("rejected", "offset").orderBy("offset").collect()]
    assert [(*case[:2], verdict) for case, verdict in zip(VERDICTS, results, strict=True)] == VERDICTS


def test_a_wrapped_key_is_rejected_as_well(spark: SparkSession) -> None:
    """A key column's value is judged like any other."""
    topic = Topic([{"id": NANOS}], keys={"id": NANOS})
    counts, _ = rows_of(
        frame(spark, [topic.row({"id": value}) for value in (FIRST, 100)]),
        compiled(topic.versions, keys=topic.keys, of=table(nanos="bigint")),
    )
    assert (counts.rejected, counts.upserted) == (1, 1)
