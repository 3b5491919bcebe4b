"""Worker processes: started in advance, signalled to begin, watched, and killed with their JVM."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

import attrs

from ingest.local.process import group_lives

START_S: Final = 180.0


@attrs.define
class Worker:
    """One process group: a Python process, and the JVM that it started."""

    process: subprocess.Popen[str]
    heard: list[tuple[float, Mapping[str, Any]]]
    hearing: threading.Thread

    @classmethod
    def start(cls, log: Path) -> Self:
        """Start one; it gets ready while others work."""
        ours, theirs = os.pipe()
        command = [sys.executable, str(Path(__file__).with_name("worker.py")), str(theirs)]
        with log.open("a") as file:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=file, stderr=file, pass_fds=[theirs],
                start_new_session=True, text=True,
            )  # fmt: skip
        os.close(theirs)
        heard: list[tuple[float, Mapping[str, Any]]] = []
        hearing = threading.Thread(target=_hear, args=(ours, heard), daemon=True)
        hearing.start()
        return cls(process, heard, hearing)

    def wait_ready(self) -> None:
        """Wait until Spark is up."""
        end = time.monotonic() + START_S
        while not self.told("ready"):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"a worker did not start: {self.process.poll()}")
            time.sleep(0.01)

    def order(self, **order: Any) -> None:
        """Signal the worker to begin."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def told(self, word: str) -> list[Mapping[str, Any]]:
        """Return the worker's reports of one kind so far."""
        return [item for _, item in list(self.heard) if word in item]

    def kill(self) -> None:
        """Kill Python and JVM at once, as the kernel's OOM killer or a power switch would."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.hearing.join()
        end = time.monotonic() + START_S
        while group_lives(self.process.pid) and time.monotonic() < end:
            time.sleep(0.005)
        assert self.process.stdin is not None
        self.process.stdin.close()


def _hear(pipe: int, heard: list[tuple[float, Mapping[str, Any]]]) -> None:
    with os.fdopen(pipe, encoding="utf-8") as lines:
        # A line without an end: killed in the middle of a word.
        heard.extend((time.monotonic(), json.loads(line)) for line in lines if line.endswith("\n"))
