"""Servers as detached processes that are never lost: each writes its own pid before it becomes the server."""

import fcntl
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import attrs

from ingest.errors import LocalServerError, UsageError

LAUNCH: Final = 'exec 3<&0; setsid sh -c "$@" &'
"""Puts the child into a session of its own and ends: the child outlives us and is nobody's zombie.

Standard input is the lock's file, kept as descriptor 3: whoever waits for the lock waits for the child's pid.
"""
CHILD: Final = (
    "read -r pid name state parent group session tty foreground flags a b c d e f g h i j k l start rest "
    '< /proc/$$/stat; echo "$pid $start" > "$0.new" && mv "$0.new" "$0" || exit 1; '
    'exec 3<&-; exec "$@" < /dev/null'
)
"""Writes pid and start time, lets the lock go, becomes the server.

The start time is field 22 of proc(5)'s stat; like the pid it stays the same over `exec`.
"""
PID_WAIT_S: Final = 10.0
STOP_WAIT_S: Final = 30.0
LOCK_WAIT_S: Final = 300.0
POLL_S: Final = 0.05
TELLING: Final = re.compile(r"Caused by|Exception|Error|ERROR|FATAL|: not found|No such file")


@attrs.frozen
class Process:
    """The place of one server's process in a data folder."""

    name: str
    data: Path

    @property
    def pid_file(self) -> Path:
        """The file that the process writes its pid and start time to."""
        return self.data / f"{self.name}.pid"

    @property
    def log(self) -> Path:
        """The file that keeps what every start of this server printed."""
        return self.data / "logs" / f"{self.name}.log"

    @property
    def folder(self) -> Path:
        """The server's own state, and its working directory."""
        return self.data / self.name


@contextmanager
def lock_data(data: Path) -> Iterator[int]:
    """Hold a data folder for one command; yields the lock's file descriptor."""
    try:
        (data / "logs").mkdir(parents=True, exist_ok=True)
        lock = (data / ".lock").open("w")
    except OSError as error:
        raise UsageError(f"--data {data}: {error.strerror}") from error
    with lock:  # closed, not unlocked: a child that has not yet written its pid still holds it
        _wait_for_lock(lock.fileno(), data)
        yield lock.fileno()


def _wait_for_lock(lock: int, data: Path) -> None:
    end = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise LocalServerError(
                    "servers", f"another command has been at work in {data} for {LOCK_WAIT_S:.0f} s"
                ) from None
            time.sleep(POLL_S)


def start_process(process: Process, command: Sequence[str], lock: int) -> int:
    """Start a server that outlives this command; returns the pid that it has written itself."""
    process.pid_file.unlink(missing_ok=True)
    process.folder.mkdir(parents=True, exist_ok=True)
    with process.log.open("ab") as log:
        subprocess.run(
            ["sh", "-c", LAUNCH, "sh", CHILD, str(process.pid_file), *command],
            cwd=process.folder,
            stdin=lock,
            stdout=log,
            stderr=log,
            check=True,
            start_new_session=True,
        )
    end = time.monotonic() + PID_WAIT_S
    while not process.pid_file.exists():
        if time.monotonic() > end:
            raise LocalServerError(process.name, "did not start", str(process.log))
        time.sleep(POLL_S)
    return int(process.pid_file.read_text().split()[0])


def find_pid(process: Process) -> int | None:
    """Return the pid of a server's live process; a recycled pid has another start time."""
    with suppress(FileNotFoundError, ValueError):
        pid, start = map(int, process.pid_file.read_text().split())
        if _start_time(pid) == start:
            return pid
    return None


def _start_time(pid: int) -> int | None:
    """Read when a live process was started, in ticks since boot."""
    fields = _read_stat(Path(f"/proc/{pid}"))
    return int(fields[19]) if fields else None


def _group_lives(pid: int) -> bool:
    """Tell whether any process of a group is alive."""
    stats = (_read_stat(proc) for proc in Path("/proc").glob("[0-9]*"))
    return any(int(fields[2]) == pid for fields in stats if fields)


def _read_stat(proc: Path) -> list[str]:
    """Read proc(5)'s stat from its third field on; nothing for no process and for zombies."""
    try:
        fields = (proc / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [] if fields[0] in {"Z", "X"} else fields


def stop_processes(processes: Sequence[Process], wait_s: float = STOP_WAIT_S) -> tuple[str, ...]:
    """Stop servers, all at once; returns the names of those that ran."""
    running = [(process, pid) for process in processes if (pid := find_pid(process))]
    for _, pid in running:
        _signal_group(pid, signal.SIGTERM)
    end = time.monotonic() + wait_s
    while any(find_pid(process) for process, _ in running) and time.monotonic() < end:
        time.sleep(POLL_S)
    for process, pid in running:
        _signal_group(pid, signal.SIGKILL)  # what did not listen, and what a dead leader left behind
        while _group_lives(pid):
            time.sleep(POLL_S)
        process.pid_file.unlink(missing_ok=True)
    return tuple(process.name for process, _ in running)


def _signal_group(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, number)


def log_size(process: Process) -> int:
    """Return how much a server has logged so far."""
    return process.log.stat().st_size if process.log.exists() else 0


def read_reason(process: Process, since: int) -> str:
    """Find the last line since a place in the log that says something."""
    with process.log.open("rb") as log:
        log.seek(since)
        text = log.read().decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("\tat ")]
    telling = [line for line in lines if TELLING.search(line)]
    return (telling or lines or ["it printed nothing"])[-1][:300]
