"""The cost of chosen rows and columns, and of histories: runs of the same events, by other table files."""

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median

from events import TOPIC
from whole import deployment, produce

from ingest import Session
from ingest.java import jvm_of

ROUNDS = 7
WARMING = 2
VARIANTS = {
    "plain": "",
    "masks": "".join(f'[columns.c{number}]\nmask = "hash"\n' for number in (0, 2, 5, 11)),
    "where": '[rows]\nwhere = "c1 % 20 != 0 and c0 is not null"\n',
    "sql": (
        '[columns.d1]\nsql = "concat(c0, \'-\', c2)"\n[columns.d2]\nsql = "c1 * 2L + c3"\n'
        '[columns.d3]\nsql = "year(c9)"\n'
    ),
}
"""Four masked columns of 31, a condition, three computed columns."""


def chosen_against_plain() -> float:
    """Return the CPU of the dearest choice over that of the plain table, by medians of rounds in turn."""
    variants = {name: partial(_added, lines) for name, lines in VARIANTS.items()}
    figures = _medians(variants, keys=150_000, max_offsets=None)
    return max(figures[name] for name in VARIANTS if name != "plain") / figures["plain"]


def history_against_plain() -> float:
    """Return the CPU of a history over that of the plain table: a first load, then a run of changes."""
    variants = {"plain": str, "history": _as_history}
    figures = _medians(variants, keys=50_000, max_offsets=100_000)
    return figures["history"] / figures["plain"]


def _added(lines: str, file: str) -> str:
    return f"{file}\n{lines}"


def _as_history(file: str) -> str:
    return file.replace('mode = "upsert"', 'mode = "history"')


def _medians(
    variants: Mapping[str, Callable[[str], str]], *, keys: int, max_offsets: int | None
) -> dict[str, float]:
    """Return the CPU seconds of 150,000 events for each variant of the table file."""
    with deployment() as root:
        produce(root, [TOPIC], events=150_000, keys=keys, columns=31)
        settings = root / "ingest.toml"
        settings.write_text(f'{settings.read_text()}[masking]\nsalt = "a salt of this bench, long"\n')
        with Session.open(settings) as session:
            session.onboard(["bench.*"], name="t")
            file = root / "tables" / "t.toml"
            plain = file.read_text()
            seconds: dict[str, list[float]] = {name: [] for name in variants}
            for number in range(ROUNDS):
                for name, edit in variants.items():
                    file.write_text(edit(plain))
                    cpu_s = _cpu_of_runs(session, root, root / f"{name}{number}", max_offsets)
                    seconds[name].append(cpu_s)
    figures = {name: median(values[WARMING:]) for name, values in seconds.items()}
    print("  " + ", ".join(f"{name} {figure:.1f} s" for name, figure in figures.items()), flush=True)
    return figures


def _cpu_of_runs(session: Session, root: Path, lake: Path, max_offsets: int | None) -> float:
    """Return the CPU seconds of all runs into a new lake."""
    pid = int(jvm_of(session.spark).java.lang.ProcessHandle.current().pid())
    started = cpu_s_of(pid)
    with Session.open(root / "ingest.toml", overrides={"lake.path": str(lake)}, spark=session.spark) as runs:
        outcome = "committed"
        while outcome == "committed":
            report = runs.run(max_offsets=max_offsets)
            assert report.exit_code == 0, report.tables[0].error
            outcome = report.tables[0].outcome
    return cpu_s_of(pid) - started


def cpu_s_of(pid: int) -> float:
    """Return the CPU seconds so far of the JVM and of this process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + time.process_time()
