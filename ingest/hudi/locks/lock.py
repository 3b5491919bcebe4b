"""One writer per table: its lock, in a folder of the lake, held from the ledger to the commit.

Two Hudi writers without a lock roll back each other's inflight commits (HUDI-1486).  The kind of lock depends
on the storage (`docs/locks.md`): Hudi's providers if they are safe, the operating system on a local path,
because Hadoop does not create a file there in one atomic step.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

import attrs
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from ingest.errors import IngestError, LakeUnreachableError, SettingsError, TableLockedError, WriteError
from ingest.hudi.locks.lock_holder import describe_holder
from ingest.hudi.locks.lock_providers import LockProvider, OsLock, ProviderLock, StorageLock
from ingest.hudi.locks.s3_lock import S3Lock, UnconditionalStoreError
from ingest.hudi.storage.s3_settings import S3_CLASSES
from ingest.settings import LakeSettings
from ingest.spark.java import hadoop_of, jvm_of
from ingest.spark.java_errors import root_cause

_RETRY_S: Final = 0.2
_HELD: Final[dict[str, str]] = {}
"""The holder's notes of the locks that this process holds, by folder."""
_GUARD: Final = threading.Lock()


@attrs.frozen
class LockHandle:
    """A lock that is held.  `provider` is None if the settings turn locks off."""

    table: str
    note: str
    provider: LockProvider | None

    def check(self) -> None:
        """Raise TableLockedError if another writer has taken the lock over: a commit must not follow."""
        if self.provider is not None and not self.provider.is_mine(self.note):
            holder = describe_holder(self.provider.note())
            raise TableLockedError(self.table, f"this run's lock was taken over, by {holder}")


@contextmanager
def locked(
    spark: SparkSession, lake: LakeSettings, table: str, run_id: str, wait_s: float
) -> Iterator[LockHandle]:
    """Hold a table's lock, after a wait of at most `wait_s`.

    Raises TableLockedError, which names the holder, LakeUnreachableError, or SettingsError for a storage
    without a lock.
    """
    note = _note(run_id)
    if lake.lock == "none":
        yield LockHandle(table, note, None)
        return
    folder = lake.lock_path(table)
    with _one_per_process(folder, table, note, wait_s) as until:
        try:
            provider = provider_of(spark, folder)
            _take(provider, table, note, until)
        except UnconditionalStoreError as error:
            raise _no_lock("s3a", str(error)) from error
        except (Py4JJavaError, OSError) as error:
            raise _failure(folder, table, error) from error
        try:
            yield LockHandle(table, note, provider)
        finally:
            provider.release(note)


def provider_of(spark: SparkSession, folder: str) -> LockProvider:
    """Choose the lock by the storage, as Hudi classifies it.  The lock is not taken yet."""
    jvm = jvm_of(spark)
    hadoop = hadoop_of(spark)
    path = jvm.org.apache.hadoop.fs.Path(folder)
    files = path.getFileSystem(hadoop)
    scheme = files.getUri().getScheme()
    if scheme == "file":
        return OsLock(jvm, path.toUri().getPath())
    storage = _storage_scheme(jvm, scheme)
    if storage is not None and storage.isAtomicCreationSupported():
        return ProviderLock(jvm, hadoop, folder)
    if storage is None or not storage.implementsStorageLock():
        raise _no_lock(scheme, "Hudi does not have a lock for it")
    try:
        return StorageLock(jvm, hadoop, folder)
    except Py4JJavaError as error:
        if files.getClass().getName() in S3_CLASSES:
            return _s3_lock(jvm, files, path)
        missing = f"{storage.getStorageLockClass()}: {root_cause(error)}"
        raise _no_lock(scheme, f"Hudi's lock does not start ({missing}). Add Hudi's bundle for it") from error


def _storage_scheme(jvm: Any, scheme: str) -> Any:
    """Return Hudi's entry of a scheme, or None for a scheme that Hudi does not know.

    Not by its static methods: each has an overload of the instance, and py4j may take the class for one
    without them (ReflectionCommand of 0.10.9.7 looks at the first method of a name).
    """
    schemes = jvm.org.apache.hudi.storage.StorageSchemes.values()
    return next((entry for entry in schemes if entry.getScheme() == scheme), None)


def _s3_lock(jvm: Any, files: Any, path: Any) -> LockProvider:
    """Return the lock by conditional writes.  S3A of Hadoop 3.4 has a client of another kind."""
    try:
        return S3Lock(jvm, files, path)
    except Py4JError as error:
        problem = "Hadoop's S3A is not that of 3.3, and Hudi's lock needs its bundle for AWS"
        raise _no_lock("s3a", problem) from error


@contextmanager
def _one_per_process(folder: str, table: str, note: str, wait_s: float) -> Iterator[float]:
    """Keep other threads of this process out, and yield the end of the wait (monotonic, in s)."""
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


def _take(provider: LockProvider, table: str, note: str, until: float) -> None:
    is_mine = False
    try:
        while not (is_mine := provider.take(note)):
            _wait(table, provider.note(), until)
    finally:
        # An interrupted try may leave an open file or a heartbeat.  `release` keeps another writer's lock.
        if not is_mine:
            provider.release(note)


def _wait(table: str, holder: str, until: float) -> None:
    remaining_s = until - time.monotonic()
    if remaining_s <= 0:
        raise TableLockedError(table, describe_holder(holder))
    time.sleep(min(_RETRY_S, remaining_s))


def _note(run_id: str) -> str:
    """Return the note of a lock's holder."""
    since = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    holder = {"run_id": run_id, "host": socket.gethostname(), "pid": os.getpid(), "since": since}
    return json.dumps(holder)


def _no_lock(scheme: str, problem: str) -> SettingsError:
    todo = 'Where a scheduler lets one run of a table go at a time, set [lake] lock to "none"'
    return SettingsError("settings", "lake.path", f"{scheme}: cannot lock a table: {problem}", todo)


def _failure(folder: str, table: str, error: Exception) -> IngestError:
    """Tell an impossible folder, a permanent error, from a storage that fails."""
    if isinstance(error, NotADirectoryError | FileExistsError | PermissionError):
        return WriteError(table, f"its lock cannot be taken: {error}")
    problem = root_cause(error) if isinstance(error, Py4JJavaError) else str(error)
    return LakeUnreachableError(folder, f"the lock cannot be taken: {problem}")
