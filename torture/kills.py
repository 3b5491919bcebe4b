"""`kill -9` at random and at chosen moments: what follows must be what an undisturbed run makes.

One process group runs a table (COW and MOR in turn) slice by slice; it is killed, and the next one goes on
from what lies in the lake.  After the first run of each process, and at the end, the tables must hold
what a replay of the payloads in plain Python says of exactly the offsets that they hold, and the same places
must be set aside.
"""

import random
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Final

import attrs

from ingest.local.servers import down, up
from torture.judgement import differences
from torture.lake import Watch
from torture.scene import TABLES, Scene, make_deployment, make_scene
from torture.workers import Worker

SLICE: Final = 250
POLL_S: Final = 0.002
PATIENCE: Final = 1.6
"""First runs that a chosen moment is waited for: it may not come again in this lake."""
DELAYS_MS: Final = (0, 0, 0, 2, 10, 50, 200)
STEPS: Final = 1500


@attrs.define
class Plan:
    """When to kill: a little after a moment has come, or some seconds after the order, whichever is first."""

    after_s: float
    moment: str = ""
    delay_s: float = 0.0


@attrs.define
class Figures:
    """What happened, and what was wrong."""

    kills: int = 0
    episodes: int = 0
    checks: int = 0
    moments: Counter[str] = attrs.Factory(Counter)
    """What had happened last in the lake when a process was killed."""
    known: list[str] = attrs.Factory(list)
    """The moments that an undisturbed run has."""
    first_run_s: float = 0.0
    wrong: list[str] = attrs.Factory(list)
    errors: Counter[str] = attrs.Factory(Counter)


@attrs.define
class Torture:
    """One topic, a deployment to copy, and workers."""

    folder: Path
    scene: Scene
    dice: random.Random
    figures: Figures = attrs.Factory(Figures)
    standby: Worker | None = None

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
        self.figures.first_run_s = next(at for at, told in worker.heard if "run" in told) - started
        self.check(worker, "undisturbed")
        assert worker.told("done"), f"an undisturbed run died, see {self.folder / 'workers.log'}"
        worker.kill()
        self.figures.known = sorted(moments)

    def fresh(self) -> Path:
        """Make a deployment with an empty lake."""
        self.figures.episodes += 1
        root = self.folder / f"lake{self.figures.episodes}"
        shutil.copytree(self.folder / "deployment", root)
        return root

    def plan(self, table: str) -> Plan:
        """Choose when to kill: half by time, half when a moment comes that had the fewest kills."""
        if self.dice.random() < 0.5:
            return Plan(self.dice.uniform(0.2, 1.3) * self.figures.first_run_s)
        counts = self.figures.moments
        known = [moment for moment in self.figures.known if moment.startswith(table)]
        fewest = min(counts[moment] for moment in known)
        rare = [moment for moment in known if counts[moment] == fewest]
        late = PATIENCE * self.figures.first_run_s
        return Plan(late, self.dice.choice(rare), self.dice.choice(DELAYS_MS) / 1000)

    def episode(self, most: int) -> None:
        """Run one deployment to its end, killing all the way, and look at what it holds then."""
        root, table = self.fresh(), TABLES[self.figures.episodes % len(TABLES)]
        while True:
            worker = self.take_worker()
            plan = self.plan(table) if self.figures.kills < most else Plan(float("inf"))
            worker.order(root=str(root), slice=SLICE, looks="first", tables=[table])
            killed = self.watch(worker, Watch(root / "lake"), plan)
            self.check(worker, root.name)
            if not killed:
                self.check_end(worker, root.name, table)
                worker.kill()
                break
        if not self.figures.wrong:
            shutil.rmtree(root)

    def check_end(self, worker: Worker, where: str, table: str) -> None:
        """Note as wrong that a process which nobody killed did not come to the end."""
        ends = {str(number): len(messages) for number, messages in enumerate(self.scene.messages)}
        held = [told["holds"][table]["offsets"] for told in worker.told("holds")]
        if not held or held[-1] != ends:
            self.figures.wrong.append(f"{where}, {table}: stopped at {held[-1:]}, expected {ends}")

    def watch(self, worker: Worker, watch: Watch, plan: Plan) -> bool:
        """Watch a worker until its moment has come or it is done; tell whether it was killed."""
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
            if first and time.monotonic() - started > self.figures.first_run_s / 2:
                first, self.standby = False, Worker.start(self.folder / "workers.log")
            time.sleep(POLL_S)
        worker.kill()
        self.figures.kills += 1
        self.figures.moments[last] += 1
        print(
            f"{self.figures.kills:4d}  killed {time.monotonic() - started:5.1f} s after go: {last}",
            flush=True,
        )
        return True

    def check(self, worker: Worker, where: str) -> None:
        """Compare what a worker found with the replay."""
        for run in worker.told("run"):
            for outcome in run["run"]:
                if outcome["outcome"] not in ("committed", "idle"):
                    self.figures.errors[outcome["error"]] += 1
                    print(
                        f"      {where}: {outcome['table']} {outcome['outcome']}: {outcome['error']}",
                        flush=True,
                    )
        for told in worker.told("holds"):
            for table, holds in told["holds"].items():
                self.figures.checks += 1
                wrong = differences(self.scene, holds)
                self.figures.wrong += [f"{where}, {table}: {one}" for one in wrong]
                for one in wrong[:5]:
                    print(f"WRONG {where}, {table}: {one}", flush=True)


def torture(folder: Path, most: int, seed: int) -> Figures:
    """Kill so many times; return what came of it."""
    servers = up(folder / "servers")
    try:
        scene = make_scene(servers, "torture.db.dbo.kills", STEPS, seed)
        make_deployment(folder / "deployment", servers, scene.topic)
        one = Torture(folder, scene, random.Random(seed))  # noqa: S311  moments, no secret
        try:
            one.undisturbed()
            while one.figures.kills < most and not one.figures.wrong:
                one.episode(most)
        finally:
            if one.standby is not None:
                one.standby.kill()
        return one.figures
    finally:
        down(folder / "servers")
