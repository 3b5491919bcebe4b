"""A folder of the pinned jars: complete it, and report the missing ones."""

import errno
import fcntl
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import attrs

from ingest.errors import JarError, UsageError
from ingest.jars.download import Downloader, Show, open_client
from ingest.jars.pins import PinnedJar, megabytes, read_pins
from ingest.jars.repository import Repository, find_repository

State = Literal["present", "missing", "damaged"]


@attrs.frozen
class JarFolder:
    """The pinned jars in a folder, which may not exist yet."""

    path: Path
    jars: tuple[PinnedJar, ...] = attrs.field(factory=read_pins)

    def paths(self) -> tuple[Path, ...]:
        """List the files of all jars, present or not."""
        return tuple(self.path / jar.file for jar in self.jars)

    def states(self) -> dict[PinnedJar, State]:
        """Compare each file with its checksum."""
        return {jar: _state(jar, self.path / jar.file) for jar in self.jars}

    def complete(self, repository: str = "") -> None:
        """Fetch the jars that are missing or have another size, with a line on standard error."""
        if self.incomplete():
            with lock_folder(self.path):
                if jars := self.incomplete():
                    self._fetch(jars, find_repository(repository), lambda _: None)

    def fetch(self, repository: str, show: Show) -> tuple[PinnedJar, ...]:
        """Fetch the jars that are missing or differ from their checksum, and return them."""
        if not self._different():
            return ()
        with lock_folder(self.path):
            jars = self._different()
            if jars:
                self._fetch(jars, find_repository(repository), show)
            return jars

    def incomplete(self) -> tuple[PinnedJar, ...]:
        """List the jars that are missing or have another size."""
        return tuple(jar for jar in self.jars if not jar.has_size_of(self.path / jar.file))

    def _different(self) -> tuple[PinnedJar, ...]:
        return tuple(jar for jar, state in self.states().items() if state != "present")

    def _fetch(self, jars: tuple[PinnedJar, ...], repository: Repository, show: Show) -> None:
        size = sum(jar.size for jar in jars)
        what = jars[0].file if len(jars) == 1 else f"{len(jars)} jars"
        _announce(f"fetching {what}, {megabytes(size)}, from {repository.shown} into {self.path}")
        self._check_space(size)
        with open_client() as client:
            downloader = Downloader(repository, client, show)
            for jar in jars:
                try:
                    downloader.fetch(jar, self.path)
                except OSError as error:
                    raise _storage_error(jar, self.path, error) from None

    def _check_space(self, size: int) -> None:
        free = shutil.disk_usage(self.path).free
        if free < size:
            raise JarError(
                str(self.path), f"{megabytes(free)} are free, and the jars need {megabytes(size)}", _TODO
            )


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Let one process at a time write into a folder, which is made.  Raises `UsageError` if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise UsageError(
            f"the folder for jars, {folder}, is not writable: {error.strerror}: {error.filename}",
            "Set XDG_CACHE_HOME to a writable folder, or [spark] jars to a folder that holds the jars",
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _announce(f"waiting for another process that fetches into {folder}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


_TODO = "Free some space, or set XDG_CACHE_HOME to a folder on another disk"


def _state(jar: PinnedJar, path: Path) -> State:
    if not path.exists():
        return "missing"
    return "present" if jar.equals(path) else "damaged"


def _storage_error(jar: PinnedJar, folder: Path, error: OSError) -> JarError:
    is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    todo = _TODO if is_full else "Check the folder's permissions and disk, or set XDG_CACHE_HOME"
    return JarError(jar.file, f"cannot be written to {folder}: {error.strerror}", todo)


def _announce(text: str) -> None:
    """Write a line on standard error: a start that takes minutes must say why."""
    sys.stderr.write(f"ingest: note: {text}\n")
    sys.stderr.flush()
