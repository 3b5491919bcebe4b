"""CPU of a full read of one table by each reader, after `make test-places` once.

`python bench/scans.py [READER…]`, by default all.

The table is what `ingest onboard --readers any` makes of the large topic of `side_by_side.py`: 1,000,000
events, then 200,000 changes.  Copy-on-write, merge-on-read with the log files of the changes, and the same
compacted.  Each read is a process: with its start, which `empty` shows alone.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

from side_by_side import BIG, CHANGES, LINES, ROUNDS, Contest, deployed, run

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "bench" / "readers"
PYTHON = ROOT / "build" / "readers" / "bin" / "python"
"""The environment of `make test-places` with readers that are not on the JVM."""
BUNDLES = {
    "Spark, Hudi 1.2.0": ROOT / "jars" / "lib" / "hudi-spark3.5-bundle_2.12-1.2.0.jar",
    **{
        f"Spark, Hudi {version}": ROOT / "jars" / "readers" / f"hudi-spark3.5-bundle_2.12-{version}.jar"
        for version in ("1.1.1", "1.0.2", "0.15.0")
    },
}
OTHERS = ("hudi-rs", "DuckDB", "Polars", "Daft")
BASE_FILES_ONLY = ("DuckDB", "Polars")
"""Readers that show a merge-on-read table as of its last compaction."""
COW_ONLY = ("Daft",)


def tables(contest: Contest) -> dict[str, Path]:
    """Load and change the tables, and compact a copy; return the folder of each."""
    contest.generate(BIG, 0, BIG.waiting)
    settings = ["--settings", contest.root / "ingest.toml"]
    for kind in ("cow", "mor"):
        folder = contest.root / f"tables-{kind}"
        run(["-m", "ingest", "onboard", BIG.topic, "--readers", "any", *settings, "--tables", folder])
        file = folder / f"{BIG.topic.replace('.', '_')}.toml"
        file.write_text(file.read_text().replace('\ntype = "cow"', f'\ntype = "{kind}"'))
        run([sys.executable, *contest.ours(kind, LINES[f"load-{kind}"])], cwd=contest.root)
    contest.generate(BIG, CHANGES.before, CHANGES.before + CHANGES.waiting)
    for kind in ("cow", "mor"):
        run([sys.executable, *contest.ours(kind, LINES[f"load-{kind}"])], cwd=contest.root)
    name = BIG.topic.replace(".", "_")
    run(["cp", "-r", contest.root / "mor", contest.root / "compacted"])
    maintain = [
        word if word != "run" else "maintain" for word in contest.ours("compacted", LINES["load-mor"])
    ]
    run([sys.executable, *maintain], cwd=contest.root)
    return {kind: contest.root / kind / name for kind in ("cow", "mor", "compacted")}


def main(names: list[str]) -> None:
    """Measure each reader in turn, all by default, and print the table."""
    readers: dict[str, Callable[[str], list[object]]] = {
        **{name: spark_command(bundle) for name, bundle in BUNDLES.items()},
        **{name: other_command(name) for name in OTHERS},
    }
    with deployed() as contest:
        found = {"empty": "", **{kind: str(path) for kind, path in tables(contest).items()}}
        print(f"| reader | {' | '.join(found)} |")
        print(f"| --- |{' --- |' * len(found)}")
        for reader in names or readers:
            command, cells = readers[reader], list[str]()
            for kind, path in found.items():
                if kind in {"mor", "compacted"} and reader in COW_ONLY:
                    cells.append("fails")
                    continue
                if kind == "mor" and reader in BASE_FILES_ONLY:
                    cells.append("as of the last compaction")
                    continue
                figures = [contest.measure("scan", command(path))["cpu_s"] for _ in range(ROUNDS)]
                cells.append(f"{median(figures):.1f}")
            print(f"| {reader} | {' | '.join(cells)} |", flush=True)


def spark_command(bundle: Path) -> Callable[[str], list[object]]:
    """Return the maker of a command that reads by Spark."""
    return lambda path: [SCRIPTS / "spark.py", bundle, path]


def other_command(reader: str) -> Callable[[str], list[object]]:
    """Return the maker of a command that reads by another reader."""
    return lambda path: [PYTHON, SCRIPTS / "others.py", reader, path]


if __name__ == "__main__":
    main(sys.argv[1:])
