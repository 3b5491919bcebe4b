"""`kill -9` at random and at chosen moments: the result must equal that of an undisturbed run.

One process group runs a table (COW and MOR in turn) slice by slice; it is killed, and the next one continues
from what lies in the lake.  After the first run of each process, and at the end, the tables must hold
what a replay of the payloads in plain Python says of exactly the offsets that they hold, and the same places
must be rejected.
"""

import math
import random
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Final

import attrs

from ingest.local.servers import down, up
from torture.figures import Figures
from torture.lake import Watch
from torture.scene import TABLES, Scene, make_deployment, make_scene
from torture.table_judge import differences
from torture.workers import Worker

SLICE: Final = 250
POLL_S: Final = 0.002
PATIENCE: Final = 1.6
"""First runs that a chosen moment is waited for: it may not come again in this lake."""
DELAYS_MS: Final = (0, 0, 0, 2, 10, 50, 200)
STEPS: Final = 1500
MOMENTS: Final = "last in the lake when killed"
FAILED: Final = "failed runs"


@attrs.define
class Plan:
    """When to kill: a little after a moment has come, or some seconds after the order, whichever is first."""

    after_s: float
    moment: str = ""
    delay_s: float = 0.0


@attrs.define
class Torture:
    """One topic, a deployment to copy, and workers."""

    folder: Path
    scene: Scene
    dice: random.Random
    figures: Figures = attrs.Factory(Figures)
    standby: Worker | None = None
    episodes: int = 0
    known: list[str] = attrs.Factory(list)
    """The moments that an undisturbed run has."""
    first_run_s: float = 0.0
    """How long its first slice took."""
    most: int = 0
    until: float = math.inf
    """When the last kill may be, in monotonic seconds."""

    @property
    def is_over(self) -> bool:
        """Return whether all kills are done."""
        return self.figures.counts["kills"] >= self.most or time.monotonic() >= self.until

    def take_worker(self) -> Worker:
        """Return a worker that is ready, and start the next one."""
        worker = self.standby or Worker.start(self.folder / "workers.log")
        self.standby = None
        worker.wait_ready()
        return worker

    def undisturbed(self) -> None:
        """Run without a kill; learn the moments of a run, and check every slice."""
        root, worker = self.fresh(), self.take_worker()
        watch, moments = Watch(root / "lake"), Counter[str]()
        started = time.monotonic()
        worker.order(root=str(root), slice=SLICE, looks="always", tables=TABLES)
        while not worker.told("done") and worker.process.poll() is None:
            moments.update(watch.look())
            time.sleep(POLL_S)
        self.first_run_s = next(at for at, explained in worker.heard if "run" in explained) - started
        self.check(worker, "undisturbed", is_done=True)
        assert worker.told("done"), f"an undisturbed run died, see {self.folder / 'workers.log'}"
        worker.kill()
        self.known = sorted(moments)

    def fresh(self) -> Path:
        """Make a deployment with an empty lake."""
        self.episodes += 1
        root = self.folder / f"lake{self.episodes}"
        shutil.copytree(self.folder / "deployment", root)
        return root

    def plan(self, table: str) -> Plan:
        """Choose when to kill: half by time, half when a moment comes that had the fewest kills."""
        if self.dice.random() < 0.5:
            return Plan(self.dice.uniform(0.2, 1.3) * self.first_run_s)
        counts = self.figures.kinds[MOMENTS]
        existing = [moment for moment in self.known if moment.startswith(table)]
        fewest = min(counts[moment] for moment in existing)
        rare = [moment for moment in existing if counts[moment] == fewest]
        late = PATIENCE * self.first_run_s
        return Plan(late, self.dice.choice(rare), self.dice.choice(DELAYS_MS) / 1000)

    def episode(self) -> None:
        """Run one deployment to its end, killing all the way, then compare its tables."""
        root, table = self.fresh(), TABLES[self.episodes % len(TABLES)]
        while True:
            worker = self.take_worker()
            plan = Plan(math.inf) if self.is_over else self.plan(table)
            worker.order(root=str(root), slice=SLICE, looks="first", tables=[table])
            killed = self.watch(worker, Watch(root / "lake"), plan)
            self.check(worker, root.name, is_done=not killed)
            if not killed:
                worker.kill()
                break
        if not self.figures.wrong:
            shutil.rmtree(root)

    def watch(self, worker: Worker, watch: Watch, plan: Plan) -> bool:
        """Watch a worker until its moment has come or it is done; return whether it was killed."""
        started, last, first = time.monotonic(), "nothing yet", True
        due, moment = started + plan.after_s, plan.moment
        if watch.lake.exists():
            watch.look()
        while time.monotonic() < due:
            if worker.told("done") or worker.process.poll() is not None:
                return False
            came = watch.look()
            last = came[-1] if came else last
            if moment in came:
                last, moment, due = moment, "", time.monotonic() + plan.delay_s
            if first and time.monotonic() - started > self.first_run_s / 2:
                first, self.standby = False, Worker.start(self.folder / "workers.log")
            time.sleep(POLL_S)
        worker.kill()
        self.figures.counts["kills"] += 1
        self.figures.kinds[MOMENTS][last] += 1
        print(
            f"{self.figures.counts['kills']:4d}  killed {time.monotonic() - started:5.1f} s after go: {last}",
            flush=True,
        )
        return True

    def check(self, worker: Worker, where: str, *, is_done: bool) -> None:
        """Compare a worker's tables with the replay; a worker that was not killed must be at the end."""
        for run in worker.told("run"):
            for outcome in run["run"]:
                if outcome["outcome"] not in ("committed", "idle"):
                    self.figures.kinds[FAILED][outcome["error"]] += 1
                    print(
                        f"      {where}: {outcome['table']} {outcome['outcome']}: {outcome['error']}",
                        flush=True,
                    )
        looks = worker.told("holds")
        for explained in looks:
            for table, holds in explained["holds"].items():
                self.figures.counts["checks"] += 1
                at_end = is_done and explained is looks[-1]
                self.figures.counts["ends"] += at_end
                self.note(
                    [
                        f"{where}, {table}: {difference}"
                        for difference in differences(self.scene, holds, at_end=at_end)
                    ]
                )
        if is_done and not worker.told("done"):
            self.note([f"{where}: a process that nobody killed died"])

    def note(self, wrong: list[str]) -> None:
        """Keep the failures, and show the first."""
        self.figures.wrong += wrong
        for item in wrong[:5]:
            print(f"WRONG {item}", flush=True)


def kill_all(folder: Path, most: int, seed: int, until: float) -> Figures:
    """Kill a number of times, the last time before a monotonic moment; return the figures."""
    servers = up(folder / "servers")
    try:
        scene = make_scene(servers, "torture.db.dbo.kills", STEPS, seed)
        make_deployment(folder / "deployment", servers, scene.topic)
        item = Torture(folder, scene, random.Random(seed), most=most, until=until)  # noqa: S311  moments
        try:
            item.undisturbed()
            while not item.is_over and not item.figures.wrong:
                item.episode()
        finally:
            if item.standby is not None:
                item.standby.kill()
        return item.figures
    finally:
        down(folder / "servers")
