"""Commits are named in UTC, and one is never made behind the newest."""

import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest.errors import ClockError
from ingest.hudi.clock import seconds_ahead
from ingest.hudi.metaclient import open_client
from ingest.hudi.options import TIMELINE_ZONE
from ingest.spark.java import jvm_of
from tests.hudi.conftest import timeline_of

if TYPE_CHECKING:
    from tests.hudi.conftest import Lake

DDL = "id int not null, v int"


def instant_in(hours: float) -> str:
    """Name an instant as Hudi does."""
    return f"{datetime.now(UTC) + timedelta(hours=hours):%Y%m%d%H%M%S%f}"[:17]


def test_instants_are_compared_in_utc() -> None:
    """In any zone of the process; names without a time are not ahead."""
    assert seconds_ahead(instant_in(1)) == pytest.approx(3600, abs=5)
    assert seconds_ahead(instant_in(-8)) == pytest.approx(-8 * 3600, abs=5)
    assert seconds_ahead(instant_in(1)[:14]) == pytest.approx(3600, abs=5)
    assert seconds_ahead("") < 0


@pytest.mark.spark
def test_a_commit_has_its_time_in_utc(lake: "Lake") -> None:
    """The suite's JVM is in another zone, eight hours ahead."""
    table = lake.table("utc")
    instant = lake.commit(table, lake.changes(DDL, ("c", "1", 1, 1)))

    assert -60 < seconds_ahead(instant) <= 0


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_table_ahead_of_the_clock_waits(lake: "Lake", kind: str) -> None:
    """Another host's clock was an hour ahead: a commit now would never be read."""
    table = lake.table("ahead", type=kind)
    lake.commit(table, lake.changes(DDL, ("c", "1", 1, 1)))
    later = instant_in(1)
    for file in timeline_of(lake.path(table)).iterdir():
        if file.is_file() and "properties" not in file.name:
            file.rename(file.with_name(re.sub(r"\d{17}", later, file.name)))
    stored = lake.open(table)

    with pytest.raises(
        ClockError, match=r"table ahead: instant \d+ \(UTC\) is (3600|359\d) s ahead"
    ) as early:
        stored.check_storage(table.name)
    with pytest.raises(ClockError):
        lake.commit(table, lake.changes(DDL, ("u", "2", 1, 2)))

    assert early.value.exit_code == 75
    assert [entry.run_id for entry in lake.open(table).history()] == ["run-1"]


@pytest.mark.spark
def test_a_table_of_local_time_is_converted(lake: "Lake") -> None:
    """By the first commit for which the clock in UTC is past its newest instant."""
    table = lake.table("local")
    lake.commit(table, lake.changes(DDL, ("c", "1", 1, 1)))
    client = open_client(lake.spark, lake.path(table))
    assert client is not None
    jvm = jvm_of(lake.spark)
    properties = jvm.java.util.Properties()
    properties.setProperty(TIMELINE_ZONE, "LOCAL")
    config = jvm.org.apache.hudi.common.table.HoodieTableConfig
    config.update(client.getStorage(), client.getMetaPath(), properties)

    lake.commit(table, lake.changes(DDL, ("u", "2", 1, 2)))

    client.reload()
    assert client.getTableConfig().getProps().getProperty(TIMELINE_ZONE) == "UTC"
    assert lake.rows(table, "id", "v") == [(1, 2)]


EAST = """
import sys
from ingest.jars.artifacts import spark_jars
from ingest.errors import JvmZoneError, UsageError
from ingest.hudi.clock import check_clock, check_zone
from ingest.spark.session import start_session
east = {"spark.driver.extraJavaOptions": "-Duser.timezone=Asia/Tokyo"}
spark = start_session("test", "local[1]", east, spark_jars())
options = {"hoodie.table.name": "own", "hoodie.datasource.write.recordkey.field": "id"}
spark.range(1).write.format("hudi").options(**options).save(sys.argv[1])
try:
    check_clock(spark, "ours", None)
except JvmZoneError as error:
    print(error.exit_code, error)
check_zone(spark, "ours", 9)
try:
    check_zone(spark, "ours", 6)
except UsageError as error:
    print(error.exit_code, error)
spark.stop()
"""


@pytest.mark.spark
def test_a_jvm_that_also_writes_in_local_time_is_refused(tmp_path: Path) -> None:
    """Hudi keeps one newest instant for a whole JVM and would wait nine hours, in a busy loop.

    It would never compact a table of version 6.
    """
    done = subprocess.run(
        [sys.executable, "-c", EAST, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )

    assert re.search(
        r"(?m)^75 table ours: this JVM wrote another Hudi table at instant \d{17}, 32[34]\d\d s ahead",
        done.stdout,
    ), done.stderr[-2000:]
    assert (
        "\n2 table ours: this JVM is in the zone Asia/Tokyo, and a table of version 6 needs UTC"
        in done.stdout
    )
