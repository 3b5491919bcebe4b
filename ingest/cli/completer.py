"""Table names for a shell's completion: from the names in the table files, without reading any secret."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cyclopts import Parameter

from ingest.settings import tables_folder

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

_NAME: Final = re.compile(r"""^\s*table\s*=\s*["']([A-Za-z0-9_]+)["']""", re.MULTILINE)
_HEAD_BYTES: Final = 16_384
"""A file's first bytes: `table` precedes all sections."""


def table_parameter(text: str) -> Parameter:
    """Return a parameter that takes the names of tables."""
    return Parameter(help=text, completer=table_names)


def table_names(context: "CompletionContext") -> list[str]:
    """Return the tables of the deployment that the command line names so far."""
    settings, tables = (context.get(name) for name in ("--settings", "--tables"))
    paths = (Path(option.raw) if option and option.raw else None for option in (settings, tables))
    folder = tables_folder(*paths)
    return sorted(_name_in(path) for path in folder.glob("*.toml") if not path.name.startswith("."))


def _name_in(path: Path) -> str:
    """Return the name inside a table file, or the file's name if it is unreadable."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            match = _NAME.search(file.read(_HEAD_BYTES))
    except OSError:
        return path.stem
    return match[1] if match else path.stem
