"""`ingest verify` over a large PostgreSQL table: `make bench-verify`, or `python bench/verifying.py LINE…`.

- `speed`: a table of 12 columns that equals its source, against `select count(*), sum(hash)` over the same
  rows in the source alone, in turn;
- `writes`: a table that a connector has loaded and keeps up to date, verified again and again under 200
  changes a second: it has to end each time, and to accuse nothing.

`ROWS` sets another number of rows.  Needs PostgreSQL's server and Debezium's engine, as `make test-live`
does.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final
from uuid import uuid4

import attrs

from ingest import Session
from ingest.hudi.table import HudiTable
from ingest.local.servers import Addresses, down, up
from ingest.verify.task import Request

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.live.database import MISSING, Database, find_binaries, serve
from tests.live.engine import JARS, SIGNALS, stream, wait_until_delivered
from tests.live.steady import SteadyWriter, Table

SPEED_ROWS: Final = int(os.environ.get("ROWS", "10_000_000"))
WRITES_ROWS: Final = int(os.environ.get("ROWS", "1_000_000"))
SNAPSHOT_ROWS: Final = 1_000
"""Rows that the connector reads for `speed`; the others are written on both sides, by the same formulas."""
ROUNDS: Final = 3
VERIFICATIONS: Final = 5
PREFIX: Final = "bench"
SNAPSHOT_WAIT_S: Final = 1_200.0
SETTINGS: Final = """
[registry]
url = "{registry}"
[kafka]
bootstrap_servers = "{bootstrap}"
[spark]
master = "local[2]"
[spark.conf]
"spark.driver.memory" = "3g"
[sources.bench]
url = "jdbc:postgresql://127.0.0.1:{port}/postgres"
user = "postgres"
driver = "{driver}"
"""
HASH: Final = "select count(*), sum(hashtextextended(b.*::text, 0)) from {table} b"
LAKE: Final = {
    "id": "id",
    "a": "cast(id % 1000 as int)",
    "b": "id * 7",
    "c": "cast(cast(id as decimal(12,0)) / 100 as decimal(12,2))",
    "d": "concat('text ', md5(cast(id as string)))",
    "e": "concat('v', id)",
    "f": "cast(timestamp_seconds(1704067200 + id) as timestamp_ntz)",
    "g": "timestamp_seconds(1704067200 + id)",
    "h": "date_add(date '2024-01-01', cast(id % 3000 as int))",
    "i": "id % 2 = 0",
    "j": "cast(id as double) / 7",
    "k": r"regexp_replace(md5(cast(id as string)), '(.{8})(.{4})(.{4})(.{4})(.{12})', '$1-$2-$3-$4-$5')",
}
"""The formulas of `tests.live.steady`, in Spark's SQL."""


@attrs.frozen
class Bench:
    """A database, servers, and a folder for the deployment."""

    root: Path
    servers: Addresses
    database: Database

    @property
    def settings(self) -> Path:
        """The settings file."""
        return self.root / "ingest.toml"

    def ingest(self, *words: object) -> tuple[str, float]:
        """Run a command of `ingest`; return its output and wall seconds."""
        command = [sys.executable, "-m", "ingest", *map(str, words), "--settings", str(self.settings)]
        started = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        return done.stdout, time.monotonic() - started

    def load(self, table: Table, end: int) -> None:
        """Create a table of the source with rows up to a key, and load them through the connector."""
        signals = (
            f"create table {SIGNALS} (id varchar(64) primary key, type varchar(32), data varchar(2048));"
        )
        self.database.run(f"create schema inv; {signals} {table.create()} {table.fill(1, end)}")
        self.database.run(f"vacuum analyze {table.name}")

    def onboard(self, table: Table) -> None:
        """Write the table file, and run the table."""
        wait_until_delivered(self.database, SNAPSHOT_WAIT_S)
        self.ingest("onboard", f"{PREFIX}.{table.name}", "--name", "{table}")
        self.ingest("run")


@contextmanager
def deployed() -> Iterator[Bench]:
    """Start a database and servers, and write the settings."""
    binaries = find_binaries()
    if binaries is None or not JARS.exists():
        sys.exit(f"{MISSING}; `make debezium` unpacks Debezium's engine")
    (driver,) = (JARS / "lib").glob("postgresql-*.jar")
    with (
        tempfile.TemporaryDirectory(prefix="bench-verify-") as folder,
        serve(binaries, shared_buffers="1GB", max_wal_size="8GB") as database,
    ):
        root = Path(folder)
        try:
            servers = up(root / "servers")
            bench = Bench(root, servers, database)
            bench.settings.write_text(
                SETTINGS.format(
                    registry=servers.registry_url, bootstrap=servers.bootstrap_servers,
                    port=database.port, driver=driver,
                )
            )  # fmt: skip
            yield bench
        finally:
            down(root / "servers")


