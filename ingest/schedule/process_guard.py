"""Run a job and end all of it when the parent closes standard input or dies.

A separate program that uses only the standard library.  Airflow sends SIGKILL five seconds after it asks a
task to stop, but a job in its commit needs longer, and would be orphaned.  So this process owns the job's
process group, and signals to the task do not reach it.

    python process_guard.py SECONDS PROGRAM [ARGUMENT…]

The group gets SIGTERM first, and SIGKILL that many seconds later.  The exit code is the program's own, or 128
plus the signal number if a signal killed it, or 127 if it cannot be started.  The program's output is passed
on while there is a reader.
"""

import contextlib
import glob
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

TICK_S = 0.1
LEADERLESS_S = 10.0
"""Time for the rest of the group after its leader has ended: Spark's JVM stops on its own."""
CANNOT_START = 127
CHUNK = 65536


class ProcessGuard:
    """A program in its own session.  It passes on the program's output and ends its process group."""

    def __init__(self, kill_after_s: float) -> None:
        self.kill_after_s = kill_after_s
        self.kill_at = float("inf")
        self.is_asked = False
        self.has_reader = True

    def ask(self, *_: object) -> None:
        """Ask the job to end.  This is a signal handler."""
        self.is_asked = True

    def start(self, command: list[str]) -> None:
        """Start the program, after the signal handlers: it inherits blocked and ignored signals."""
        self.job = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert self.job.stdout is not None  # noqa: S101  Popen made a pipe
        self.output = self.job.stdout.fileno()
        self.sources = {sys.stdin.fileno(), self.output}

    def wait(self) -> int:
        """Wait until the program and its group have ended, and return the exit code."""
        while self.job.poll() is None:
            self.poll()
        self.kill_at = min(self.kill_at, time.monotonic() + LEADERLESS_S)
        while self.has_processes():
            self.poll()
        end = (
            time.monotonic() + TICK_S
        )  # remaining output, for a process outside the group may keep the pipe open
        while self.output in self.sources and time.monotonic() < end:
            self.poll()
        code = self.job.returncode
        return code if code >= 0 else 128 - code

    def poll(self) -> None:
        """Pass on output, check that the parent lives, kill the group after its grace period."""
        readable, _, _ = select.select(self.sources, (), (), TICK_S)
        if self.output in readable:
            self.pass_on()
        if sys.stdin.fileno() in readable and not os.read(sys.stdin.fileno(), CHUNK):
            self.sources.discard(sys.stdin.fileno())
            self.ask()
        if self.is_asked:
            self.end()
        if time.monotonic() >= self.kill_at:
            self.signal(signal.SIGKILL)

    def pass_on(self) -> None:
        """Pass on the program's output.  Without a reader, drop it and let the program run."""
        chunk = os.read(self.output, CHUNK)
        if not chunk:
            self.sources.discard(self.output)
        while chunk and self.has_reader:
            try:
                chunk = chunk[os.write(sys.stdout.fileno(), chunk) :]
            except BrokenPipeError:
                self.has_reader = False

    def end(self) -> None:
        """Ask the group to end, once."""
        if self.kill_at == float("inf"):
            self.kill_at = time.monotonic() + self.kill_after_s
            self.signal(signal.SIGTERM)

    def signal(self, number: int) -> None:
        """Send a signal to the group, if it still has processes."""
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.killpg(self.job.pid, number)

    def has_processes(self) -> bool:
        """Tell whether the group has processes other than zombies.

        The first process may never reap them, and a container's first process often does not.
        """
        try:
            os.killpg(self.job.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        states = list(group_states(self.job.pid))
        return not states or any(state not in "ZX" for state in states)


def group_states(group: int) -> Iterator[str]:
    """Yield the state of each process of a group, if the system has /proc."""
    for process in glob.iglob("/proc/[0-9]*/stat"):  # noqa: PTH207  pathlib takes longer to load
        with contextlib.suppress(OSError):
            with open(process, encoding="ascii", errors="replace") as stat:  # noqa: PTH123
                state, _, found, *_ = stat.read().rpartition(")")[2].split()
            if int(found) == group:
                yield state


def main(arguments: list[str]) -> int:
    """Run the program of a command line."""
    kill_after_s, *command = arguments
    guard = ProcessGuard(float(kill_after_s))
    signal.signal(signal.SIGINT, guard.ask)
    signal.signal(signal.SIGTERM, guard.ask)
    try:
        guard.start(command)
    except OSError as error:
        sys.stdout.write(f"{command[0]} cannot be started: {error.strerror}\n")
        return CANNOT_START
    return guard.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
