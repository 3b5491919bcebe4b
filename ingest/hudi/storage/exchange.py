"""Two folders of a local disk that change places in one step: readers find the one or the other.

Hadoop's file systems only rename, twice for an exchange: between the two, readers find no table.  Linux does
it at once (renameat2 with RENAME_EXCHANGE, on ext4, XFS, Btrfs and tmpfs).
"""

import ctypes
import errno
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs

from ingest.hudi.storage.local_files import local_folder

_EXCHANGE: Final = 2
"""RENAME_EXCHANGE, of linux/fs.h."""
_KEPT: Final = ".hoodie/.kept"
_CURRENT: Final = -100
"""AT_FDCWD, of fcntl.h: relative paths start at the current folder."""


@attrs.frozen
class Folders:
    """The local folders of a table and of its copy, on the same file system."""

    table: Path
    copy: Path


def find_folders(table: str, copy: str, default_fs: str) -> Folders | str:
    """Return the folders of two paths if they can be exchanged, else the reason why not."""
    home, other = local_folder(table, default_fs), local_folder(copy, default_fs)
    if home is None or other is None:
        return "not a local disk"
    try:
        check_exchange(other.root.parent)
    except OSError as error:
        return str(error)
    return Folders(home.root, other.root)


def exchange(first: Path, second: Path) -> None:
    """Exchange two folders of one file system.  Raises OSError if it cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        raise OSError(errno.ENOSYS, "this C library does not have renameat2")
    if library.renameat2(_CURRENT, os.fsencode(first), _CURRENT, os.fsencode(second), _EXCHANGE):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(first))


def check_exchange(parent: Path) -> None:
    """Exchange two empty folders below a folder.  Raises OSError if its file system cannot."""
    first, second = parent / "_first", parent / "_second"
    for folder in (first, second):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        exchange(first, second)
    finally:
        first.rmdir()
        second.rmdir()


def remove_copy(copy: Path) -> bool:
    """Remove the copy that a killed rebuild has left.  Return whether there was one.  Call as the writer.

    It is the table half written, or, after the exchange, the old one.
    """
    if not copy.exists():
        return False
    shutil.rmtree(copy)
    return True


@contextmanager
def keeping(copy: Path, files: Collection[Path]) -> Iterator[None]:
    """Put files of a copy back afterwards that were removed meanwhile, by links to them.

    Not after an error or a kill: such a copy is removed.
    """
    links = copy / _KEPT
    for file in files:
        (links / file).parent.mkdir(parents=True, exist_ok=True)
        os.link(copy / file, links / file)
    yield
    for file in files:
        if not (copy / file).exists():
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            os.link(links / file, copy / file)
    shutil.rmtree(links)


def copy_by_links(folder: Path, copy: Path) -> None:
    """Copy a table's folder.  Its data files are the same on disk in both until one is replaced.

    Those of `.hoodie` are not: Hudi writes over some of them.
    """
    shutil.copytree(folder, copy, copy_function=os.link, ignore=shutil.ignore_patterns(".hoodie"))
    shutil.copytree(folder / ".hoodie", copy / ".hoodie")