def fill_lake(bench: Bench, table: Table) -> None:
    """Replace the rows of the lake with all rows of the table."""
    with Session.open(bench.settings) as session:
        (config,) = session.tables(["big"])
        stored = HudiTable(session.spark, session.settings.lake.table_path("big"))
        last, columns = stored.checkpoint(), stored.rows().columns
        assert last is not None
        changes = stored.rows().limit(1).select(*(name for name in columns if name.startswith("_cdc_")))
        ids = session.spark.range(1, table.rows + 1, numPartitions=16)
        rows = ids.selectExpr(*(f"{formula} as {name}" for name, formula in LAKE.items()))
        entry = attrs.evolve(last, run_id=str(uuid4()), note="loaded by a benchmark", counters={})
        stored.commit(rows.crossJoin(changes).select(*columns), config, ("id",), "overwrite", entry)


def timed(database: Database, query: str) -> float:
    """Return the wall seconds of a query in the source alone."""
    started = time.monotonic()
    database.run(query)
    return time.monotonic() - started


def measure_speed(bench: Bench) -> bool:
    """Print a round a line, and the ratio of the medians; return whether it is kept."""
    table = Table("inv.big", SPEED_ROWS)
    bench.load(table, SNAPSHOT_ROWS)
    with stream(bench.database, bench.servers, bench.root, PREFIX, SNAPSHOT_WAIT_S):
        bench.onboard(table)
    bench.database.run("select pg_drop_replication_slot('live')")
    bench.database.run(table.fill(SNAPSHOT_ROWS + 1))
    bench.database.run(f"vacuum analyze {table.name}")
    fill_lake(bench, table)
    query = HASH.format(table=table.name)
    timed(bench.database, query)  # into the caches
    figures: list[tuple[float, float, float]] = []
    for _ in range(ROUNDS):
        source = timed(bench.database, query)
        answer, wall = verified(bench)
        figures.append((source, answer["seconds"], wall))
        print(f"  source {source:.1f} s, verify {answer['seconds']:.1f} s, process {wall:.1f} s", flush=True)
    source, seconds, wall = (median(column) for column in zip(*figures, strict=True))
    print(
        f"speed: {table.rows:,} rows: {source:.1f} s in the source, {seconds:.1f} s verify, "
        f"{wall:.1f} s the whole process: {wall / source:.2f} (wanted <= 3)"
    )
    return wall / source <= 3


def verified(bench: Bench) -> tuple[dict[str, Any], float]:
    """Verify by the command line; the rows are equal."""
    output, wall = bench.ingest("verify", "big", "--json")
    (answer,) = json.loads(output)["tables"]
    assert answer["outcome"] == "equal", answer
    assert answer["rows"]["source"] == answer["rows"]["table"] > 0, answer
    return answer, wall


def measure_writes(bench: Bench) -> bool:
    """Print a verification a line; return whether none accused anything."""
    table = Table("inv.big", WRITES_ROWS)
    bench.load(table, WRITES_ROWS)
    accused = 0
    with stream(bench.database, bench.servers, bench.root, PREFIX, SNAPSHOT_WAIT_S):
        bench.onboard(table)
        with SteadyWriter(bench.database, table) as writer, Session.open(bench.settings) as session:
            for _ in range(VERIFICATIONS):
                (answer,) = session.verify(["big"], Request()).tables
                assert answer.error is None, answer.error
                accused += answer.differing
                print(
                    f"  {answer.outcome}, {answer.source_rows:,} rows, {answer.differing} accused, "
                    f"{answer.in_flight} in flight, {answer.looks} looks, {answer.seconds:.1f} s",
                    flush=True,
                )
        print(f"writes: {writer.per_second:.0f} changes/s for {writer.seconds:.0f} s: {accused} accused")
    return accused == 0


LINES: Final = {"speed": measure_speed, "writes": measure_writes}


def main(names: Sequence[str]) -> int:
    """Measure lines, all by default."""
    kept = True
    for name in names or LINES:
        with deployed() as bench:
            kept &= LINES[name](bench)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
