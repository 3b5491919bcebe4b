"""Rebuilds that were killed: a note in the state folder, by which the next run of the table finishes them."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ingest.errors import IngestError, StoppedError
from ingest.hudi.fixed import recorded_parts
from ingest.log import logger
from ingest.operations.rebuild.rebuild_plan import Source
from ingest.report.outcome import write_whole
from ingest.run.work.context import Context
from ingest.tables import TableConfig


@contextmanager
def noted(run: Context, table: TableConfig, source: Source) -> Iterator[None]:
    """Keep a note of a rebuild while it is at work, and after a signal or a kill has ended it."""
    file = _file(run, table)
    try:
        write_whole(file, json.dumps({**_subject(run, table), "source": source}) + "\n")
    except OSError as error:
        logger(__name__).warning("the rebuild was not noted", table=table.name, error=str(error))
    try:
        yield
    except StoppedError:
        raise
    except IngestError:
        file.unlink(missing_ok=True)
        raise
    file.unlink(missing_ok=True)


def finish_killed(
    run: Context, tables: Sequence[TableConfig], rebuild: Callable[[TableConfig, Source], IngestError | None]
) -> None:
    """Rebuild tables after a rebuild that was killed, if their files still ask for it.

    A rebuild that is still at work holds the table's lock: `rebuild` waits for it, and so does the run.
    """
    for table in tables:
        source = _read_source(run, table)
        if source is None:
            continue
        logger(__name__).info("finishing a rebuild that was killed", table=table.name, source=source)
        error = rebuild(table, source)
        if error is not None:
            logger(__name__).warning("the rebuild was not finished", table=table.name, error=str(error))


def _read_source(run: Context, table: TableConfig) -> Source | None:
    """Return the source of an unfinished rebuild's rows, or None without one by this table file."""
    try:
        note: dict[str, Any] = json.loads(_file(run, table).read_text(encoding="utf-8"))
        source: Source = note.pop("source")
    except (OSError, ValueError, KeyError):
        return None
    return source if note == _subject(run, table) else None


def _subject(run: Context, table: TableConfig) -> dict[str, Any]:
    """Return the table that a rebuild writes, and the parts of the file by which it does."""
    parts = recorded_parts(table, table.key.columns)
    return {"path": run.settings.lake.table_path(table.name), "table_file": parts}


def _file(run: Context, table: TableConfig) -> Path:
    return run.settings.state_dir / "rebuild" / f"{table.name}.json"
