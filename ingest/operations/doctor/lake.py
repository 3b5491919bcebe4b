"""Write, rename and lock a scratch file in the lake.  Compare clock and zone with the newest commits."""

import fcntl
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from ingest.hudi import clock
from ingest.hudi.lake_files import LakeFiles
from ingest.hudi.storage.folder import UnclearFilesError
from ingest.hudi.storage.local_files import local_folder
from ingest.hudi.timeline import timeline_files
from ingest.hudi.timeline.properties import read_properties
from ingest.operations.doctor.finding import Finding
from ingest.operations.doctor.machine import existing
from ingest.settings import Settings
from ingest.spark.hadoop_settings import LOCAL_FS
from ingest.tables import TableConfig

SKEW_S: Final = 5.0
"""The difference of clocks that a writer waits for (`hudi.clock.PATIENCE_S`)."""


def check_lake(settings: Settings, files: LakeFiles) -> Iterator[Finding]:
    """Write, rename, lock and delete a scratch file in a local lake, or in the folder that will hold it."""
    path = settings.lake.path
    local = local_folder(path, files.hadoop.default_fs)
    if local is None:
        yield Finding("lake", "skipped", f"{path} is not on a local disk: only --spark can write there")
        return
    folder, parent = local.root, existing(local.root)
    scratch = parent / f".ingest-doctor-{uuid.uuid4().hex}"
    try:
        skew_s = _try_out(scratch)
    except OSError as error:
        text = f"{parent}: {error.strerror or error}"
        yield Finding(
            "lake", "problem", text, "Give this user the right to write there, or correct [lake] path"
        )
        return
    state = "can be written, renamed and locked" if parent == folder else f"can be made in {parent}"
    yield Finding("lake", "ok", f"{path} {state}")
    if settings.lake.lock == "none":
        todo = 'Set [lake] lock = "auto", unless a scheduler keeps runs of one table apart'
        yield Finding("lake", "warning", "tables are not locked: two runs of one table corrupt it", todo)
    if abs(skew_s) > SKEW_S:
        text = f"the storage's clock differs from this machine's by {skew_s:.0f} s"
        yield Finding("clock", "warning", text, "Synchronise both clocks: Hudi orders commits by time")


def _try_out(scratch: Path) -> float:
    """Use a scratch file as a run uses the lake.  Return the difference of the clocks in s."""
    renamed = scratch.with_suffix(".renamed")
    try:
        with scratch.open("wb") as file:
            file.write(b"ingest doctor")
            file.flush()
            os.fsync(file.fileno())
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            skew_s = scratch.stat().st_mtime - time.time()
        scratch.rename(renamed)
    finally:
        scratch.unlink(missing_ok=True)
        renamed.unlink(missing_ok=True)
    return skew_s


def check_clock(settings: Settings, tables: Sequence[TableConfig]) -> Iterator[Finding]:
    """Compare this machine's clock with the newest instant of each table on a local disk."""
    newest = ""
    for table in tables:
        folder = local_folder(settings.lake.table_path(table.name), LOCAL_FS)
        try:
            if folder is None:
                continue
            instants = timeline_files.read_timeline(folder, read_properties(folder)).instants
        except (UnclearFilesError, FileNotFoundError):
            continue
        newest = max(newest, *instants, key=str) if instants else newest
    if not newest:
        yield Finding("clock", "skipped", "no table has a commit on a local disk to compare it with")
        return
    ahead_s = clock.seconds_ahead(newest)
    if ahead_s <= SKEW_S:
        yield Finding("clock", "ok", f"behind it lies the newest commit, {newest} (UTC)")
        return
    text = f"the newest commit, {newest} (UTC), is {ahead_s:,.0f} s ahead of this machine's clock"
    todo = "Correct the clock; if another program wrote the table in a zone east of UTC, wait for that time"
    yield Finding("clock", "problem", text, todo)
