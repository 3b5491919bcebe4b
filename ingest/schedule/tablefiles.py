"""Choose the tables of a DAG from a folder of table files.  A broken file does not affect the others."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from ingest.config.document import read_toml
from ingest.config.rules import WrongValueError
from ingest.errors import UsageError
from ingest.tables import GLOB_SIGNS
from ingest.tables.file import MAX_BYTES, MAX_DEPTH
from ingest.tables.rules import is_table_name


def list_tables(folder: str | Path) -> tuple[str, ...]:
    """Return the tables of a folder, in the order of their files.

    Reads only the key `table` of a file: its task checks the rest, and fails for a broken file.  A file
    without a readable key counts as a table with the file's name, and so does a second file of a table.
    """
    paths = sorted(path for path in Path(folder).glob("*.toml") if not path.name.startswith("."))
    if not paths:
        problem = "has no table files" if Path(folder).is_dir() else "does not exist"
        todo = "Create table files with `ingest onboard`; the DAG processor and the workers must see them"
        raise UsageError(f"the tables folder {folder} {problem}", todo)
    names: dict[str, Path] = {}
    for path in paths:
        name = _table_of(path)
        names.setdefault(path.stem if name in names else name, path)
    return tuple(names)


def choose_tables(
    tables: Sequence[str] | None,
    folder: str | Path | None,
    exclude: Sequence[str] = (),
    settings_of: Iterable[str] = (),
) -> tuple[str, ...]:
    """Return tables by name or glob, by default all of a folder, without those to exclude.

    `settings_of` are names and globs with separate settings.  A name among them that has no table file counts
    as a table, and its task fails, so that a typo shows there and stops no other table.
    """
    entries = ["*"] if tables is None else list(tables)
    named = [name for name in settings_of if not _is_glob(name)]
    present: Sequence[str] = ()
    if named or any(map(_is_glob, entries)):
        present = entries if folder is None else list_tables(folder)
    names = [name for entry in entries for name in _expand(entry, present, folder)]
    names += _strangers(named, present, folder)
    chosen = tuple(name for name in dict.fromkeys(names) if not matches(name, exclude))
    if not chosen:
        raise UsageError("ingest_task_group has no tables to run")
    return chosen


def _strangers(named: Sequence[str], present: Sequence[str], folder: str | Path | None) -> list[str]:
    strangers = [name for name in named if name not in present]
    if strangers and folder is None:
        raise UsageError(f"table_args names '{strangers[0]}'; the tables are {', '.join(present)}")
    return strangers


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Tell whether one of the names and globs matches a table."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _is_glob(name: str) -> bool:
    return any(sign in name for sign in GLOB_SIGNS)


def _expand(entry: str, present: Sequence[str], folder: str | Path | None) -> Sequence[str]:
    if not _is_glob(entry):
        return (entry,)
    if folder is None:
        raise UsageError("ingest_task_group needs tables or tables_dir")
    names = [name for name in present if fnmatchcase(name, entry)]
    if not names:
        raise UsageError(f"no table in {folder} matches '{entry}'")
    return names


def _table_of(path: Path) -> str:
    try:
        name = read_toml(path, MAX_BYTES, MAX_DEPTH).get("table")
    except WrongValueError:
        return path.stem
    return name if isinstance(name, str) and is_table_name(name) else path.stem
