"""Runs of `ingest` and three peers side by side: `make bench-peers`, or `python bench/side_by_side.py LINE…`.

Whole processes, one after the other in turn, by CPU seconds of all descendants (`peers/measure.py`).  The
peers are those that an outside review measured with, unchanged:

- `peers/peer_handwritten.py`: a PySpark job as an engineer writes it for one topic and one table;
- `peers/peer_floor.py`: the rows, decoded beforehand, through Hudi's upsert with default options;
- `peers/flink_paimon/`: Flink SQL into a Paimon table with a primary key, in one Java process.  It keeps what
  arrives last, and no columns of its own.

Every table is read back and compared with the generator's count of rows and sum of amounts.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import attrs

from ingest.jars.artifacts import spark_jars
from ingest.kafka.watermarks import fetch_watermarks
from ingest.local.servers import Addresses, down, up
from ingest.names import Topic
from ingest.settings import KafkaSettings
from ingest.spark.session import start_session

PEERS: Final = Path(__file__).with_name("peers")
ROUNDS: Final = int(os.environ.get("ROUNDS", "3"))
HEAP: Final = "3g"
PAIMON: Final = "flink-paimon"
FLINK: Final = PEERS / "flink_paimon"
FLINK_LIB: Final = Path(__file__).parent.parent / "build" / "flink"
KINDS: Final = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}


@attrs.frozen
class Load:
    """A topic as a line finds it: rows that are in the table already, and rows that wait."""

    topic: str
    before: int
    waiting: int
    keys: int


BIG: Final = Load("pg.shop.big", 0, 1_000_000, 600_000)
CHANGES: Final = Load("pg.shop.big", 1_000_000, 200_000, 600_000)
SMALL: Final = Load("pg.shop.small", 10_000, 1_000, 10_000)


@attrs.frozen
class Line:
    """A line of the table: its work, the type of the table, and the ratio to keep."""

    work: str
    load: Load
    kind: str
    wanted: float


LINES: Final = {
    "load-cow": Line("1,000,000 events into an empty COW table", BIG, "cow", 0.45),
    "load-mor": Line("1,000,000 events into an empty MOR table", BIG, "mor", 0.40),
    "changes-cow": Line("200,000 changes over these, COW", CHANGES, "cow", 0.50),
    "changes-mor": Line("200,000 changes over these, MOR", CHANGES, "mor", 0.25),
    "small": Line("1,000 changes over 10,000 rows, cold process", SMALL, "cow", 0.35),
}


@attrs.define
class Contest:
    """Servers, topics, and a folder for the tables of each job."""

    root: Path
    servers: Addresses
    oracles: dict[str, dict[str, Any]] = attrs.Factory(dict)
    ends: dict[int, int] = attrs.Factory(dict)
    """The ends of the large topic's partitions before its changes, where Flink's second run begins."""

    def generate(self, load: Load, first: int, rows: int) -> None:
        """Produce the rows from `first` on; keep what the table must hold then."""
        shares = ["--delete", "0.125", "--partitions", "4", "--keys", str(load.keys)]
        command = [PEERS / "gen_debezium_pg.py", *self.addresses(), "--topic", load.topic, *shares]
        done = run([*command, "--first", str(first), "--rows", str(rows)])
        self.oracles[load.topic] = json.loads(done.splitlines()[-1])

    def note_ends(self, topic: str) -> None:
        """Remember the ends of the partitions of a topic."""
        kafka = KafkaSettings(bootstrap_servers=self.servers.bootstrap_servers)
        marks = fetch_watermarks(kafka, [Topic(topic)]).of(Topic(topic))
        self.ends = {partition: mark.end for partition, mark in sorted(marks.items())}

    def addresses(self) -> list[str]:
        """Return the options that name the servers."""
        return ["--bootstrap", self.servers.bootstrap_servers, "--registry", self.servers.registry_url]

    def measure(self, label: str, command: Sequence[object]) -> dict[str, float]:
        """Run a command to its end, orphans included; return its CPU and wall seconds and its memory."""
        run([PEERS / "measure.py", label, *with_program(command)], cwd=self.root)
        figures: dict[str, float] = json.loads((self.root / "results.jsonl").read_text().splitlines()[-1])
        return figures

    def ours(self, lake: str, line: Line) -> list[object]:
        """Return the command of a run of `ingest`."""
        options = ["--settings", self.root / "ingest.toml", "--tables", self.root / f"tables-{line.kind}"]
        table = line.load.topic.replace(".", "_")
        return ["-m", "ingest", "run", table, *options, "--lake", self.root / lake, "--json"]

    def handwritten(self, lake: str, line: Line) -> list[object]:
        """Return the command of the hand-written job."""
        table = self.root / lake / line.load.topic.replace(".", "_")
        return [
            PEERS / "peer_handwritten.py", *self.addresses(), "--topic", line.load.topic, "--table", table,
            "--key", "id", "--ordering", "lsn", "--jars", peer_jars(), "--heap", HEAP,
            "--type", KINDS[line.kind],
        ]  # fmt: skip

    def floor(self, lake: str, line: Line) -> list[object]:
        """Return the command of the floor, over rows that `prepare` decoded."""
        table = self.root / lake / line.load.topic.replace(".", "_")
        return [
            PEERS / "peer_floor.py", "run", "--parquet", self.root / "flat", "--table", table,
            "--jars", peer_jars(), "--heap", HEAP, "--type", KINDS[line.kind],
        ]  # fmt: skip

    def flink(self, lake: str, line: Line) -> list[object]:
        """Return the command of Flink with Paimon: all of a topic, or the changes alone."""
        start = "'scan.startup.mode'='earliest-offset'"
        if line.load.before:
            offsets = ";".join(f"partition:{part},offset:{end}" for part, end in self.ends.items())
            start = f"'scan.startup.mode'='specific-offsets', 'scan.startup.specific-offsets'='{offsets}'"
        end = "'scan.bounded.mode'='latest-offset'"
        return self.flink_command(lake, "load.sql", topic=line.load.topic, start=start, end=end)

    def flink_command(self, lake: str, script: str, **values: str) -> list[object]:
        """Return the command of a Flink script, with its placeholders replaced."""
        known = {
            "warehouse": str(self.root / lake),
            "bootstrap": self.servers.bootstrap_servers,
            "registry": self.servers.registry_url,
            **values,
        }
        text = (FLINK / script).read_text()
        for name, value in known.items():
            text = text.replace(f"@{name.upper()}@", value)
        written = self.root / f"{lake}-{script}"
        written.write_text(text)
        mode = ["batch"] if script == "count.sql" else []
        class_path = f"{FLINK_LIB}/classes:{FLINK_LIB}/lib/*"
        return ["java", f"-Xmx{HEAP}", "-cp", class_path, "FlinkPaimon", written, *mode]


def with_program(command: Sequence[object]) -> list[str]:
    """Return the words of a command, with this Python before a script or a module."""
    words = [str(word) for word in command]
    return [sys.executable, *words] if words[0].endswith((".py", "-m")) else words


def run(command: Sequence[object], cwd: Path | None = None) -> str:
    """Run a command; its last lines show if it fails."""
    words = with_program(command)
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def peer_jars() -> str:
    """Return the jars of a job without `ingest`."""
    return ",".join(str(jar) for jar in spark_jars() if not jar.name.startswith("ingest-"))


@contextmanager
def deployed(heap: str = HEAP) -> Iterator[Contest]:
    """Start servers, generate the topics, write settings and table files, and leave a class archive."""
    with tempfile.TemporaryDirectory(prefix="bench-peers-") as folder:
        root = Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(root / "cache")
        try:
            contest = Contest(root, up(root / "servers"))
            (root / "ingest.toml").write_text(
                f'[registry]\nurl = "{contest.servers.registry_url}"\n'
                f'[kafka]\nbootstrap_servers = "{contest.servers.bootstrap_servers}"\n'
                f'[spark]\nmaster = "local[2]"\n[spark.conf]\n"spark.driver.memory" = "{heap}"\n'
            )
            yield contest
        finally:
            down(root / "servers")


def onboard(contest: Contest, topic: str) -> None:
    """Write the table file of a topic, once for COW and once for MOR."""
    root = contest.root
    for kind in KINDS:
        folder = root / f"tables-{kind}"
        run(["-m", "ingest", "onboard", topic, "--settings", root / "ingest.toml", "--tables", folder])
        file = folder / f"{topic.replace('.', '_')}.toml"
        file.write_text(file.read_text().replace('\ntype = "cow"', f'\ntype = "{kind}"'))


def measure_line(contest: Contest, name: str) -> dict[str, list[dict[str, float]]]:
    """Run each job in turn, each over a copy of the tables that it left before; compare every table."""
    line = LINES[name]
    jobs: dict[str, Callable[[str, Line], list[object]]] = {
        "ingest": contest.ours,
        "hand-written": contest.handwritten,
    }
    if line.load.topic == BIG.topic:
        jobs[PAIMON] = contest.flink
    if not line.load.before:
        jobs["floor"] = contest.floor
    figures: dict[str, list[dict[str, float]]] = {job: [] for job in jobs}
    for number in range(ROUNDS):
        for job, command in jobs.items():
            lake = f"{name}-{job}-{number}"
            base = contest.root / f"base-{line.load.topic}-{line.kind}-{job}"
            if base.exists():
                shutil.copytree(base, contest.root / lake)
            figures[job].append(contest.measure(lake, command(lake, line)))
            figures[job][-1]["mb"] = megabytes(contest.root / lake)
            print(f"  {name} {job}: {figures[job][-1]}", flush=True)
            check(contest, lake, line.load.topic, is_paimon=job == PAIMON)
            shutil.rmtree(contest.root / lake)
    return figures


def prepare(contest: Contest, names: Sequence[str]) -> None:
    """Fill the tables that the measured runs of some lines begin with, and checkpoints with them."""
    jobs = {"ingest": contest.ours, "hand-written": contest.handwritten, PAIMON: contest.flink}
    for line in (LINES[name] for name in names):
        for label, job in jobs.items():
            if label == PAIMON and line.load.topic != BIG.topic:
                continue
            lake = f"base-{line.load.topic}-{line.kind}-{label}"
            if not (contest.root / lake).exists():
                from_earliest = attrs.evolve(line, load=attrs.evolve(line.load, before=0))
                contest.measure(lake, job(lake, from_earliest))


def megabytes(folder: Path) -> float:
    """Return the size of all files in a folder, in MB."""
    return round(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6, 1)


def check(contest: Contest, lake: str, topic: str, *, is_paimon: bool = False) -> None:
    """Compare a table with the generator's count and sum."""
    if is_paimon:
        lines = run(contest.flink_command(lake, "count.sql")).splitlines()
        result = next(line for line in reversed(lines) if line.startswith("| "))
        rows, amount = (cell.strip() for cell in result.strip("| ").split("|"))
    else:
        done = run([__file__, "--check", contest.root / lake / topic.replace(".", "_")])
        rows, amount = done.splitlines()[-1].split()
    oracle = contest.oracles[topic]
    if (int(rows), amount) != (oracle["alive"], oracle["sum_amount"]):
        sys.exit(f"{lake}: {rows} rows, {amount}; the source has {oracle['alive']}, {oracle['sum_amount']}")


