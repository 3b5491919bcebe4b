"""The holder of a table's lock, as a file on a local disk shows it without a JVM."""

import fcntl
import json
import os
import struct
from pathlib import Path
from typing import Final

LOCK_FILE: Final = "lock"
"""The file in the folder of a table's lock, which the operating system locks."""
_FLOCK: Final = struct.Struct("hhqqi4x")
"""Linux's `struct flock`: type, whence, start, length, process."""


def read_holder(path: Path) -> str | None:
    """Return the note of the process that has locked a file, empty before it is written, None if free.

    Asks with F_GETLK: to take the lock for a moment would refuse it to a run that tries just then.
    """
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        answer = fcntl.fcntl(file, fcntl.F_GETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        if _FLOCK.unpack(answer)[0] == fcntl.F_UNLCK:
            return None
        return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")
    except OSError:
        return None
    finally:
        os.close(file)


def describe_holder(note: str) -> str:
    """Describe the holder of a lock, for an error."""
    try:
        values = json.loads(note)
        return f"run {values['run_id']}, process {values['pid']} on {values['host']}, since {values['since']}"
    except (ValueError, KeyError, TypeError):
        return "a run that has not written its name yet"
