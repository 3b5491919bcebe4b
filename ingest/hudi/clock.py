"""Instants against the clock: Hudi names a commit after the time, and readers order commits by name.

A commit behind the newest one is never read.  Inside one process Hudi waits, in a busy loop, until the clock
is past the last instant (HoodieInstantTimeGenerator.createNewInstantTime, Hudi 1.2.0).  An instant made in a
zone east of UTC is hours ahead of the next one in UTC (HUDI-5978).
"""

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pyspark.sql import SparkSession

from ingest.errors import ClockError, JvmZoneError, UsageError
from ingest.hudi.timeline.hudi_timeline import active_instants
from ingest.hudi.timeline.properties import OLDEST
from ingest.spark.java import jvm_of

PATIENCE_S: Final = 5.0
"""How far the clocks of two hosts may differ without an error: a writer waits until its own has caught up."""
_FORMAT: Final = "%Y%m%d%H%M%S%f"
_DIGITS: Final = 17


def check_clock(spark: SparkSession, table: str, client: Any | None) -> None:
    """Wait until the clock is past the newest instant, of the table and of this JVM, if that is soon.

    Raises ClockError and JvmZoneError otherwise.
    """
    _wait_for(max(_instants(spark, client), default=""), table, ClockError)
    _wait_for(_last_of_jvm(spark), table, JvmZoneError)


def check_zone(spark: SparkSession, table: str, version: int) -> None:
    """Refuse to write a table of version 6 in a JVM that is not in UTC.

    Such a table does not record when a commit ended.  Hudi takes the time of its file, in the JVM's zone: in
    a zone east of UTC each commit ends hours ahead, and Hudi never compacts it (Hudi 1.2.0).
    """
    if version != OLDEST:
        return
    zone = jvm_of(spark).java.time.ZoneId.systemDefault()
    if str(zone.normalized()) != "Z":
        raise UsageError(
            f"table {table}: this JVM is in the zone {zone}, and a table of version {OLDEST} needs UTC",
            "Nothing was committed. Start Spark with spark.driver.extraJavaOptions=-Duser.timezone=UTC",
        )


def _wait_for(instant: str, table: str, error: Callable[[str, str, int], ClockError | JvmZoneError]) -> None:
    ahead_s = seconds_ahead(instant)
    if ahead_s > PATIENCE_S:
        raise error(table, instant, math.ceil(ahead_s))
    if ahead_s > 0:
        time.sleep(ahead_s)


def seconds_ahead(instant: str) -> float:
    """Return the seconds from this machine's clock to an instant in UTC, negative if it is past."""
    digits = instant[:_DIGITS]
    if not digits.isdigit():
        return float("-inf")
    moment = datetime.strptime(digits.ljust(_DIGITS, "0"), _FORMAT).replace(tzinfo=UTC)
    return (moment - datetime.now(UTC)) / timedelta(seconds=1)


def _instants(spark: SparkSession, client: Any | None) -> tuple[str, ...]:
    """Return the newest instant of any action, and the time of its completion."""
    instants = () if client is None else active_instants(spark, client)
    return tuple(filter(None, (instants[-1].requested, instants[-1].completed))) if instants else ()


def _last_of_jvm(spark: SparkSession) -> str:
    """Return the last instant that this JVM made for any table, or empty before the first."""
    last = jvm_of(spark).org.apache.hudi.common.table.timeline.HoodieInstantTimeGenerator.getLastInstantTime()
    return str(last) if str(last).isdigit() else ""