def print_table_facts(path: str) -> None:
    """Print the rows of a table and the sum of their amounts."""
    spark = start_session("check", "local[2]", {}, spark_jars(), is_short=True)
    (row,) = spark.read.format("hudi").load(path).selectExpr("count(*)", "sum(amount)").collect()
    print(row[0], row[1])
    spark.stop()


def print_line(name: str, figures: dict[str, list[dict[str, float]]]) -> None:
    """Print the medians of a line, and their ratios."""
    line = LINES[name]
    cpu = {job: median(run["cpu_s"] for run in runs) for job, runs in figures.items()}
    wall = {job: median(run["wall_s"] for run in runs) for job, runs in figures.items()}
    hand = "hand-written"
    jobs = ("ingest", hand, PAIMON, "floor")
    cells = [f"{cpu[job]:.1f} / {wall[job]:.1f}" if job in cpu else "" for job in jobs]
    ratios = [f"{cpu['ingest'] / cpu[peer]:.2f}" if peer in cpu else "" for peer in (hand, PAIMON)]
    print(f"| {line.work} | {' | '.join((*cells, *ratios))} | {line.wanted:.2f} |", flush=True)


def idle(contest: Contest) -> None:
    """Print the cost of `status` and of a run that finds nothing new, over the last small table."""
    line, lake = LINES["small"], "idle"
    base = contest.root / "base-pg.shop.small-cow-ingest"
    shutil.copytree(base, contest.root / lake)
    run([sys.executable, *contest.ours(lake, line)], cwd=contest.root)
    status = [word if word != "run" else "status" for word in contest.ours(lake, line)]
    for work, command in (("`ingest status`, one table", status), ("a run with nothing new", None)):
        words = command or contest.ours(lake, line)
        runs = [contest.measure(f"idle-{number}", words) for number in range(ROUNDS)]
        cpu, wall = (median(run[unit] for run in runs) for unit in ("cpu_s", "wall_s"))
        print(f"| {work} | {cpu:.1f} / {wall:.1f} | | | | | | |", flush=True)


