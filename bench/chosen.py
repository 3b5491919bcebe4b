"""The cost of chosen rows and columns, and of histories: whole runs of the same events."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from events import TOPIC
from whole import produce, settings_folder

from ingest import Session

ROUNDS: Final = int(os.environ.get("ROUNDS", "5"))
EVENTS: Final = 150_000
COLUMNS: Final = 31
MEASURE: Final = Path(__file__).parent / "peers" / "measure.py"
TABLES: Final = {
    "plain": "",
    "masks": "".join(
        f'[columns.c{number}]\nmask = "{mask}"\n'
        for number, mask in ((0, "hash"), (5, "last4"), (2, "redact"), (11, "null"))
    ),
    "where": '[rows]\nwhere = "c1 % 20 != 0 and c0 is not null"\n',
    "sql": (
        '[columns.d1]\nsql = "concat(c0, \'-\', c2)"\n[columns.d2]\nsql = "c1 * 2L + c3"\n'
        '[columns.d3]\nsql = "year(c9)"\n'
    ),
}
"""Four masked columns of 31, a mask of each kind; a condition; three computed columns."""
HASHES: Final = "".join(f'[columns.c{number}]\nmask = "hash"\n' for number in (0, 2, 5, 11))


def chosen_against_plain() -> float:
    """Return the CPU of the dearest choice over that of the plain table: first loads, a process each.

    Four hashed columns are shown besides: a hash is 64 random digits to compute, sort and write.
    """
    with _tables(keys=EVENTS) as root:
        figures = _medians(root, [*TABLES, "hashes"], [[]])
    return max(figures[name] for name in TABLES if name != "plain") / figures["plain"]


def history_against_plain() -> float:
    """Return the CPU of a history over that of the plain table: a first load, then a run of changes."""
    with _tables(keys=EVENTS // 3) as root:
        figures = _medians(root, ["plain", "history"], [["--max-offsets", str(EVENTS * 2 // 3)], []])
    return figures["history"] / figures["plain"]


@contextmanager
def _tables(*, keys: int) -> Iterator[Path]:
    """Give a deployment with a topic, and a table file for each of the tables and for a history."""
    with settings_folder() as root:
        produce(root, [TOPIC], events=EVENTS, keys=keys, columns=COLUMNS)
        settings = root / "ingest.toml"
        lines = [line for line in settings.read_text().splitlines() if "extraJavaOptions" not in line]
        settings.write_text("\n".join([*lines, "[masking]", 'salt = "a salt of this bench, long"', ""]))
        settings.chmod(0o600)
        with Session.open(settings) as session:
            session.onboard(["bench.*"], name="plain")
        plain = (root / "tables" / "plain.toml").read_text()
        for name, added in {**TABLES, "hashes": HASHES}.items():
            _write(root, name, f"{plain}\n{added}")
        _write(root, "history", plain.replace("[target]", '[target]\nmode = "history"'))
        yield root


def _write(root: Path, name: str, text: str) -> None:
    file = root / "tables" / f"{name}.toml"
    file.write_text(text.replace('table = "plain"', f'table = "{name}"'))


def _medians(root: Path, names: Sequence[str], runs: Sequence[Sequence[str]]) -> Mapping[str, float]:
    """Return the CPU seconds of the runs of each table, each a process, tables in turn.

    The first round does not count: it leaves the class archive.
    """
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(ROUNDS + 1):
        for name in names:
            cpu_s = sum(_cpu_s(root, name, f"{root}/lake-{number}", options) for options in runs)
            seconds[name].append(cpu_s)
    figures = {name: median(values[1:]) for name, values in seconds.items()}
    print("  " + ", ".join(f"{name} {figure:.1f} s" for name, figure in figures.items()), flush=True)
    return figures


def _cpu_s(root: Path, name: str, lake: str, options: Sequence[str]) -> float:
    """Return the CPU seconds of a run, with all its processes."""
    run = [sys.executable, "-m", "ingest", "run", name, "--lake", lake, *options]
    subprocess.run([sys.executable, MEASURE, name, *run], cwd=root, check=True, stdout=subprocess.DEVNULL)
    figures = json.loads((root / "results.jsonl").read_text().splitlines()[-1])
    return float(figures["cpu_s"])
