"""A fleet under `--follow`: what a commit costs, and how old a change is once it is committed.

`make bench-fleet`, or `python bench/fleet.py TOPICS ACTIVE SECONDS [BACKLOG]`.  With a backlog, one more
table with that many events is onboarded after the first measurement, and a second one lasts until they are
loaded: it shows whether the load holds up the others.
The CPU is that of the JVM and of this process, which also produces the changes.
"""

import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import quantiles

import attrs
from events import KEY_SCHEMA, TOPIC, messages, value_schema
from small import cpu_seconds
from whole import create_topic, send, settings_folder

from ingest import Session
from ingest.report.outcome import RunReport
from ingest.spark.java import jvm_of

COLUMNS = 12
KEYS = 1_000
BATCH = 10
"""Changes to each active topic a second."""
WARMING_S = 60
INTERVAL_S = 1.0


@attrs.define
class Load:
    """Changes on their way to the active topics, and the times at which they were sent."""

    root: Path
    topics: list[str]
    ids: tuple[int, int]
    sent: dict[str, deque[float]] = attrs.Factory(dict)
    ended: threading.Event = attrs.Factory(threading.Event)

    def produce(self) -> None:
        """Send a batch to every topic each second, until ended."""
        key_id, value_id = self.ids
        changes = messages(10**9, KEYS, COLUMNS, key_id, (value_id,), seed=2)
        while not self.ended.is_set():
            started = time.monotonic()
            batch = list(islice(changes, BATCH))
            for topic in self.topics:
                self.sent.setdefault(topic, deque()).extend([time.time()] * BATCH)
            send(self.root, self.topics, batch)
            self.ended.wait(max(0.0, started + 1 - time.monotonic()))

    def ages(self, report: RunReport) -> Iterator[float]:
        """Yield the age of each change that a run has committed, in seconds."""
        for table in (outcome.report() for outcome in report.tables):
            at, sent = table.metrics.last_commit_at, self.sent.get(table.topic)
            if table.outcome != "committed" or at is None or sent is None:
                continue
            for _ in range(min(table.read, len(sent))):
                yield at.timestamp() - sent.popleft()


@attrs.define
class Window:
    """The commits of a time, and the ages of their changes."""

    pid: int
    started: float = attrs.Factory(time.monotonic)
    cpu: float = attrs.field(
        default=attrs.Factory(lambda window: cpu_seconds(window.pid), takes_self=True), init=False
    )
    commits: int = attrs.field(default=0, init=False)
    ages: list[float] = attrs.field(factory=list, init=False)

    def add(self, report: RunReport, ages: list[float]) -> None:
        """Add the commits of a run."""
        self.commits += sum(table.outcome == "committed" for table in report.tables)
        self.ages += ages

    @property
    def passed(self) -> float:
        """The seconds since its start."""
        return time.monotonic() - self.started

    def __str__(self) -> str:
        cuts, spent = quantiles(self.ages, n=100), cpu_seconds(self.pid) - self.cpu
        return (
            f"{self.commits} commits in {self.passed:.0f} s: {self.commits / self.passed:.1f} a second, "
            f"{spent / self.commits:.3f} CPU s each; age of a change p50 {cuts[49]:.1f} s, "
            f"p90 {cuts[89]:.1f} s, p99 {cuts[98]:.1f} s"
        )


def main(count: int, active: int, seconds: float, backlog: int) -> None:
    """Load all topics, follow them, and print the figures."""
    topics = [f"{TOPIC}{number}" for number in range(count)]
    with settings_folder() as root:
        ids = [create_topic(root, topic, KEY_SCHEMA, value_schema(COLUMNS)) for topic in topics]
        key_id, value_id = ids[0]
        send(root, topics, messages(100, KEYS, COLUMNS, key_id, (value_id,)))
        large = f"{TOPIC}-large" if backlog else ""
        with Session.open(root / "ingest.toml") as session:
            session.onboard(["bench.*"])
            assert session.run().exit_code == 0
            if backlog:
                key_id, value_id = create_topic(root, large, KEY_SCHEMA, value_schema(COLUMNS))
                send(root, [large], messages(backlog, backlog, COLUMNS, key_id, (value_id,)))
            follow(session, Load(root, topics[:active], ids[0]), seconds, large)


def follow(session: Session, load: Load, seconds: float, large: str) -> None:
    """Follow, and print what the commits cost: after the warming, then while a large topic is loaded."""
    producer = threading.Thread(target=load.produce)
    producer.start()
    pid = int(jvm_of(session.spark).java.lang.ProcessHandle.current().pid())
    began, window, is_beside = time.monotonic(), None, False
    try:
        for report in session.follow(interval_s=INTERVAL_S):
            ages = list(load.ages(report))
            if window is None:
                window = Window(pid) if time.monotonic() - began >= WARMING_S else None
                continue
            window.add(report, ages)
            loaded = [table for table in report.tables if is_beside and table.topic == large]
            if loaded and loaded[0].outcome != "idle":
                assert loaded[0].outcome == "committed", loaded[0].error
                print(f"beside the load of {large}: {window}", flush=True)
                break
            if not is_beside and window.passed >= seconds:
                print(window, flush=True)
                if not large:
                    break
                session.onboard([large])
                window, is_beside = Window(pid), True
    finally:
        load.ended.set()
        producer.join()


if __name__ == "__main__":
    defaults = [300, 60, 120, 0]
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + defaults[len(given) :]))