def main(names: Sequence[str]) -> None:
    """Measure lines, all by default, and print the table of CPU and wall seconds."""
    chosen = [name for name in LINES if not names or name in names]
    started = time.strftime("%Y-%m-%d")
    with deployed() as contest:
        contest.generate(SMALL, 0, SMALL.before)
        onboard(contest, SMALL.topic)
        prepare(contest, ["small"])  # the first run leaves the class archive
        contest.generate(SMALL, SMALL.before, SMALL.before + SMALL.waiting)
        results = {}
        if loads := [name for name in chosen if LINES[name].load.topic == BIG.topic]:
            contest.generate(BIG, 0, BIG.waiting)
            onboard(contest, BIG.topic)
            flat = ["--topic", BIG.topic, "--parquet", contest.root / "flat", "--jars", peer_jars()]
            run([PEERS / "peer_floor.py", "prepare", *contest.addresses(), *flat])
            results |= {name: measure_line(contest, name) for name in loads if name.startswith("load")}
            changes = [name for name in loads if name.startswith("changes")]
            prepare(contest, changes)
            if changes:
                contest.note_ends(BIG.topic)
                contest.generate(BIG, CHANGES.before, CHANGES.before + CHANGES.waiting)
            results |= {name: measure_line(contest, name) for name in changes}
        if "small" in chosen:
            results["small"] = measure_line(contest, "small")
        cores = os.cpu_count()
        print(f"\nCPU / wall seconds, medians of {ROUNDS}, {started}, {cores} cores, heap {HEAP}\n")
        print(
            "| work | ingest | hand-written | Flink with Paimon | floor | ingest / hand-written | "
            "ingest / Flink | wanted (hand-written) |"
        )
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for name, figures in results.items():
            print_line(name, figures)
        idle(contest)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        print_table_facts(sys.argv[2])
    else:
        main(sys.argv[1:])
