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
from typing import Final
from uuid import uuid4

import attrs

from ingest import Session
from ingest.hudi.table import HudiTable
from ingest.local.servers import Addresses, down, up
from ingest.verify.task import VerifyRequest

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
MEASURE: Final = Path(__file__).with_name("peers") / "measure.py"
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
class Seconds:
    """The wall and CPU seconds of some work."""

    wall: float
    cpu: float


@attrs.frozen
class Round:
    """The query in the source only, then `ingest verify`: its process tree, and its load on the source."""

    query: Seconds
    process: Seconds
    source_cpu: float

    @property
    def wall_ratio(self) -> float:
        """The wall time of the process, in times of the query."""
        return self.process.wall / self.query.wall

    @property
    def cpu_ratio(self) -> float:
        """The CPU time of the process and of the source for it, in times of the query."""
        return (self.process.cpu + self.source_cpu) / self.query.cpu

    def __str__(self) -> str:
        return (
            f"query {self.query.wall:.1f} s ({self.query.cpu:.1f} CPU s); verify {self.process.wall:.1f} s "
            f"({self.process.cpu:.1f} CPU s, and {self.source_cpu:.1f} in the source): "
            f"{self.wall_ratio:.2f} x, {self.cpu_ratio:.2f} x CPU"
        )


def _stat(process: Path) -> list[str]:
    """Return the fields of a process behind its name; none for one that has ended."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


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

    def ingest(self, *words: object) -> Seconds:
        """Run a command of `ingest`; return the seconds of its whole process tree."""
        command = [sys.executable, "-m", "ingest", *map(str, words), "--settings", str(self.settings)]
        measured = [sys.executable, str(MEASURE), "ingest", *command]
        done = subprocess.run(measured, cwd=self.root, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{(self.root / 'ingest.log').read_text()[-4000:]}")
        figures = json.loads(done.stdout)
        return Seconds(figures["wall_s"], figures["cpu_s"])

    def source_cpu(self) -> float:
        """Return the CPU seconds of the database's server so far."""
        server = int(self.database.run("select pg_read_file('postmaster.pid')").split()[0])
        children = (stat for stat in map(_stat, Path("/proc").glob("[0-9]*")) if stat[1:2] == [str(server)])
        ticks = sum(int(part) for stat in (_stat(Path(f"/proc/{server}")), *children) for part in stat[11:15])
        return ticks / os.sysconf("SC_CLK_TCK")

    def query(self, query: str) -> Seconds:
        """Run a query in the source only; return its seconds."""
        started, cpu = time.monotonic(), self.source_cpu()
        self.database.run(query)
        return Seconds(time.monotonic() - started, self.source_cpu() - cpu)

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
    bench.query(query)  # into the caches
    rounds = [measure_round(bench, query) for _ in range(ROUNDS)]
    wall, cpu = (
        median(figures) for figures in zip(*((r.wall_ratio, r.cpu_ratio) for r in rounds), strict=True)
    )
    print(
        f"speed: {table.rows:,} rows: {wall:.2f} x the query's time (wanted <= 3), {cpu:.2f} x its CPU time"
    )
    return wall <= 3


def measure_round(bench: Bench, query: str) -> Round:
    """Run the query, then verify by the command line; the rows are equal."""
    in_turn, before = bench.query(query), bench.source_cpu()
    process = bench.ingest("verify", "big", "--report", bench.root / "answer.json")
    result = Round(in_turn, process, bench.source_cpu() - before)
    (answer,) = json.loads((bench.root / "answer.json").read_text())["tables"]
    assert answer["outcome"] == "equal", answer
    assert answer["rows"]["source"] == answer["rows"]["table"] > 0, answer
    print(f"  {result}", flush=True)
    return result


def measure_writes(bench: Bench) -> bool:
    """Print a verification a line; return whether none accused anything."""
    table = Table("inv.big", WRITES_ROWS)
    bench.load(table, WRITES_ROWS)
    accused = 0
    with stream(bench.database, bench.servers, bench.root, PREFIX, SNAPSHOT_WAIT_S):
        bench.onboard(table)
        with SteadyWriter(bench.database, table) as writer, Session.open(bench.settings) as session:
            for _ in range(VERIFICATIONS):
                (answer,) = session.verify(["big"], VerifyRequest()).tables
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
