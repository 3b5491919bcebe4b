"""A fleet under `--follow`: what a commit costs, and how old a change is once it is committed.

`make bench-fleet`, or `python bench/fleet.py TOPICS ACTIVE SECONDS [BACKLOG]`.  With a backlog, one more
table has that many events to load at the start: the age of the changes of the others shows whether it holds
them up.  Only a load that outlasts the minute of warming is measured.
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


def main(count: int, active: int, seconds: float, backlog: int) -> None:
    """Load all topics, follow them, and print the figures."""
    topics = [f"{TOPIC}{number}" for number in range(count)]
    with settings_folder() as root:
        ids = [create_topic(root, topic, KEY_SCHEMA, value_schema(COLUMNS)) for topic in topics]
        key_id, value_id = ids[0]
        send(root, topics, messages(100, KEYS, COLUMNS, key_id, (value_id,)))
        with Session.open(root / "ingest.toml") as session:
            session.onboard(["bench.*"])
            assert session.run().exit_code == 0
            if backlog:
                large = f"{TOPIC}-large"
                key_id, value_id = create_topic(root, large, KEY_SCHEMA, value_schema(COLUMNS))
                send(root, [large], messages(backlog, backlog, COLUMNS, key_id, (value_id,)))
                session.onboard([large])
            follow(session, Load(root, topics[:active], ids[0]), seconds)


def follow(session: Session, load: Load, seconds: float) -> None:
    """Follow for the time after the warming, and print what the commits in it cost."""
    producer = threading.Thread(target=load.produce)
    producer.start()
    pid = int(jvm_of(session.spark).java.lang.ProcessHandle.current().pid())
    began, start, before, commits = time.monotonic(), 0.0, 0.0, 0
    ages: list[float] = []
    try:
        for report in session.follow(interval_s=INTERVAL_S):
            run_ages = list(load.ages(report))
            now = time.monotonic()
            if start:
                ages += run_ages
                commits += sum(table.outcome == "committed" for table in report.tables)
                if now - start >= seconds:
                    break
            elif now - began >= WARMING_S:
                start, before = now, cpu_seconds(pid)
    finally:
        load.ended.set()
        producer.join()
    spent, passed = cpu_seconds(pid) - before, time.monotonic() - start
    cuts = quantiles(ages, n=100)
    print(
        f"{commits} commits in {passed:.0f} s: {commits / passed:.1f} a second, "
        f"{spent / commits:.3f} CPU s each; age of a change p50 {cuts[49]:.1f} s, "
        f"p90 {cuts[89]:.1f} s, p99 {cuts[98]:.1f} s",
        flush=True,
    )


if __name__ == "__main__":
    defaults = [300, 60, 120, 0]
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + defaults[len(given) :]))
