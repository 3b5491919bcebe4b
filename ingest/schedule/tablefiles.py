"""Which tables a folder of table files holds, for DAGs: one broken file stops no other."""

import logging
from pathlib import Path

from ingest.errors import TableFileError, UsageError
from ingest.tables import read


def list_tables(folder: str | Path) -> tuple[str, ...]:
    """Return the tables of a folder by their files' order.

    A broken file counts as the table of its own name, with a warning: its task then fails, and tells what is
    wrong with the file, while the other tables go on.
    """
    paths = sorted(path for path in Path(folder).glob("*.toml") if not path.name.startswith("."))
    if not paths:
        what = "holds no table file" if Path(folder).is_dir() else "does not exist"
        todo = "Make table files with `ingest onboard`; DAG processor and workers have to see them"
        raise UsageError(f"the tables folder {folder} {what}", todo)
    return tuple(dict.fromkeys(_table_of(path) for path in paths))


def _table_of(path: Path) -> str:
    try:
        return read(path).name
    except TableFileError as error:
        logging.getLogger(__name__).warning("%s Its task will fail until the file is mended.", error)
        return path.stem
