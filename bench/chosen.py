"""The cost of chosen rows and columns: runs of the same events, by table files with and without a choice."""

import os
import time
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
    with deployment() as root:
        produce(root, [TOPIC], events=150_000, keys=150_000, columns=31)
        settings = root / "ingest.toml"
        settings.write_text(f'{settings.read_text()}[masking]\nsalt = "a salt of this bench, long"\n')
        with Session.open(settings) as session:
            session.onboard(["bench.*"], name="t")
            seconds: dict[str, list[float]] = {name: [] for name in VARIANTS}
            for number in range(ROUNDS):
                for name in VARIANTS:
                    seconds[name].append(_cpu_of_run(session, root, name, number))
    figures = {name: median(values[WARMING:]) for name, values in seconds.items()}
    print("  " + ", ".join(f"{name} {figure:.1f} s" for name, figure in figures.items()), flush=True)
    return max(figures[name] for name in VARIANTS if name != "plain") / figures["plain"]


def _cpu_of_run(session: Session, root: Path, variant: str, number: int) -> float:
    """Return the CPU seconds of a run into a new lake."""
    file = root / "tables" / "t.toml"
    plain = file.read_text()
    file.write_text(f"{plain}\n{VARIANTS[variant]}")
    lake = {"lake.path": str(root / f"{variant}{number}")}
    pid = int(jvm_of(session.spark).java.lang.ProcessHandle.current().pid())
    started = _cpu(pid)
    with Session.open(root / "ingest.toml", overrides=lake, spark=session.spark) as run:
        report = run.run()
    file.write_text(plain)
    assert report.exit_code == 0, report.tables[0].error
    return _cpu(pid) - started


def _cpu(pid: int) -> float:
    """Return the CPU seconds so far of the JVM and of this process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + time.process_time()
