"""Read table files: strictly, all errors at once, each with its file, line and dotted key."""

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import attrs

from ingest.config import document
from ingest.config.convert import make_converter, structure
from ingest.config.document import find_line
from ingest.config.rules import WrongValueError, suggest
from ingest.errors import TableFileError, UsageError, joined
from ingest.names import first_few
from ingest.tables.aliases import rename_old_keys
from ingest.tables.defaults import Defaults, Origins, flat_options
from ingest.tables.table import TableConfig

MAX_BYTES: Final = 1024 * 1024
MAX_DEPTH: Final = 16
GLOB_SIGNS: Final = "*?["
"""Characters of a glob.  A table name cannot contain them."""
_NO_SIGNS: Final = str.maketrans("", "", "*?[]")
_CONVERTER: Final = make_converter()


def read(path: Path, names: Sequence[str] = (), defaults: Defaults = Defaults()) -> TableConfig:
    """Read one table file.  Raises `TableFileError`, with all problems of the file.

    `defaults` has the values of the keys that the file lacks.  With `names`, warns of old keys only in the
    files of these tables: a run of others does not show them.
    """
    content: dict[str, Any] = {}
    try:
        content |= document.read_toml(path, MAX_BYTES, MAX_DEPTH)
        warns = not names or _matches(str(content.get("table")), names)
        rename_old_keys(content, str(path), warns=warns)
        content |= flat_options(content)
        if "topics" in content:
            content.setdefault("topic", "")
        table = structure(_CONVERTER, defaults.fill(content), TableConfig)
    except WrongValueError as error:
        problems = _located(error, defaults.origins(path, content))
        raise joined(sorted(problems, key=lambda problem: problem.line)) from None
    return attrs.evolve(table, origins=defaults.origins(path, content))


def _located(error: WrongValueError, origins: Origins) -> Iterator[TableFileError]:
    """Yield the problems of a file, with the lines of their keys."""
    text = document.read_text(origins.path, MAX_BYTES) if origins.path and error.key else ""
    for problem in error.problems():
        is_inherited = origins.of(problem.key) == "defaults"
        line = 0 if is_inherited else find_line(text, problem.key)
        text_of_problem = f"{problem.problem}{' (from [defaults] in the settings)' if is_inherited else ''}"
        yield TableFileError(str(origins.path), problem.key, text_of_problem, problem.todo, line)


def parse_toml(text: str, path: str) -> dict[str, Any]:
    """Parse a file's text.  Raises `TableFileError` for anything that is not TOML within the limits."""
    try:
        return document.parse_toml(text, MAX_DEPTH)
    except WrongValueError as error:
        raise TableFileError(path, error.key, error.problem, error.todo) from None


def read_all(
    folder: Path, names: Sequence[str] = (), defaults: Defaults = Defaults()
) -> tuple[TableConfig, ...]:
    """Read all table files of a folder, or the files of the named tables, by file name.

    `defaults` has the keys that a file lacks.  A name may be a glob, such as `crm_*`.  With `names`, a broken
    file stops only the tables that it could hold.  Raises TableFileError with the problems of all these
    files, UsageError for a name without a table.
    """
    tables, problems = read_valid(folder, names, defaults)
    if problems:
        raise joined(problems)
    return tables


def read_one(folder: Path, name: str, defaults: Defaults = Defaults()) -> TableConfig:
    """Read the table of a name, or the only table of a glob."""
    first, *further = read_all(folder, [name], defaults)
    if further:
        names = first_few([table.name for table in (first, *further)])
        raise UsageError(f"'{name}' matches {len(further) + 1} tables: {names}", "Name one of them")
    return first


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def read_valid(
    folder: Path, names: Sequence[str] = (), defaults: Defaults = Defaults()
) -> tuple[tuple[TableConfig, ...], tuple[TableFileError, ...]]:
    """Read all table files of a folder, or the files of the named tables, as `read_all` does.

    Returns the tables, and the errors of the broken files that could hold a requested table.  Raises
    UsageError for a name without a table or a broken file.
    """
    content = _read_files(_list_files(folder), names, defaults)
    broken = {name: error for name, error in content.broken.items() if content.lacks(name, names)}
    for name in names:
        if not any(fnmatchcase(table, name) for table in (*content.tables, *broken)):
            raise _no_table(folder, name, content)
    chosen = {name: table for name, table in content.tables.items() if not names or _matches(name, names)}
    tables = (table for name, table in chosen.items() if name not in content.doubles)
    doubles = (error for name, error in content.doubles.items() if name in chosen)
    return tuple(tables), (*broken.values(), *doubles)


def _list_files(folder: Path) -> list[Path]:
    paths = sorted(path for path in folder.glob("*.toml") if not path.name.startswith("."))
    if not paths:
        problem = "holds no table file" if folder.is_dir() else "does not exist"
        todo = (
            "Begin a deployment with `ingest init`, write table files with `ingest onboard`, or name their "
            "folder with --tables"
        )
        raise UsageError(f"the tables folder {folder} {problem}", todo)
    return paths


@attrs.frozen
class _Content:
    """The tables of a folder by name, the errors of broken files by stem, and of tables with two files."""

    tables: dict[str, TableConfig] = attrs.field(factory=dict)
    broken: dict[str, TableFileError] = attrs.field(factory=dict)
    doubles: dict[str, TableFileError] = attrs.field(factory=dict)

    def lacks(self, stem: str, names: Sequence[str]) -> bool:
        """Tell whether a broken file may hold a requested table."""
        return not names or (_matches(stem, names) and stem not in self.tables)


def _read_files(paths: Iterable[Path], names: Sequence[str], defaults: Defaults) -> _Content:
    content = _Content()
    files: dict[str, Path] = {}
    for path in paths:
        try:
            table = read(path, names, defaults)
        except TableFileError as error:
            content.broken[path.stem] = error
            continue
        if table.name in content.tables:
            problem = f"'{table.name}' is also the table of {files[table.name].name}"
            todo = "Two files must not write one table"
            content.doubles[table.name] = TableFileError(str(path), "table", problem, todo)
        content.tables[table.name], files[table.name] = table, path
    return content


def _no_table(folder: Path, name: str, content: _Content) -> UsageError:
    is_glob = any(sign in name for sign in GLOB_SIGNS)
    problem = (
        f"no table in {folder} matches '{name}'" if is_glob else f"table '{name}' does not exist in {folder}"
    )
    if content.broken:
        return UsageError(
            f"{problem}, unless a broken file holds it", str(next(iter(content.broken.values())))
        )
    near = suggest(name.translate(_NO_SIGNS), content.tables)
    return UsageError(problem, near or f"Its tables are: {first_few(list(content.tables))}")
