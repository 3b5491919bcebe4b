"""Servers as detached processes that are never lost: each writes its pid before it becomes the server."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from ingest.errors import LocalServerError, UsageError
from ingest.lazy import LazyModule

if TYPE_CHECKING:
    import psutil
else:  # only in the extra, and `ingest local produce` does without
    psutil = LazyModule("psutil")

LAUNCH: Final = Path(__file__).with_name("launch.py")
PID_WAIT_S: Final = 30.0
STOP_WAIT_S: Final = 30.0
LOCK_WAIT_S: Final = 300.0
POLL_S: Final = 0.05
START_TOLERANCE_S: Final = 1.0
"""Start times are compared as seconds since boot, which Linux gives to the second."""
TELLING: Final = re.compile(r"Caused by|Exception|Error|ERROR|FATAL|: not found|No such file")
_started: Final[list["subprocess.Popen[bytes]"]] = []
"""References to the children: Python warns when a running child's `Popen` is collected."""


@attrs.frozen
class Process:
    """One server's process in a data folder, running or not."""

    name: str
    data: Path

    @property
    def pid_file(self) -> Path:
        """The file that the process writes its pid and start time to."""
        return self.data / f"{self.name}.pid"

    @property
    def log(self) -> Path:
        """The file with the output of every start of this server."""
        return self.data / "logs" / f"{self.name}.log"

    @property
    def folder(self) -> Path:
        """The folder of the server's state, and its working directory."""
        return self.data / self.name


@contextmanager
def lock_data(data: Path) -> Iterator[int]:
    """Hold a data folder for one command.  Yield the lock's file descriptor."""
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
    """Start a server that outlives this command.  Return the pid that it wrote itself.

    The child holds the lock until then, so that a command that waits for the lock also waits for the pid.
    """
    process.pid_file.unlink(missing_ok=True)
    process.folder.mkdir(parents=True, exist_ok=True)
    with process.log.open("ab") as log:
        child = subprocess.Popen(
            # -P: the launcher's folder is not on sys.path, because its modules would shadow the standard
            # library.
            [sys.executable, "-P", str(LAUNCH), str(process.pid_file), str(lock), *command],
            cwd=process.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(lock,),
            start_new_session=True,  # Ctrl-C in the terminal must not reach the server
        )
    _started.append(child)
    end = time.monotonic() + PID_WAIT_S
    while not process.pid_file.exists():
        if child.poll() is not None or time.monotonic() > end:
            raise LocalServerError(process.name, "did not start", str(process.log))
        time.sleep(POLL_S)
    return child.pid


def find_pid(process: Process) -> int | None:
    """Return the pid of a server's live process.  A recycled pid has another start time."""
    with suppress(FileNotFoundError, ValueError, psutil.NoSuchProcess):
        pid, started_s = process.pid_file.read_text(encoding="ascii").split()
        live = psutil.Process(int(pid))
        difference_s = live.create_time() - psutil.boot_time() - float(started_s)
        if abs(difference_s) < START_TOLERANCE_S and _lives(live):
            return int(pid)
    return None


def _lives(live: "psutil.Process") -> bool:
    """Tell whether any thread of a process is alive: the main thread may end before others free the port."""
    return bool(live.status() != psutil.STATUS_ZOMBIE or live.num_threads() > 1)


def stop_processes(processes: Sequence[Process], wait_s: float = STOP_WAIT_S) -> tuple[str, ...]:
    """Stop servers, all at once.  Return the names of the servers that ran."""
    running = [(process, pid) for process in processes if (pid := find_pid(process))]
    for _, pid in running:
        _signal_group(pid, signal.SIGTERM)
    end = time.monotonic() + wait_s
    while any(find_pid(process) for process, _ in running) and time.monotonic() < end:
        time.sleep(POLL_S)
    for process, pid in running:
        _signal_group(pid, signal.SIGKILL)  # for a deaf process, and for children of a dead one
        while group_lives(pid):
            time.sleep(POLL_S)
        process.pid_file.unlink(missing_ok=True)
    return tuple(process.name for process, _ in running)


def group_lives(group: int) -> bool:
    """Tell whether any process of a group is alive.  Zombies are not."""
    return any(_belongs(live, group) for live in psutil.process_iter())


def _belongs(live: "psutil.Process", group: int) -> bool:
    with suppress(ProcessLookupError, psutil.NoSuchProcess):
        return os.getpgid(live.pid) == group and _lives(live)
    return False


def _signal_group(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, number)


def log_size(process: Process) -> int:
    """Return the size of a server's log, as a mark for `read_reason`."""
    return process.log.stat().st_size if process.log.exists() else 0


def read_reason(process: Process, since: int) -> str:
    """Return the last informative line of the log after a mark."""
    with process.log.open("rb") as log:
        log.seek(since)
        text = log.read().decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("\tat ")]
    informative = [line for line in lines if TELLING.search(line)]
    return (informative or lines or ["it printed nothing"])[-1][:300]
