"""One writer a table: its lock, beside the tables of the lake, held from the ledger to the commit.

Two Hudi writers without a lock take each other's unfinished commits back.  What guards a table depends on
what the storage can do (`docs/locks.md`): Hudi's providers where they are safe, the operating
system on a local path, where creating a file is no atomic step in Hadoop.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

import attrs
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ingest.errors import IngestError, LakeUnreachableError, SettingsError, TableLockedError, WriteError
from ingest.hudi.java_errors import root_cause
from ingest.hudi.lock_providers import LockProvider, OsLock, ProviderLock, StorageLock
from ingest.java import hadoop_of, jvm_of
from ingest.settings import LakeSettings

_RETRY_S: Final = 0.2
_HELD: Final[dict[str, str]] = {}
"""The notes of the locks that this process holds, by their folder."""
_GUARD: Final = threading.Lock()


@attrs.frozen
class LockHandle:
    """A lock that is held; `way` is None where the settings want none."""

    table: str
    note: str
    way: LockProvider | None

    def check(self) -> None:
        """Raise TableLockedError where somebody else holds it by now: a commit must not follow."""
        if self.way is not None and not self.way.is_mine(self.note):
            holder = told(self.way.note())
            raise TableLockedError(self.table, f"this run's lock was taken over, by {holder}")


@contextmanager
def locked(
    spark: SparkSession, lake: LakeSettings, table: str, run_id: str, wait_s: float
) -> Iterator[LockHandle]:
    """Hold a table's lock; wait for it at most so long.

    Raise TableLockedError, which names the holder, LakeUnreachableError, or SettingsError for a storage that
    can guard nothing.
    """
    note = _note(run_id)
    if lake.lock == "none":
        yield LockHandle(table, note, None)
        return
    folder = lake.lock_path(table)
    with _alone(folder, table, note, wait_s) as until:
        try:
            way = way_of(spark, folder)
            _take(way, table, note, until)
        except (Py4JJavaError, OSError) as error:
            raise _failure(folder, table, error) from error
        try:
            yield LockHandle(table, note, way)
        finally:
            way.release(note)


def way_of(spark: SparkSession, folder: str) -> LockProvider:
    """Choose what guards a table by what Hudi says of the storage.  Takes nothing yet."""
    jvm = jvm_of(spark)
    hadoop = hadoop_of(spark)
    place = jvm.org.apache.hadoop.fs.Path(folder)
    files = place.getFileSystem(hadoop)
    scheme, schemes = files.getUri().getScheme(), jvm.org.apache.hudi.storage.StorageSchemes
    if scheme == "file":
        return OsLock(jvm, place.toUri().getPath())
    if schemes.isAtomicCreationSupported(scheme):
        return ProviderLock(jvm, hadoop, folder)
    found = schemes.getStorageLockImplementationIfExists(scheme)
    if not found.isPresent():
        raise _no_way(scheme, "Hudi knows no lock for it")
    try:
        return StorageLock(jvm, hadoop, folder)
    except Py4JJavaError as error:
        missing = f"{found.get().getStorageLockClass()}: {root_cause(error)}"
        raise _no_way(scheme, f"Hudi's lock does not start ({missing}). Add Hudi's bundle for it") from error


@contextmanager
def _alone(folder: str, table: str, note: str, wait_s: float) -> Iterator[float]:
    """Be the only one of this process at a lock; give the moment (monotonic, in s) until which to wait."""
    until = time.monotonic() + wait_s
    while True:
        with _GUARD:
            holder = _HELD.setdefault(folder, note)
        if holder is note:
            break
        _wait(table, holder, until)
    try:
        yield until
    finally:
        with _GUARD:
            del _HELD[folder]


def _take(way: LockProvider, table: str, note: str, until: float) -> None:
    taken = False
    try:
        while not (taken := way.take(note)):
            _wait(table, way.note(), until)
    finally:
        if not taken:
            way.release(note)


def _wait(table: str, holder: str, until: float) -> None:
    left_s = until - time.monotonic()
    if left_s <= 0:
        raise TableLockedError(table, told(holder))
    time.sleep(min(_RETRY_S, left_s))


def _note(run_id: str) -> str:
    """Write who holds a lock."""
    since = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    holder = {"run_id": run_id, "host": socket.gethostname(), "pid": os.getpid(), "since": since}
    return json.dumps(holder)


def told(note: str) -> str:
    """Tell who holds a lock, for an error."""
    try:
        values = json.loads(note)
        return f"run {values['run_id']}, process {values['pid']} on {values['host']}, since {values['since']}"
    except (ValueError, KeyError, TypeError):
        return "a run that has not yet told its name"


def _no_way(scheme: str, problem: str) -> SettingsError:
    todo = 'Where a scheduler lets one run of a table go at a time, set [lake] lock = "none"'
    return SettingsError("settings", "lake.path", f"{scheme}: cannot lock a table: {problem}", todo)


def _failure(folder: str, table: str, error: Exception) -> IngestError:
    """Tell a folder that cannot be, which is final, from a storage that fails."""
    if isinstance(error, NotADirectoryError | FileExistsError | PermissionError):
        return WriteError(table, f"its lock cannot be taken: {error}")
    problem = root_cause(error) if isinstance(error, Py4JJavaError) else str(error)
    return LakeUnreachableError(folder, f"the lock cannot be taken: {problem}")
