"""The state after a `kill -9`, without the kill: stop the JVM, copy the lake, continue the JVM.

Nothing but the lake survives a run (offsets lie in its commits), and a stopped JVM writes as little as a dead
one; what it had not handed to the kernel is lost in both cases.  So the copy is what the next run finds after
a kill at that moment.  It costs one run in a warm JVM instead of a start, so that every kind of moment is met
several times.  Recoveries are frozen too: a second death on the way back.
"""

import math
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs
from pyspark.sql import SparkSession

from ingest.api.session import Session
from torture.figures import Figures
from torture.lake import Watch
from torture.scene import Scene
from torture.table_judge import differences
from torture.worker import look

MOMENTS: Final = "moments"
POLL_S: Final = 0.001
STOP_S: Final = 10.0


@attrs.define
class Frozen:
    """A copied deployment, the moments at which it was taken, and how many deaths led to it."""

    root: Path
    moment: str
    deaths: int


@attrs.define
class Freezer:
    """Runs a deployment in this process's session, and copies it at moments that are still rare."""

    spark: SparkSession
    scene: Scene
    folder: Path
    dice: random.Random
    quota: int
    """Copies of each kind of moment."""
    most: int
    until: float = math.inf
    """When the last copy may be made, in monotonic seconds."""
    figures: Figures = attrs.Factory(Figures)

    def run(self, root: Path, max_offsets: int | None, deaths: int, most: int) -> list[Frozen]:
        """Run once; return the copies made on the way."""
        raised: list[BaseException] = []

        def work() -> None:
            try:
                with Session.open(root / "ingest.toml", spark=self.spark) as session:
                    report = session.run(max_offsets=max_offsets)
                errors = [str(table.error) for table in report.tables if table.error]
                self.figures.wrong += [f"{root.name}: {item}" for item in errors]
            except BaseException as error:  # noqa: BLE001  told by the other thread
                raised.append(error)

        watch = Watch(root / "lake")
        watch.look()
        thread = threading.Thread(target=work)
        thread.start()
        frozen: list[Frozen] = []
        while thread.is_alive():
            seen, count = self.figures.kinds[MOMENTS], self.figures.counts["frozen"]
            came = [item for item in watch.look() if seen[item] < self.quota]
            if came and len(frozen) < most and count < self.most and time.monotonic() < self.until:
                frozen.append(self.freeze(root, self.dice.choice(came), deaths))
            time.sleep(POLL_S)
        thread.join()
        if raised:
            raise raised[0]
        return frozen

    def freeze(self, root: Path, moment: str, deaths: int) -> Frozen:
        """Stop the JVM, copy the deployment, let the JVM continue."""
        self.figures.counts["frozen"] += 1
        self.figures.counts["in recovery"] += deaths > 0
        self.figures.kinds[MOMENTS][moment] += 1
        copy = self.folder / f"frozen{self.figures.counts['frozen']}"
        with stopped(self.spark):
            shutil.copytree(root, copy)
        return Frozen(copy, moment, deaths + 1)

    def recover(self, one: Frozen) -> list[Frozen]:
        """Run to the end of the topic and compare; return the copies made meanwhile.

        Every recovery runs in one folder, as after a death: the plan of a rollback has absolute paths.
        """
        place = one.root.rename(self.folder / "recovered")
        again = self.run(place, None, one.deaths, 1 if one.deaths < 3 and self.dice.random() < 0.3 else 0)
        wrong = self.check(place)
        self.figures.wrong += [f"frozen at {one.moment} ({one.root.name}): {result}" for result in wrong]
        if wrong:
            place.rename(one.root)
        else:
            shutil.rmtree(place)
        return again

    def check(self, root: Path) -> list[str]:
        """Compare both tables with the replay of all messages."""
        wrong = []
        with Session.open(root / "ingest.toml", spark=self.spark) as session:
            for table in session.tables():
                holds = look(session, table.name)
                self.figures.counts["checks"] += 1
                result = differences(self.scene, holds, at_end=True)
                wrong += [f"{table.name}: {item}" for item in result]
        return wrong


def jvm_of(spark: SparkSession) -> int:
    """Return the process id of a session's JVM, which this process started."""
    return int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]  # noqa: SLF001


@contextmanager
def stopped(spark: SparkSession) -> Iterator[None]:
    """Stop a session's JVM, which this process started, and let it continue at the end."""
    pid = jvm_of(spark)
    os.kill(pid, signal.SIGSTOP)
    try:
        _wait_stopped(pid)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def freeze_all(freezer: Freezer, root: Path, slice_: int, a_run: int) -> Figures:
    """Run a deployment slice by slice, freezing; then recover every copy, and the copies of that."""
    remaining: list[Frozen] = []
    for _ in range(-(-freezer.scene.count // slice_)):
        remaining += freezer.run(root, slice_, 0, a_run)
        while remaining:
            remaining += freezer.recover(remaining.pop())
    freezer.run(root, None, 0, 0)
    freezer.figures.wrong += [f"undisturbed: {item}" for item in freezer.check(root)]
    return freezer.figures


def _wait_stopped(pid: int) -> None:
    """Wait until every thread is stopped."""
    end = time.monotonic() + STOP_S
    while time.monotonic() < end:
        states = [_state(stat) for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
        if all(state in "tTZX" for state in states):
            return
        time.sleep(0.001)
    raise RuntimeError(f"process {pid} does not stop")


def _state(stat: Path) -> str:
    try:
        return stat.read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"
