"""Small commits in a session that is up: one table again and again, and fifty tables at once."""

import time
from pathlib import Path
from statistics import median

from events import TOPIC
from whole import produce, settings_folder

from ingest import Session
from ingest.spark.java import jvm_of

ROWS = 10_000
CHANGES = 1_000
COMMITS = 20
TABLES = 50


def warm_cpu_seconds() -> float:
    """Return the CPU seconds of a commit of 1,000 changes over 10,000 rows, the median of the last ten.

    CPU seconds of the JVM and of Python, which a busy machine changes little.
    """
    with settings_folder() as root:
        produce(root, [TOPIC], events=ROWS + COMMITS * CHANGES, keys=ROWS, columns=12)
        with Session.open(root / "ingest.toml") as session:
            session.onboard(["bench.*"])
            assert session.run(max_offsets=ROWS).exit_code == 0
            pid = int(jvm_of(session.spark).java.lang.ProcessHandle.current().pid())
            seconds = []
            for _ in range(COMMITS):
                before = cpu_seconds(pid)
                assert session.run(max_offsets=CHANGES).tables[0].counts.read == CHANGES
                seconds.append(cpu_seconds(pid) - before)
    print("  " + " ".join(f"{one:.2f}" for one in seconds), flush=True)
    return median(seconds[COMMITS // 2 :])


def fifty_seconds() -> float:
    """Return the seconds of a run of 50 tables with 1,000 changes each, after their first commits."""
    topics = [f"{TOPIC}{number}" for number in range(TABLES)]
    with settings_folder() as root:
        produce(root, topics, events=2 * CHANGES, keys=CHANGES, columns=12)
        with Session.open(root / "ingest.toml") as session:
            session.onboard(["bench.*"])
            assert session.run(max_offsets=CHANGES).exit_code == 0
            started = time.perf_counter()
            report = session.run()
            assert sum(table.counts.read for table in report.tables) == TABLES * CHANGES
            return time.perf_counter() - started


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process so far, and of this one."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
    return sum(map(int, ticks)) / 100 + time.process_time()
