"""List the tables of a folder of table files; a broken file does not affect the others."""

import logging
from pathlib import Path

from ingest.errors import TableFileError, UsageError
from ingest.tables import read


def list_tables(folder: str | Path) -> tuple[str, ...]:
    """Return the tables of a folder, in the order of their files.

    A broken file counts as a table with the file's name, with a warning: its task fails and reports the
    problem, while the other tables run.
    """
    paths = sorted(path for path in Path(folder).glob("*.toml") if not path.name.startswith("."))
    if not paths:
        problem = "has no table files" if Path(folder).is_dir() else "does not exist"
        todo = "Create table files with `ingest onboard`; the DAG processor and the workers must see them"
        raise UsageError(f"the tables folder {folder} {problem}", todo)
    return tuple(dict.fromkeys(_table_of(path) for path in paths))


def _table_of(path: Path) -> str:
    try:
        return read(path).name
    except TableFileError as error:
        logging.getLogger(__name__).warning("%s Its task will fail until the file is fixed.", error)
        return path.stem
