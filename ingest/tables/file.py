"""Read table files: strictly, each error with its file and dotted key."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

import attrs
import cattrs
import tomlkit
from cattrs.errors import (
    AttributeValidationNote,
    ForbiddenExtraKeysError,
    IterableValidationNote,
)
from cattrs.gen import make_dict_structure_fn, make_mapping_structure_fn, override

from ingest.errors import TableFileError, UsageError
from ingest.tables.rules import WrongValueError, suggest
from ingest.tables.table import TableConfig, key_of

MAX_BYTES: Final = 1024 * 1024
MAX_LINE: Final = 2000
"""The parser takes quadratic time over the dots of a key."""
MAX_DEPTH: Final = 16
_TOO_DEEP: Final = f"is nested deeper than {MAX_DEPTH} steps"


def read(path: Path) -> TableConfig:
    """Read one table file; raises `TableFileError`."""
    document = _parse(path)
    options = document.get("hudi")
    if isinstance(options, dict):
        document["hudi"] = _flatten(path, options)
    try:
        return _CONVERTER.structure(document, TableConfig)
    except (cattrs.BaseValidationError, WrongValueError) as error:
        where, cause = next(_causes(error, ()))
        raise _table_file_error(path, where, cause) from None


def read_all(folder: Path, names: Sequence[str] = ()) -> tuple[TableConfig, ...]:
    """Read all table files of a folder, or those of the named tables, by file name.

    Where tables are named, a broken file stops those alone that it could hold.
    """
    paths = sorted(path for path in folder.glob("*.toml") if not path.name.startswith("."))
    if not paths:
        what = "holds no table file" if folder.is_dir() else "does not exist"
        todo = "Make table files with `ingest onboard`, or name their folder with --tables"
        raise UsageError(f"the tables folder {folder} {what}", todo)
    found: dict[str, TableConfig] = {}
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
        if table.name in found and (not names or table.name in names):
            problem = f"'{table.name}' is also the table of {files[table.name].name}"
            raise TableFileError(str(path), "table", problem, "Two files must not write one table")
        found[table.name], files[table.name] = table, path
    for name in names:
        if name not in found:
            raise broken.get(name) or _no_table(folder, name, found, tuple(broken.values()))
    return tuple(table for name, table in found.items() if not names or name in names)


def _no_table(folder: Path, name: str, known: Iterable[str], broken: Sequence[TableFileError]) -> UsageError:
    problem = f"there is no table '{name}' in {folder}"
    if broken:
        return UsageError(f"{problem}, unless in a file that is broken", str(broken[0]))
    return UsageError(problem, suggest(name, known))


def parse_toml(text: str, path: str) -> dict[str, Any]:
    """Parse a file's text; what is no TOML is a `TableFileError`."""
    if any(len(line) > MAX_LINE for line in text.split("\n")):
        raise TableFileError(path, "", f"has a line of more than {MAX_LINE} characters, the limit")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TableFileError(path, "", f"is no TOML: {error}") from None
    except RecursionError:
        raise TableFileError(path, "", _TOO_DEEP) from None
    _check_depth(document, path)
    return document


