"""The parts that adopting and loading a table have in common."""

from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from ingest.adopt.plan import Takeover
from ingest.errors import IngestError
from ingest.hudi.locks.lock import LockHandle
from ingest.report.result import failure_of
from ingest.run.work.context import Run
from ingest.tables import TableConfig


@contextmanager
def locked_unless(run: Run, table: TableConfig, *, dry_run: bool) -> Iterator[LockHandle | None]:
    """Hold a table's lock, with the table as its last writer left it. A dry run takes no lock."""
    if dry_run:
        yield None
        return
    with run.locked(table) as lock:
        run.lake.table(table).reopen()
        yield lock


def finished(run: Run, table: TableConfig, result: Takeover | IngestError, seconds: float) -> Takeover:
    """Return the final result of a table, also of an error."""
    run.progress(table.name, "idle")
    if isinstance(result, IngestError):
        result = Takeover(table.name, failure_of(result), error=result)
    return attrs.evolve(result, seconds=seconds)
