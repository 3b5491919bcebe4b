"""Maintenance of tables on a separate schedule: compaction, cleaning, archiving.  No row changes."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from ingest.errors import IngestError, TableFileError
from ingest.hudi.storage import exchange as exchanging
from ingest.hudi.storage.local_files import local_folder
from ingest.hudi.upkeep import maintain as services
from ingest.log import logger
from ingest.report.contract import (
    MaintenanceReport,
    TableMaintenance,
)
from ingest.report.result import TableResult, worst, worst_outcome
from ingest.run.work import writer as writers
from ingest.run.work.context import Context
from ingest.run.work.work import work_on_tables
from ingest.tables import TableConfig

if TYPE_CHECKING:
    from ingest.hudi.upkeep.services import Upkeep


@attrs.frozen
class Maintained(TableResult):
    """The maintenance of one table."""

    upkeep: "Upkeep | None" = None

    def report(self) -> TableMaintenance:
        """Return it as the report has it."""
        work = attrs.asdict(self.upkeep) if self.upkeep else {}
        outcome = self.failure or ("maintained" if any(work.values()) else "idle")
        error = str(self.error) if self.error else None
        return TableMaintenance(self.table, outcome, seconds=self.seconds, error=error, **work)


@attrs.frozen
class Maintenance:
    """The maintenance of several tables."""

    run_id: str
    started_at: datetime
    finished_at: datetime
    tables: tuple[Maintained, ...]
    is_dry: bool

    @property
    def exit_code(self) -> int:
        """The process's exit code."""
        return worst(self.tables)

    def report(self) -> MaintenanceReport:
        """Return it as the report has it."""
        tables = tuple(table.report() for table in self.tables)
        outcome = worst_outcome(self.tables)
        return MaintenanceReport(self.run_id, self.started_at, self.finished_at, outcome, tables, self.is_dry)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return self.report().to_json()


@attrs.frozen
class MaintainTask:
    """Maintains tables (a `TableTask`)."""

    is_dry: bool

    def by_files(self, run: Context, table: TableConfig) -> Maintained | None:
        """Return the result for a table without commits."""
        stored = run.files.table(table)
        if stored.checkpoint() is None:
            return Maintained(table.name)
        if not self.is_dry:
            if table.target.type == "mor":
                cost = stored.read_cost()
                run.file_bytes[table.name] = cost.log_bytes + cost.base_bytes  # compaction merges them
            run.note_holder(table)
        return None

    def with_spark(self, run: Context, table: TableConfig) -> Maintained:
        """Maintain one table as its only writer, or plan it as a reader."""
        if self.is_dry:
            run.step(table, "planning its maintenance")
            return Maintained(table.name, services.plan_upkeep(run.lake.table(table), table))
        with writers.writing(run, table, writers.Requirements(table, fixed_parts=False)) as writer:
            run.step(table, "maintaining")
            writer.begin_commit()
            _remove_copy(run, table)
            return Maintained(table.name, services.maintain(writer.stored, table))

    def finish(
        self, run: Context, table: TableConfig, result: Maintained | IngestError, seconds: float
    ) -> Maintained:
        """Make a result of an error, too."""
        if isinstance(result, IngestError):
            result = Maintained(table.name, error=result)
        result = attrs.evolve(result, seconds=seconds)
        run.progress(table.name, "idle")
        return result


def _remove_copy(run: Context, table: TableConfig) -> None:
    """Remove the copy that a rebuild for other partitions left when it was killed."""
    folder = local_folder(run.settings.lake.rebuild_path(table.name), run.files.hadoop.default_fs)
    if folder is not None and exchanging.remove_copy(folder.root):
        logger(__name__).info("removed the copy of a killed rebuild", table=table.name, path=str(folder.root))


def maintain_tables(
    run: Context,
    tables: Sequence[TableConfig],
    broken: Sequence[TableFileError] = (),
    *,
    dry_run: bool,
) -> Maintenance:
    """Maintain every table.  An error of one, or a `broken` table file, stops no other."""
    started, task = datetime.now(UTC), MaintainTask(dry_run)
    results = work_on_tables(run, tables, task, asks_registry=False)
    of_files = (Maintained(error.table, error=error) for error in broken)
    return Maintenance(run.run_id, started, datetime.now(UTC), (*results, *of_files), dry_run)
