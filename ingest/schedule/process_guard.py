"""Runs a job on a leash: when whoever holds our standard input lets go, or dies, the whole job ends.

A program of its own, of the standard library alone.  Airflow gives a task that it kills five seconds, then
sends SIGKILL; a job in its commit needs longer, and nobody would be left to end it.  So the job's process
group belongs to this process, which no signal to the task reaches.

    python process_guard.py SECONDS PROGRAM [ARGUMENT…]

SIGTERM goes to the group first, SIGKILL that many seconds later.  Exit code: the program's own; 128 and the
number of the signal that killed it; 127 where it could not be started.  What the program prints is passed on
as long as somebody listens.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

TICK_S = 0.1
LET_GO_S = 10.0
"""What is left of the group when its leader has ended gets this long: Spark's JVM ends by itself."""
CANNOT_START = 127
CHUNK = 65536


class ProcessGuard:
    """A program in a session of its own, and what is done to it."""

    def __init__(self, kill_after_s: float) -> None:
        self.kill_after_s = kill_after_s
        self.kill_at = float("inf")
        self.is_asked = False
        self.hears = True

    def ask(self, *_: object) -> None:
        """Note that the job is to end; a signal handler."""
        self.is_asked = True

    def start(self, command: list[str]) -> None:
        """Start the program: with handlers set, since what is blocked or ignored would be so for it, too."""
        self.job = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert self.job.stdout is not None  # noqa: S101  a pipe was asked for
        self.said = self.job.stdout.fileno()
        self.sources = {sys.stdin.fileno(), self.said}

    def hold(self) -> int:
        """Wait until the program and its group have ended; return the exit code."""
        while self.job.poll() is None:
            self.look()
        self.kill_at = min(self.kill_at, time.monotonic() + LET_GO_S)
        while self.signal(0):
            self.look()
        end = time.monotonic() + TICK_S  # the last of what was said; one who left the group may hold the pipe
        while self.said in self.sources and time.monotonic() < end:
            self.look()
        code = self.job.returncode
        return code if code >= 0 else 128 - code

    def look(self) -> None:
        """Pass on what was said, notice that nobody holds us, kill what has had its time."""
        readable, _, _ = select.select(self.sources, (), (), TICK_S)
        if self.said in readable:
            self.pass_on()
        if sys.stdin.fileno() in readable and not os.read(sys.stdin.fileno(), CHUNK):
            self.sources.discard(sys.stdin.fileno())
            self.ask()
        if self.is_asked:
            self.end()
        if time.monotonic() >= self.kill_at:
            self.signal(signal.SIGKILL)

    def pass_on(self) -> None:
        """Write on what the program wrote; without a listener it is dropped, and the program goes on."""
        chunk = os.read(self.said, CHUNK)
        if not chunk:
            self.sources.discard(self.said)
        while chunk and self.hears:
            try:
                chunk = chunk[os.write(sys.stdout.fileno(), chunk) :]
            except BrokenPipeError:
                self.hears = False

    def end(self) -> None:
        """Ask the group to end, once."""
        if self.kill_at == float("inf"):
            self.kill_at = time.monotonic() + self.kill_after_s
            self.signal(signal.SIGTERM)

    def signal(self, number: int) -> bool:
        """Send a signal to the group; tell whether anybody is left in it."""
        with contextlib.suppress(PermissionError):
            try:
                os.killpg(self.job.pid, number)
            except ProcessLookupError:
                return False
        return True


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
    return guard.hold()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
