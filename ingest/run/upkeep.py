"""The upkeep of a table in a run: after its commit, which counts in any case."""

from ingest.errors import IngestError
from ingest.hudi.maintain import keep_up
from ingest.log import logger
from ingest.run.context import Run
from ingest.tables import TableConfig


def keep_up_inline(run: Run, table: TableConfig) -> None:
    """Compact, clean and archive what is due, unless the settings leave that to `ingest maintain`.

    A failure is a warning in the log: the next run tries again.
    """
    if run.settings.run.upkeep == "maintain":
        return
    run.steps.begin(table.name, "upkeep")
    try:
        keep_up(run.lake.table(table), table)
    except IngestError as error:
        logger(__name__).warning("commit succeeded; upkeep failed", table=table.name, problem=str(error))
