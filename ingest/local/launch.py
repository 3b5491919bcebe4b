"""Become a server, after writing its pid: `python -P launch.py PID_FILE LOCK_FD COMMAND…`.

This separate script imports nothing of `ingest`.  If its starter is killed at any moment, the pid file names
the process.  The pid and the start time stay the same over `exec`.
"""

import os
import sys
from pathlib import Path

import psutil


def launch(pid_file: Path, lock: int, command: list[str]) -> None:
    """Write pid and start time in one move, release the lock, become the server."""
    started_s = psutil.Process().create_time() - psutil.boot_time()
    fresh = pid_file.with_name(f"{pid_file.name}.new")
    fresh.write_text(f"{os.getpid()} {started_s}\n", encoding="ascii")
    fresh.replace(pid_file)
    os.close(lock)
    try:
        os.execvp(command[0], command)  # noqa: S606  the command is fixed
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    launch(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
