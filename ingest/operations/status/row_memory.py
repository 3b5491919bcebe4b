"""The numbers of rows of tables, remembered in the state folder: a table without a new commit keeps its rows.

Only a merge by Spark counts the rows of log files, so a second `ingest status` does without Spark.
"""

import json
from hashlib import sha256
from pathlib import Path

from ingest.hudi.storage.folder import UnclearFilesError
from ingest.hudi.stored_table import StoredTable
from ingest.log import logger
from ingest.report.outcome import write_whole
from ingest.run.work.context import Context
from ingest.tables import TableConfig


def count_rows(
    run: Context,
    table: TableConfig,
    stored: StoredTable,
    after: StoredTable,
    counted: StoredTable | None = None,
) -> int:
    """Return the rows of a table: as remembered, or counted if other commits are complete now.

    `counted` counts them in place of `stored`.  `after` opens the table at its first use, after the count:
    Spark may count a commit that `stored` lacks.
    """
    file, state = run.settings.state_dir / "rows" / f"{table.name}.json", _state(stored)
    rows = _remembered(file, state)
    if rows is not None:
        return rows
    rows = (counted or stored).count_rows()
    try:
        if _state(after) == state:
            write_whole(file, json.dumps({"state": state, "rows": rows}) + "\n")
    except (UnclearFilesError, OSError) as error:
        logger(__name__).debug("rows.forgotten", table=table.name, problem=str(error))
    return rows


def _state(stored: StoredTable) -> str:
    """Identify the table's path and completed commits.  Table services complete commits, too."""
    completed = stored.timeline.completed if stored.timeline else ()
    return sha256(repr((stored.path, completed)).encode()).hexdigest()


def _remembered(file: Path, state: str) -> int | None:
    """Return the rows of a state, or None for another state, and for a file that is damaged or missing."""
    try:
        kept = json.loads(file.read_bytes())
        return int(kept["rows"]) if kept["state"] == state else None
    except (OSError, ValueError, TypeError, KeyError):
        return None