def _parse(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        text = content.decode("utf-8-sig")  # some editors write a byte order mark
    except OSError as error:
        raise TableFileError(str(path), "", error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise TableFileError(str(path), "", f"is no UTF-8 at byte {error.start}") from None
    if len(content) > MAX_BYTES:
        raise TableFileError(str(path), "", f"is larger than {MAX_BYTES} bytes, the limit")
    return parse_toml(text.replace("\r\n", "\n"), str(path))


def _check_depth(document: dict[str, Any], path: str) -> None:
    """Walk level by level, so that no nesting can exhaust the stack."""
    level: list[Any] = [document]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for one in level
            for child in (one.values() if isinstance(one, dict) else one)
            if isinstance(child, dict | list)
        ]
    if level:
        raise TableFileError(path, "", _TOO_DEEP)


def _flatten(path: Path, options: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Join what TOML takes apart: `hoodie.a.b = 1` is three tables, and one Hudi option."""
    flat: dict[str, str] = {}
    for name, value in options.items():
        key = f"{prefix}{name}"
        match value:
            case dict():
                inner = _flatten(path, value, f"{key}.")
            case bool():
                inner = {key: str(value).lower()}
            case str() | int() | float():
                inner = {key: str(value)}
            case _:
                problem = f"found {_shown(value)}; allowed: a text, a number, true or false"
                raise TableFileError(str(path), f"hudi.{key}", problem)
        if twice := inner.keys() & flat.keys():
            raise TableFileError(str(path), f"hudi.{min(twice)}", "is given twice")
        flat |= inner
    return flat


def _make_converter() -> cattrs.Converter:
    """Make a converter that takes nothing for something else: cattrs alone reads "5" as 5 and 1 as true."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind, name in ((str, "a text"), (int, "a whole number"), (bool, "true or false")):
        converter.register_structure_hook(kind, _exactly(kind, name))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook_func(_has_origin(Literal), _literal)
    converter.register_structure_hook_func(_has_origin(tuple), _texts)
    converter.register_structure_hook_factory(
        attrs.has,
        lambda kind: _section(make_dict_structure_fn(kind, converter, **_renamed(kind))),
    )
    converter.register_structure_hook_factory(
        _has_origin(dict), lambda kind: _section(make_mapping_structure_fn(kind, converter))
    )
    return converter


def _renamed(kind: type[attrs.AttrsInstance]) -> dict[str, Any]:
    """Return overrides for the fields whose TOML key is not their name."""
    return {f.name: override(rename=key_of(f)) for f in attrs.fields(kind) if key_of(f) != f.name}


def _has_origin(origin: Any) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) is origin


def _exactly(kind: type, name: str) -> Callable[[Any, Any], Any]:
    def structure(value: Any, _: Any) -> Any:
        if type(value) is not kind:
            raise WrongValueError("", f"found {_shown(value)}; allowed: {name}")
        return value

    return structure


def _number(value: Any, _: Any) -> float:
    if type(value) not in (int, float):
        raise WrongValueError("", f"found {_shown(value)}; allowed: a number")
    return float(value)


def _literal(value: Any, kind: Any) -> Any:
    allowed = get_args(kind)
    if isinstance(value, str) and value in allowed:
        return value
    todo = suggest(value, allowed) if isinstance(value, str) else ""
    raise WrongValueError("", f"found {_shown(value)}; allowed: {_quoted(allowed)}", todo)


def _texts(value: Any, _: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise WrongValueError("", f'found {_shown(value)}; allowed: a list of texts, such as ["id"]')
    return tuple(value)


def _section(structure: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def check(value: Any, kind: Any) -> Any:
        if not isinstance(value, dict):
            raise WrongValueError("", f"found {_shown(value)}; allowed: a section")
        return structure(value, kind)

    return check


def _causes(error: BaseException, where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], BaseException]]:
    """Walk to the leaves; what is said of a whole section (an unknown key) comes before its keys."""
    if not isinstance(error, cattrs.BaseValidationError):
        yield where, error
        return
    for inner in sorted(error.exceptions, key=lambda one: _step(one, error) != ()):
        yield from _causes(inner, (*where, *_step(inner, error)))


def _step(error: BaseException, parent: cattrs.BaseValidationError) -> tuple[str, ...]:
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, AttributeValidationNote):
            return (key_of(getattr(attrs.fields(parent.cl), note.name)),)
        if isinstance(note, IterableValidationNote):
            return (str(note.index),)
    return ()


def _table_file_error(path: Path, where: tuple[str, ...], cause: BaseException) -> TableFileError:
    match cause:
        case ForbiddenExtraKeysError():
            unknown = min(cause.extra_fields)
            known = [key_of(field) for field in attrs.fields(cause.cl)]
            problem = f"unknown key; allowed: {', '.join(known)}"
            return TableFileError(str(path), _dotted(*where, unknown), problem, suggest(unknown, known))
        case KeyError():
            # cattrs notes the attribute, so `where` names it already.
            return TableFileError(str(path), _dotted(*where), "is missing")
        case WrongValueError():
            key = ".".join(filter(None, (_dotted(*where), cause.key)))
            return TableFileError(str(path), key, cause.problem, cause.todo)
        case _:
            return TableFileError(str(path), _dotted(*where), str(cause))


def _dotted(*steps: str) -> str:
    return ".".join(tomlkit.key(step).as_string() for step in steps)


def _shown(value: Any) -> str:
    """Show a value with its kind, cut short."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    kinds = {
        str: "a text",
        bool: "a truth value",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "a section",
    }
    short = text if len(text) <= 40 else f"{text[:40]}…"  # noqa: PLR2004 - fits a line
    return f"{short} ({kinds.get(type(value), 'a date or time')})"


def _quoted(allowed: Sequence[str]) -> str:
    return ", ".join(f"'{one}'" for one in allowed)


_CONVERTER: Final = _make_converter()
