"""Read table files: strictly, each error with its file and dotted key."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from ingest.config import document
from ingest.config.convert import make_converter, structure
from ingest.config.rules import WrongValueError, suggest
from ingest.errors import TableFileError, UsageError
from ingest.tables.aliases import rename_old_keys
from ingest.tables.table import TableConfig

MAX_BYTES: Final = 1024 * 1024
MAX_DEPTH: Final = 16
_CONVERTER: Final = make_converter()


def read(path: Path) -> TableConfig:
    """Read one table file; raises `TableFileError`."""
    try:
        content = document.read_toml(path, MAX_BYTES, MAX_DEPTH)
        rename_old_keys(content, str(path))
        content |= _flat_options(content)
        return structure(_CONVERTER, content, TableConfig)
    except WrongValueError as error:
        raise TableFileError(str(path), error.key, error.problem, error.todo) from None


def parse_toml(text: str, path: str) -> dict[str, Any]:
    """Parse a file's text; raises `TableFileError` for anything that is not TOML within the limits."""
    try:
        return document.parse_toml(text, MAX_DEPTH)
    except WrongValueError as error:
        raise TableFileError(path, error.key, error.problem, error.todo) from None


def _flat_options(content: dict[str, Any]) -> dict[str, Any]:
    options = content.get("hudi")
    if not isinstance(options, dict):
        return {}
    try:
        return {"hudi": document.flatten(options)}
    except WrongValueError as error:
        raise WrongValueError(f"hudi.{error.key}", error.problem, error.todo) from None


def read_all(folder: Path, names: Sequence[str] = ()) -> tuple[TableConfig, ...]:
    """Read all table files of a folder, or those of the named tables, by file name.

    With `names`, a broken file stops only the tables that it could hold.
    """
    tables, broken = _read_files(_list_files(folder), names)
    for name in names:
        if name not in tables:
            raise broken.get(name) or _no_table(folder, name, tables, tuple(broken.values()))
    return tuple(table for name, table in tables.items() if not names or name in names)


def _list_files(folder: Path) -> list[Path]:
    paths = sorted(path for path in folder.glob("*.toml") if not path.name.startswith("."))
    if not paths:
        problem = "holds no table file" if folder.is_dir() else "does not exist"
        todo = "Write table files with `ingest onboard`, or name their folder with --tables"
        raise UsageError(f"the tables folder {folder} {problem}", todo)
    return paths


def _read_files(
    paths: Iterable[Path], names: Sequence[str]
) -> tuple[dict[str, TableConfig], dict[str, TableFileError]]:
    """Read files; return the tables by name and, with `names`, the errors of broken files by their stem."""
    tables: dict[str, TableConfig] = {}
    files: dict[str, Path] = {}
    broken: dict[str, TableFileError] = {}
    for path in paths:
        try:
            table = read(path)
        except TableFileError as error:
            if not names:
                raise
            broken[path.stem] = error
            continue
        if table.name in tables and (not names or table.name in names):
            problem = f"'{table.name}' is also the table of {files[table.name].name}"
            raise TableFileError(str(path), "table", problem, "Two files must not write one table")
        tables[table.name], files[table.name] = table, path
    return tables, broken


def _no_table(folder: Path, name: str, tables: Iterable[str], broken: Sequence[TableFileError]) -> UsageError:
    problem = f"table '{name}' does not exist in {folder}"
    if broken:
        return UsageError(f"{problem}, unless a broken file holds it", str(broken[0]))
    return UsageError(problem, suggest(name, tables))
