"""Many tables in one session: a failing table does not affect the others."""

import os
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import DataFrame, SparkSession

from ingest import Session
from ingest.errors import DecodeError, IngestError, TableTimeoutError, TopicNotFoundError, UnmappedTypeError
from ingest.testing import nullable, semantic
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, Topic, make_topics
from tests.e2e.tablefiles import allow_rejects, copy_table

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}
GOOD: Final = tuple(f"t{number:02}" for number in range(17))
BROKEN: Final[Mapping[str, tuple[type[IngestError], str]]] = {
    "unmappable": (UnmappedTypeError, "io.debezium.data.geometry.Blob"),
    "poisoned": (DecodeError, "30 of 31 messages are rejected, and [rejects] allows 10"),
    "full": (DecodeError, "3 of 4 messages are rejected, and [rejects] allows 2"),
}
"""Failing tables, with the kind and text of their errors."""
HANGS: Final = "t07"
TIMEOUT_S: Final = 3
GOOD_CHANGE: Final = Change("c", {"id": 1, "v": "a"}, at=1)


def count_jobs(spark: SparkSession) -> int:
    """Return the number of Spark jobs that the process has started."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())  # noqa: SLF001  no public way


def make_fleet(deployment: Deployment) -> dict[str, Topic]:
    """Onboard twenty tables and send their messages; eight run at a time.

    Healthy tables get their number of rows, and one more.
    """
    with (deployment.root / "ingest.toml").open("a") as settings:
        settings.write("[run]\nparallel_tables = 8\n")
    names = {f"{deployment.prefix}.testDB.dbo.{name}": COLUMNS for name in (*GOOD, "poisoned", "full")}
    topics = make_topics(deployment.servers, names)
    deployment.onboard()
    for number, name in enumerate(GOOD):
        topics[name].send(*(Change("c", {"id": i, "v": name}, at=i) for i in range(number + 1)))
    for name, count in (("poisoned", 30), ("full", 3)):
        topics[name].produce([topics[name].record(GOOD_CHANGE), *[(None, b"\7")] * count])
    allow_rejects(deployment, "full")
    path = deployment.tables / "full.toml"
    path.write_text(re.sub(r"(?m)^max_rows = .*$", "max_rows = 2", path.read_text()))

    shape = {**COLUMNS, "shape": nullable(semantic("bytes", "io.debezium.data.geometry.Blob"))}
    unmappable = f"{deployment.prefix}.testDB.dbo.unmappable"
    topics |= make_topics(deployment.servers, {unmappable: shape})
    topics["unmappable"].send(Change("c", {"id": 1, "v": "x", "shape": b"x"}, at=1))
    subjects = {side: f'"{unmappable}-{side}"' for side in ("key", "value")}
    copy_table(deployment, "t00", "unmappable", topic=f'"{unmappable}"', **subjects)
    return topics


@contextmanager
def hanging(table: Path) -> Iterator[None]:
    """Replace a table's properties by a pipe without a writer: opening the table hangs."""
    properties = table / ".hoodie" / "hoodie.properties"
    aside = properties.rename(properties.with_name("aside"))
    os.mkfifo(properties)
    try:
        yield
    finally:
        with properties.open("wb") as pipe:  # releases the waiting reader
            pipe.write(aside.read_bytes())
        aside.replace(properties)


def test_of_twenty_tables_three_fail_and_one_hangs(
    make_deployment: Callable[[], Deployment], outer_spark: SparkSession
) -> None:
    """Seventeen commit their own rows, and the report covers each; idle tables start no Spark job.

    The failures: a schema that cannot become a table, a topic of corrupt messages, more rejects than the
    limit; then a missing topic, and a table on hanging storage.
    """
    deployment = make_deployment()
    make_fleet(deployment)
    heard: dict[str, list[str]] = defaultdict(list)
    threads = set()

    def note(table: str, step: str) -> None:
        heard[table].append(step)
        threads.add(threading.get_ident())

    report = deployment.session.run(progress=note)

    outcomes = {outcome.table: outcome for outcome in report.tables}
    assert [*outcomes] == sorted((*GOOD, *BROKEN))
    assert (report.exit_code, report.to_json()["outcome"]) == (1, "failed")
    for number, name in enumerate(GOOD):
        assert outcomes[name].outcome == "committed", outcomes[name].error
        writing = f"writing {outcomes[name].counts.upserted:,} rows"
        assert heard[name] == [f"reading {number + 1} offsets", writing, "committed"]
    for name, (kind, message) in BROKEN.items():
        assert (outcomes[name].outcome, outcomes[name].instant) == ("failed", None)
        assert isinstance(outcomes[name].error, kind), outcomes[name].error
        assert message in str(outcomes[name].error)
        assert not (deployment.root / "lake" / name).exists()
    assert len(threads) > 1
    frames = [deployment.frame(name).selectExpr("v", f"'{name}' as name") for name in GOOD]
    rows = reduce(DataFrame.unionByName, frames).groupBy("name", "v").count().collect()
    assert sorted(rows) == [(name, name, number + 1) for number, name in enumerate(GOOD)]

    copy_table(deployment, "t00", "stray", topic='"nowhere.testDB.dbo.t"')
    before = count_jobs(outer_spark)
    with hanging(deployment.root / "lake" / HANGS):
        limited = {"run.table_timeout_s": TIMEOUT_S}
        with Session.open(deployment.root / "ingest.toml", overrides=limited, spark=outer_spark) as session:
            second = session.run([*GOOD, "stray"])

    assert count_jobs(outer_spark) == before
    outcomes = {outcome.table: outcome for outcome in second.tables}
    states = {name: outcome.outcome for name, outcome in outcomes.items()}
    assert states == {**dict.fromkeys(GOOD, "idle"), "stray": "failed", HANGS: "temporary"}
    assert isinstance(outcomes["stray"].error, TopicNotFoundError)
    assert isinstance(outcomes[HANGS].error, TableTimeoutError)
    assert str(outcomes[HANGS].error).startswith(
        f"table {HANGS}: exceeded the time limit of {TIMEOUT_S:.1f} s"
    )
    assert second.exit_code == 1
    assert deployment.run(GOOD).exit_code == 0
