"""A table checked by itself: its files, its offsets, its keys.  No source, broker or registry is asked.

Takes no lock.  A writer at work may remove files meanwhile, after a commit that makes them needless: a fault
counts if a second look, at the timeline of that moment, shows it again.
"""

from collections.abc import Callable
from typing import Final

import attrs

from ingest.errors import IngestError, LakeError, TableFileError
from ingest.hudi import key_check
from ingest.hudi import table as hudi_table
from ingest.hudi.storage.folder import RESTORE, UnclearFilesError
from ingest.hudi.stored_table import StoredTable
from ingest.hudi.timeline.findings import Finding, Inventory, find_holes, find_strays, take_inventory
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.report.result import TableResult
from ingest.run.work.context import Context
from ingest.settings import LakeSettings
from ingest.tables import TableConfig

UPDATE: Final = "Let `ingest run` update it"


@attrs.frozen
class FilesCheck(TableResult):
    """The result for one table.  `rows` is None if the keys were not read.

    `old_footers` counts the files that an earlier version of `ingest`, or another writer, left without the
    version of Spark: a default Spark session refuses ancient dates in them.  None if Hadoop alone reads the
    storage.
    """

    json_keys = (
        "table path outcome last.instant commits inventory.files bytes=inventory.size rows old_footers "
        "findings error"
    )

    path: str
    last: LedgerEntry | None = None
    commits: int = 0
    inventory: Inventory = Inventory(0, 0, ())
    rows: int | None = None
    old_footers: int | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def outcome(self) -> str:
        """`sound`, `damaged`, `not run yet`, or `temporary` or `failed` without a result."""
        if self.failure is None and self.findings:
            return "damaged"
        return self.failure or ("sound" if self.commits else "not run yet")

    @property
    def exit_code(self) -> int:
        """0 for a sound table, 1 for a damaged one, the error's code without a result."""
        return super().exit_code or int(bool(self.findings))


@attrs.frozen
class VerifyFilesTask:
    """Checks tables by themselves (a `TableTask`).  `reads_keys` also reads the rows, by Spark."""

    reads_keys: bool

    def by_files(self, run: Context, table: TableConfig) -> FilesCheck | None:
        """Check files and offsets without a JVM, or return None if the keys are read, too."""
        if self.reads_keys:
            return None
        return _with_rejects(run, table, run.files.at)

    def with_spark(self, run: Context, table: TableConfig) -> FilesCheck:
        """Check files and offsets by Hudi's classes, then the keys."""
        run.step(table, "checking its files")
        result = _with_rejects(run, table, lambda path: hudi_table.HudiTable(run.spark, path))
        if not self.reads_keys or not result.commits:
            return result
        run.step(table, "checking its keys")
        rows, findings = key_check.check_keys(run.lake.table(table))
        return attrs.evolve(result, rows=rows, findings=(*result.findings, *findings))

    def finish(
        self, run: Context, table: TableConfig, result: FilesCheck | IngestError, _: float
    ) -> FilesCheck:
        """Make a result of an error, too."""
        run.progress(table.name, "idle")
        if isinstance(result, IngestError):
            return FilesCheck(table.name, run.settings.lake.table_path(table.name), error=result)
        return attrs.evolve(result, old_footers=_count_old_footers(run, result))


def _count_old_footers(run: Context, result: FilesCheck) -> int | None:
    if result.outcome != "sound":
        return None
    try:
        return run.files.at(result.path).count_old_footers()
    except (UnclearFilesError, OSError):
        return None


def of_broken_file(lake: LakeSettings, error: TableFileError) -> FilesCheck:
    """Return the result for a table with a broken file."""
    return FilesCheck(error.table, lake.table_path(error.table), error=error)


def _with_rejects(run: Context, table: TableConfig, open_table: Callable[[str], StoredTable]) -> FilesCheck:
    """Check a table, and the files of its rejects table."""
    lake = run.settings.lake
    result = check_twice(table, lake.table_path(table.name), open_table)
    if result.outcome == "sound" and "iceberg" in table.target.also:
        result = attrs.evolve(result, findings=_check_iceberg(run, table))
    rejects = check_twice(table, lake.rejects_path(table.name), open_table)
    in_rejects = (
        attrs.evolve(finding, problem=f"rejects table: {finding.problem}")
        for finding in rejects.findings
        if finding.check != "offsets"
    )
    return attrs.evolve(result, findings=(*result.findings, *in_rejects))


def _check_iceberg(run: Context, table: TableConfig) -> tuple[Finding, ...]:
    """Compare the Iceberg table with the newest commit.  A difference counts if it shows twice."""
    first = run.iceberg.differences(table)
    second = run.iceberg.differences(table) if first else ()
    return tuple(Finding("iceberg", f"Iceberg table: {found}", UPDATE) for found in second if found in first)


def check_twice(table: TableConfig, path: str, open_table: Callable[[str], StoredTable]) -> FilesCheck:
    """Check the table at a path.  A fault counts if it shows twice."""
    first = _check(table, path, open_table)
    if not first.findings:
        return first
    second = _check(table, path, open_table)
    return attrs.evolve(second, findings=tuple(item for item in second.findings if item in first.findings))


def _check(table: TableConfig, path: str, open_table: Callable[[str], StoredTable]) -> FilesCheck:
    """Check the table at a path once."""
    try:
        stored = open_table(path)
        if stored.timeline is None:
            return FilesCheck(table.name, path)
        stored.timeline.check_actions()
        commits = stored.commits(archived=True)
        instants = stored.timeline.instants | {commit.instant for commit in commits}
        sizes = {file.path: file.size for file in stored.timeline.folder.data_files()}
        history = [commit.entry for commit in commits if commit.entry]
        version = stored.timeline.properties.version
        inventory, strays = take_inventory(commits, sizes), find_strays(instants, sizes, version)
    except LakeError as error:
        finding = Finding("timeline", error.problem, error.todo or RESTORE)
        return FilesCheck(table.name, path, findings=(finding,))
    return FilesCheck(
        table.name,
        path,
        history[0] if history else None,
        len(commits),
        inventory,
        findings=(*strays, *inventory.findings, *find_holes(table.name, history)),
    )
