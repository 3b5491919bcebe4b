"""The only writer of a table, from its lock to the upkeep after its commits.

Use as `with writing(run, table) as writer: writer.commit(rows, entry)`.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import attrs
from pyspark.sql import DataFrame

from ingest.errors import IngestError, LakeUnreachableError, TableChangedError, TableLockedError
from ingest.hudi.locks.lock import LockHandle, locked
from ingest.hudi.metaclient import complete_rewrite, is_rewritten
from ingest.hudi.options import check_hudi
from ingest.hudi.rejects import commit_rejects
from ingest.hudi.table import HudiTable
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.upkeep.maintain import keep_up
from ingest.hudi.upkeep.rebuild import finish_rebuild
from ingest.log import logger
from ingest.run.work.context import Context
from ingest.spark.catalog import register
from ingest.tables import TableConfig


@attrs.frozen
class Requirements:
    """The conditions on a table file and its table under which a write is safe."""

    table: TableConfig
    fixed_parts: bool = True
    """Whether the table must have the fixed parts of the file: a rebuild changes them."""
    commits: bool = True
    """Whether commits must be ingest's, whole and in the past: adoption in place replaces others."""
    iceberg: bool = True
    """Whether the Iceberg table must have the newest commit: a rebuild makes one that Iceberg can have."""

    def check(self, stored: HudiTable) -> None:
        """Check options, owner, fixed parts, clock and files of a table.  Its key is known at the commit.

        Raises TableFileError, LakeError, TableChangedError or ClockError.
        """
        check_hudi(self.table)
        stored.check_options(self.table)
        if self.commits:
            stored.refuse_foreign(self.table.name)
            if self.fixed_parts:
                stored.check_config(self.table)
            stored.check_storage(self.table.name)


@attrs.frozen(eq=False)
class Writer:
    """Commits to a table and its rejects table while it holds the table's lock."""

    run: Context
    table: TableConfig
    stored: HudiTable
    rejects: HudiTable
    lock: LockHandle
    _protection: ExitStack

    def begin_commit(self) -> None:
        """Protect the table from a stop until the writer ends, and check the lock.

        Raises the reason of an earlier stop, or TableLockedError: then a commit must not follow.
        """
        self._protection.enter_context(self.run.stop.committing(self.table.name))
        self.lock.check()

    def commit(
        self,
        rows: DataFrame,
        entry: LedgerEntry,
        key_columns: Sequence[str] = (),
        *,
        overwrites: bool = False,
    ) -> LedgerEntry:
        """Commit rows with their account, by the stored key if none is given (see `HudiTable.commit`)."""
        key = tuple(key_columns) or self.stored.key_columns()
        self.stored.check_key(self.table, key)
        self.begin_commit()
        is_new = self.stored.columns() is None
        return self.stored.commit(
            rows, self.table, key, "overwrite" if overwrites else "load" if is_new else "upsert", entry
        )

    def commit_rejects(self, rows: DataFrame, entry: LedgerEntry) -> None:
        """Commit rows to the rejects table (see `ingest.hudi.rejects`)."""
        self.rejects.check_files()
        self.begin_commit()
        commit_rejects(self.rejects, rows, self.table, entry)


@contextmanager
def writing(run: Context, table: TableConfig, requirements: Requirements | None = None) -> Iterator[Writer]:
    """Hold the table's lock, and read the table again: it meets the requirements, by default all.

    Completes rewrites and rebuilds that were killed, and brings an Iceberg table up to the newest commit, for
    the next one may clean its files.  At the end, a table with a new commit is entered into the catalogs and
    gets its upkeep.
    """
    stored, rejects, settings = run.lake.table(table), run.lake.rejects(table), run.settings
    lock_wait_s = settings.run.lock_wait_s
    with locked(run.spark, settings.lake, table.name, run.run_id, lock_wait_s) as lock, ExitStack() as stack:
        _read_again(stored)
        _read_again(rejects)
        required = requirements or Requirements(table)
        _check(stored, required)
        if required.commits and required.iceberg:
            run.update_iceberg(table)
        last = stored.checkpoint()
        yield Writer(run, table, stored, rejects, lock, stack)
        if stored.checkpoint() != last:
            _follow_up(run, table, stored)


def _read_again(stored: HudiTable) -> None:
    """Read a table again, and complete a rewrite of its properties that was killed."""
    try:
        stored.refresh()
        stored.checkpoint()
    except LakeUnreachableError:
        if not is_rewritten(stored.spark, stored.path):
            raise
        complete_rewrite(stored.spark, stored.path)
        stored.reopen()


def _check(stored: HudiTable, requirements: Requirements) -> None:
    """Check the requirements, after completing a rebuild that was killed behind its commit."""
    try:
        requirements.check(stored)
    except TableChangedError:
        stored.reopen()
        finish_rebuild(stored, requirements.table)
        requirements.check(stored)


def _follow_up(run: Context, table: TableConfig, stored: HudiTable) -> None:
    """Update the catalogs, then compact, clean and archive unless the settings leave that to `maintain`.

    A failure is a warning in the log: the next commit tries again.  Only the Iceberg table's is an error.
    """
    if run.settings.lake.database:
        register(stored, run.settings.lake.database, table.name)
    run.update_iceberg(table)
    if run.settings.run.upkeep == "inline":
        _keep_up(run, table, stored)


def compact_idle(run: Context, table: TableConfig) -> None:
    """Compact a table without new messages.  Leaves a locked table to the writer that holds it."""
    try:
        with writing(run, table) as writer:
            writer.begin_commit()
            _keep_up(run, table, writer.stored)
    except TableLockedError as held:
        logger(__name__).info("upkeep left to another writer", table=table.name, problem=str(held))


def _keep_up(run: Context, table: TableConfig, stored: HudiTable) -> None:
    run.steps.begin(table.name, "upkeep")
    try:
        keep_up(stored, table)
    except IngestError as error:
        logger(__name__).warning("commit succeeded; upkeep failed", table=table.name, problem=str(error))
