"""Processes killed, moments frozen, payloads corrupted: `make torture`, or `python torture/run.py NAME…`.

Prints the figures that docs/reliability.md quotes; returns 1 where anything was lost, doubled or falsified.
"""

import argparse
import math
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import attrs

from ingest.jars.artifacts import spark_jars
from ingest.local.servers import down, up
from ingest.spark.session import start_session
from torture.freezes import Freezer, freeze_all
from torture.fuzz import fuzz
from torture.kills import MOMENTS, kill_all
from torture.scene import make_deployment, make_scene

CONF: Final = {"spark.driver.memory": "2g"}
TOPIC: Final = "torture.db.dbo.changes"
CHANGES: Final = 1500
SLICE: Final = 250


@attrs.frozen
class SignalRequest:
    """How much to do; nothing new is begun after `until`, in monotonic seconds."""

    count: int
    seed: int
    until: float


def kills(asked: SignalRequest, folder: Path) -> list[str]:
    """Kill worker processes."""
    result = kill_all(folder, asked.count, asked.seed, asked.until)
    counts = result.counts
    result.show(
        f"killed {counts['kills']} times with kill -9, at {len(result.kinds[MOMENTS])} kinds of moments; "
        f"looked at tables {counts['checks']} times, {counts['ends']} of them at the end of the topic: rows, "
        f"offsets or rejects lost, doubled or wrong: {len(result.wrong)}"
    )
    return result.wrong


def freezes(asked: SignalRequest, folder: Path) -> list[str]:
    """Copy the lake at moments of a run."""
    servers = up(folder / "servers")
    try:
        scene = make_scene(servers, TOPIC, CHANGES, asked.seed)
        make_deployment(folder / "base", servers, scene.topic)
        spark = start_session("freezes", "local[2]", CONF, spark_jars())
        dice = random.Random(asked.seed)  # noqa: S311  moments, no secret
        # Every kind of moment as often, and enough of each run that late ones get their share.
        freezer = Freezer(spark, scene, folder, dice, quota=5, most=asked.count, until=asked.until)
        slices = -(-scene.count // SLICE)
        result = freeze_all(freezer, folder / "base", SLICE, a_run=-(-asked.count // slices))
        spark.stop()
    finally:
        down(folder / "servers")
    counts = result.counts
    result.show(
        f"went on from {counts['frozen']} moments of {len(result.kinds['moments'])} kinds, "
        f"{counts['in recovery']} of them in a recovery; looked at tables {counts['checks']} times: rows, "
        f"offsets or rejects lost, doubled or wrong: {len(result.wrong)}"
    )
    return result.wrong


def payloads(asked: SignalRequest, folder: Path) -> list[str]:
    """Corrupt payloads."""
    del folder
    spark = start_session("payloads", "local[2]", CONF, spark_jars())
    result = fuzz(spark, asked.count, asked.seed)
    spark.stop()
    counts = result.counts
    result.show(
        f"corrupt {counts['payloads']:,} payloads of {counts['topics']} topics: {counts['taken']:,} taken as "
        f"the independent decoder reads them, {counts['ignored']:,} ignored, {counts['rejected']:,} rejected "
        f"with a reason ({counts['stricter']:,} as unreadable that the other reads), "
        f"{len(result.wrong)} wrong"
    )
    return result.wrong


HARNESSES: Final[Mapping[str, tuple[Callable[[SignalRequest, Path], list[str]], int]]] = {
    "payloads": (payloads, 24_000),
    "freezes": (freezes, 200),
    "kills": (kills, 100),
}


def main() -> int:
    """Run the harnesses that are named, all by default."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(HARNESSES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, help="kills, moments or payloads")
    parser.add_argument("--minutes", type=float, default=math.inf, help="no kill or moment after so many")
    given = parser.parse_args()
    wrong: list[str] = []
    for name in given.names or HARNESSES:
        work, count = HARNESSES[name]
        started = time.monotonic()
        folder = Path(tempfile.mkdtemp(prefix=f"torture-{name}-"))
        requests = SignalRequest(given.count or count, given.seed, started + given.minutes * 60)
        result = work(requests, folder)
        print(f"{name}: seed {requests.seed}, {time.monotonic() - started:.0f} s", flush=True)
        if result:
            print(f"{name}: what was wrong lies in {folder}")
            wrong += result
        else:
            shutil.rmtree(folder)
    for item in wrong[:50]:
        print(f"WRONG {item}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
