"""The locks of a table: the operating system's, or one of Hudi's lock providers."""

import threading
import time
from pathlib import Path
from typing import Any, Final, Protocol

from py4j.protocol import Py4JError, Py4JJavaError

from ingest.hudi.locks.lock_holder import LOCK_FILE
from ingest.hudi.storage.text_file import TextFile
from ingest.spark.java_errors import class_names

EXPIRY_MIN: Final = 2
"""A holder is dead this long after its last beat.  Hudi's FileSystemBasedLockProvider counts minutes."""
BEAT_S: Final = 20.0
NOTE: Final = "holder.json"
"""The file of the holder's note, next to the lock."""
SETTLE_S: Final = 1.0
"""How far apart two take-overs of the same dead lock may be.  Hudi deletes the file, then creates it."""


class LockProvider(Protocol):
    """A lock in storage, with one object per attempt.  Java's exceptions pass through."""

    def take(self, note: str) -> bool:
        """Try once, and leave the note, which names the holder."""

    def note(self) -> str:
        """Read the holder's note, empty if the lock is free."""

    def is_mine(self, note: str) -> bool:
        """Tell whether the writer of this note still holds the lock."""

    def release(self, note: str) -> None:
        """Release the lock, if this writer still holds it."""


class OsLock:
    """A lock of the operating system on a local file, held by the JVM: the process that writes the table.

    It ends with that process, however that ends, and never before: no heartbeat, no expiry, no take-over from
    the living.  Hudi's FileSystemBasedLockProvider is not safe here: Hadoop's local file system looks, then
    creates, and two processes can both succeed (HUDI-5509 lists the storages on which it is).
    """

    def __init__(self, jvm: Any, folder: str) -> None:
        self._jvm = jvm
        self._path = Path(folder) / LOCK_FILE
        self._file: Any = None
        self._lock: Any = None

    def take(self, note: str) -> bool:
        """Try once."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._jvm.java.io.RandomAccessFile(str(self._path), "rw")
        try:
            lock = file.getChannel().tryLock()
        except Py4JJavaError as error:
            if "OverlappingFileLockException" in class_names(error):
                return False  # held in this JVM, for another Python: to close the file would end that lock
            raise
        if lock is None:
            file.close()
            return False
        self._file, self._lock = file, lock
        file.setLength(0)
        file.write(bytearray(note.encode()))
        return True

    def note(self) -> str:
        """Read the lock file, in Python: the JVM must not close a file that it has locked."""
        try:
            return self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def is_mine(self, note: str) -> bool:
        """Tell whether the file is still there.  A person may have removed it."""
        return bool(self._lock.isValid()) and self.note() == note

    def release(self, note: str) -> None:
        """Unlock.  Keep the file: a process that has it open would lock an unlinked inode."""
        if self._file is None:
            return
        try:
            if self.note() == note:
                self._file.setLength(0)
            self._file.close()
        except Py4JError:
            return  # the JVM is gone, and the lock with it


class ProviderLock:
    """Hudi's FileSystemBasedLockProvider, for storage in which only one process can create a file.

    That is HDFS (HUDI-4065).

    It has neither heartbeat nor holder, and its take-over deletes a file that another writer may own already.
    Here a thread beats by setting the file's time, and of two concurrent take-overs the last note wins.
    """

    def __init__(self, jvm: Any, hadoop: Any, folder: str) -> None:
        config, conf = _configured(
            jvm,
            hadoop,
            {
                "hoodie.base.path": folder,
                "hoodie.write.lock.filesystem.path": folder,
                "hoodie.write.lock.filesystem.expire": str(EXPIRY_MIN),
            },
        )
        lock = jvm.org.apache.hudi.client.transaction.lock
        self._provider = lock.FileSystemBasedLockProvider(config, conf)
        self._now = jvm.java.util.concurrent.TimeUnit.SECONDS
        self._noted = TextFile(jvm, hadoop, f"{folder}/{NOTE}")
        self._lock_path = jvm.org.apache.hadoop.fs.Path(self._provider.getLock())
        self._files = self._lock_path.getFileSystem(hadoop)
        self._over = threading.Event()

    def take(self, note: str) -> bool:
        """Try once.  A take-over waits until a concurrent one would show."""
        is_there = self._files.exists(self._lock_path)
        if not self._provider.tryLock(0, self._now):
            return False
        self._noted.write(note)
        if is_there:
            time.sleep(SETTLE_S)
            if self._noted.read() != note:
                return False
        threading.Thread(target=self._beat, name="lock-beat", daemon=True).start()
        return True

    def note(self) -> str:
        """Read the holder's note."""
        return self._noted.read()

    def is_mine(self, note: str) -> bool:
        """Tell whether the lock is there, beaten in time, and names us."""
        try:
            last_ms = self._files.getFileStatus(self._lock_path).getModificationTime()
        except Py4JJavaError:
            return False
        return time.time() - last_ms / 1000 < EXPIRY_MIN * 60 and self._noted.read() == note

    def release(self, note: str) -> None:
        """Stop beating, and remove the lock if it is ours: Hudi's own `unlock` removes any."""
        self._over.set()
        try:
            if self.is_mine(note):
                self._noted.remove()
                self._provider.unlock()
        except Py4JError:
            return  # it expires

    def _beat(self) -> None:
        while not self._over.wait(BEAT_S):
            try:
                self._files.setTimes(self._lock_path, int(time.time() * 1000), -1)
            except Py4JError:
                return  # gone, or the JVM is: `is_mine` says so before a commit


class StorageLock:
    """Hudi's StorageBasedLockProvider: conditional writes to an object store, heartbeat, expiry (RFC-91).

    It names its holder only by a random id: the note is ours.
    """

    def __init__(self, jvm: Any, hadoop: Any, folder: str) -> None:
        config, conf = _configured(jvm, hadoop, {"hoodie.base.path": folder})
        lock = jvm.org.apache.hudi.client.transaction.lock
        self._provider = lock.StorageBasedLockProvider(config, conf)
        self._noted = TextFile(jvm, hadoop, f"{folder}/{NOTE}")

    def take(self, note: str) -> bool:
        """Try once."""
        if not self._provider.tryLock():
            return False
        self._noted.write(note)
        return True

    def note(self) -> str:
        """Read the holder's note."""
        return self._noted.read()

    def is_mine(self, note: str) -> bool:
        """Tell whether Hudi's heartbeat has kept it, and it names us."""
        lock = self._provider.getLock()
        if lock is None or lock.isExpired() or lock.getValidUntilMs() < time.time() * 1000:
            return False
        return self._noted.read() == note

    def release(self, note: str) -> None:
        """Let Hudi stop its heartbeat and mark the lock as expired."""
        try:
            if self.is_mine(note):
                self._noted.remove()
            self._provider.close()
        except Py4JError:
            return  # it expires


def _configured(jvm: Any, hadoop: Any, values: dict[str, str]) -> tuple[Any, Any]:
    """Return the configurations that Hudi's providers take."""
    properties = jvm.org.apache.hudi.common.config.TypedProperties()
    for key, value in values.items():
        properties.setProperty(key, value)
    config = jvm.org.apache.hudi.common.config.LockConfiguration(properties)
    return config, jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConfWithCopy(hadoop)
