"""The sources of settings: file, environment, command line.  Later ones win, key by key."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import GenericAlias
from typing import Any, Final, get_origin

import attrs
import cattrs

from ingest.config.convert import Seconds, exactly, make_converter, structure
from ingest.config.document import find_line, property_text, read_text, read_toml
from ingest.config.rules import WrongValueError, wrong_value
from ingest.errors import SettingsError, joined
from ingest.settings.deployment import RegistrySettings, Settings
from ingest.settings.keys import (
    FIELDS,
    NAMED,
    SECTIONS,
    field_of,
    is_group,
    key_of_variable,
    map_of,
    type_of,
    unknown_setting,
    variable_of,
)
from ingest.settings.lake import LakeSettings
from ingest.settings.origin import METHODS, Origin, origin_of
from ingest.settings.secret import (
    Secret,
    looks_secret,
    mask_url,
    readable_by_all,
    secrets_in_url,
    warn_if_readable,
)
from ingest.tables.defaults import SECTION as DEFAULTS
from ingest.tables.defaults import Defaults, parse_defaults

DEFAULT_FILE: Final = "ingest.toml"
FILE_VARIABLE: Final = "INGEST_SETTINGS"
MAX_BYTES: Final = 256 * 1024
MAX_DEPTH: Final = 64

_KEY_FILES: Final = ("ssl.key.location", "ssl.keystore.location")
_LOCATIONS: Final = ("lake.path", "run.metrics")
_URI: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")


@attrs.frozen
class Assignment:
    """A value, and its source: the path of a file or a name.  A `lenient` value may write numbers as text."""

    key: str
    value: object
    source: str
    folder: Path
    lenient: bool = False


def read(path: Path | None, tables: Path | None, flags: Mapping[str, object]) -> Settings:
    """Merge the sources.  Later ones win, properties one by one.  Raises SettingsError with all problems."""
    file = _locate(path)
    folder = file.parent if file else Path.cwd()
    source = str(file) if file else f"defaults and environment (no {DEFAULT_FILE} here)"
    tables_dir = _tables_folder(file, tables)
    defaults = {"lake.path": str(folder / LakeSettings().path)}
    merged = _merge((*_in_file(file), *_in_environment(), *_in_flags(flags)), defaults, source)
    sections: dict[str, Any] = {}
    for name, section in _nested(merged.values).items():
        try:
            sections[name] = structure(_CONVERTER, section, _structure_of(name), name)
        except WrongValueError as error:
            merged.note(error)
    table_defaults = _read_defaults(file, merged)
    for problem in registry_problems(sections.get("registry", RegistrySettings())):
        merged.note(problem)
    if merged.errors:
        raise joined(sorted(merged.errors, key=lambda error: error.line))
    return Settings(**sections, defaults=table_defaults, tables_dir=tables_dir, source=source)


def _read_defaults(file: Path | None, merged: "_Merged") -> Defaults:
    """Read `[defaults]`, which only the file can have."""
    content = read_toml(file, MAX_BYTES, MAX_DEPTH).get(DEFAULTS, {}) if file else {}
    try:
        defaults = parse_defaults(content)
    except WrongValueError as error:
        merged.note(error)
        return Defaults()
    if "types.timestamps" in merged.sources and "timestamps" in defaults.given.get("types", {}):
        problem = "is given next to [defaults.types] timestamps"
        merged.note(WrongValueError("types.timestamps", problem, "Remove it"))
    return defaults


def tables_folder(path: Path | None, tables: Path | None) -> Path:
    """Return the folder of the table files, for the values of `--settings` and `--tables`."""
    return _tables_folder(_locate(path), tables)


def _tables_folder(file: Path | None, tables: Path | None) -> Path:
    return (tables or (file.parent if file else Path.cwd()) / "tables").absolute()


@attrs.frozen
class _Merged:
    """The values of all sources by key, the source of each, and the problems so far."""

    values: dict[str, object]
    source: str
    sources: dict[str, str] = attrs.field(factory=dict)
    errors: list[SettingsError] = attrs.field(factory=list)

    def note(self, problem: WrongValueError) -> None:
        """Add a problem and its further ones, each with the source of its value."""
        for each in problem.problems():
            self.errors.append(_settings_error(self.sources.get(each.key, self.source), each))


def _merge(assignments: Iterable[Assignment], defaults: Mapping[str, object], source: str) -> _Merged:
    merged = _Merged(dict(defaults), source)
    for assignment in assignments:
        try:
            merged.values[assignment.key] = _prepare(assignment)
        except SettingsError as error:
            merged.errors.append(_with_line(error))
        else:
            merged.sources[assignment.key] = assignment.source
    return merged


def _structure_of(section: str) -> Any:
    return GenericAlias(dict, (str, NAMED[section])) if section in NAMED else SECTIONS[section]


def _make_converter() -> cattrs.Converter:
    converter = make_converter()
    converter.register_structure_hook(Path, _path)
    converter.register_structure_hook(Secret, lambda value, _: _secret(value))
    return converter


def _path(value: Any, _: Any) -> Path:
    """Take a path that `_placed` has made absolute."""
    if value == "":
        raise WrongValueError("", "is empty")
    return value if isinstance(value, Path) else Path(exactly(str, "text (a path)")(value, str))


def _secret(value: Any) -> Secret:
    if not isinstance(value, str):
        raise wrong_value(value, "text", hidden=True)
    return Secret(value)


def _settings_error(source: str, error: WrongValueError) -> SettingsError:
    return _with_line(SettingsError(source, error.key, mask_url(error.problem), error.todo))


def _with_line(error: SettingsError) -> SettingsError:
    """Add the line of a problem's key if the source is a file."""
    file = Path(error.source)
    return attrs.evolve(error, line=_line_of(file, error.key)) if file.is_absolute() else error


def _line_of(file: Path, key: str) -> int:
    try:
        return find_line(read_text(file, MAX_BYTES), key)
    except WrongValueError:
        return 0


def exposed_files(settings: Settings, file: Path | None) -> tuple[Path, ...]:
    """Return the files with secrets that every user can read: `file`, files that it names, private keys."""
    in_file = _assignments(file) if file else []
    paths = {settings.registry.key, file if any(map(_holds_secret, in_file)) else None}
    paths |= {
        Path(settings.kafka.properties[name]) for name in _KEY_FILES if name in settings.kafka.properties
    }
    for assignment in (*in_file, *_in_environment()):
        match assignment.value:
            case Origin("file", where):
                paths.add(assignment.folder / Path(where).expanduser())
            case _:
                pass
    return readable_by_all(sorted(path for path in paths if path is not None))


# --- the sources -------------------------------------------------------------------------------


def _locate(path: Path | None) -> Path | None:
    variable = os.environ.get(FILE_VARIABLE)
    named = path or (Path(variable) if variable else None)
    if named is not None and not named.is_file():
        source = "--settings" if path else f"environment variable {FILE_VARIABLE}"
        raise SettingsError(source, str(named), "is not a file", "Name an existing settings file")
    file = (named or Path(DEFAULT_FILE)).absolute()
    return file if file.is_file() else None


def _in_file(file: Path | None) -> Iterator[Assignment]:
    if file is None:
        return
    assignments = _assignments(file)
    warn_if_readable(file, [assignment.key for assignment in assignments if _holds_secret(assignment)])
    yield from assignments


def _assignments(file: Path) -> list[Assignment]:
    try:
        document = read_toml(file, MAX_BYTES, MAX_DEPTH)
    except WrongValueError as error:
        raise SettingsError(str(file), "", error.problem) from None
    document.pop(DEFAULTS, None)  # see `_read_defaults`
    return [Assignment(key, value, str(file), file.parent) for key, value in _leaves(document, "")]


def _leaves(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    """Walk a TOML table to its settings.  The dotted name of a property may be quoted or bare."""
    for name, value in table.items():
        key = f"{prefix}{name}"
        if not isinstance(value, dict):
            yield key, value
            continue
        origin = origin_of(value) if _is_secret(key) else None
        if origin is not None:
            yield key, origin
        elif is_group(key) or map_of(key):
            yield from _leaves(value, f"{key}.")
        else:
            yield key, value


def _in_environment() -> Iterator[Assignment]:
    """Find `INGEST_REGISTRY_URL` and its like.  An empty variable counts as not set."""
    keys = {variable_of(key): key for key in FIELDS}
    prefixes = tuple(f"{variable_of(section)}_" for section in (*SECTIONS, *NAMED))
    for name, text in sorted(os.environ.items()):
        if text and name.startswith(prefixes):
            key, value = _secret_elsewhere(keys, name, text) or (
                keys.get(name) or key_of_variable(name),
                text,
            )
            yield Assignment(key, value, f"environment variable {name}", Path.cwd(), lenient=True)


def _secret_elsewhere(keys: Mapping[str, str], name: str, text: str) -> tuple[str, Origin] | None:
    """Read `INGEST_REGISTRY_BASIC_AUTH_FILE` and its like."""
    for method in METHODS:
        stem = name.removesuffix(f"_{method.upper()}")
        key = keys.get(stem) or key_of_variable(stem)
        if stem != name and _is_secret(key):
            return key, Origin(method, text)
    return None


def _in_flags(flags: Mapping[str, object]) -> Iterator[Assignment]:
    for key, value in flags.items():
        if value is not None:
            text = str(value) if isinstance(value, Path) else value
            yield Assignment(key, text, "command line", Path.cwd(), lenient=True)


# --- one value ---------------------------------------------------------------------------------


def _prepare(assignment: Assignment) -> object:
    """Read a value the way its source writes it.  Refuse an unknown key."""
    try:
        return _value(assignment)
    except WrongValueError as error:
        raise _settings_error(assignment.source, error) from None


def _value(assignment: Assignment) -> object:
    key, value, lenient = assignment.key, assignment.value, assignment.lenient
    if isinstance(value, Origin):
        value, lenient = value.read(assignment.source, key, assignment.folder), False
    if map_of(key):
        text = property_text(value)
        if text is None:
            raise wrong_value(value, "text, a number, true or false", key=key, hidden=looks_secret(key))
        return text
    if is_group(key):
        if value == {}:
            return {}
        raise wrong_value(value, "a section", key=key)
    field = field_of(key)
    if field is None:
        raise unknown_setting(key)
    kind = type_of(field)
    return _placed(key, kind, _from_text(kind, value) if lenient else value, assignment.folder)


def _is_secret(key: str) -> bool:
    """Tell whether a value is a secret: by its setting's type, or by its property's name."""
    owner = map_of(key)
    if owner is not None:
        return looks_secret(key.removeprefix(f"{owner}."))
    field = field_of(key)
    return field is not None and type_of(field) is Secret


def _holds_secret(assignment: Assignment) -> bool:
    """Tell whether a value is a secret itself, not the path or command that yields it."""
    return isinstance(assignment.value, str) and _is_secret(assignment.key)


_TRUTHS: Final[Mapping[str, bool]] = {"true": True, "false": False}


def _from_text(kind: Any, value: object) -> object:
    """Read a text as a number, a truth or a list if the setting is one.

    Other text stays, and is refused later.
    """
    if isinstance(value, str) and get_origin(kind) is tuple:
        return [part.strip() for part in value.split(",")]
    if isinstance(value, str) and kind is bool:
        return _TRUTHS.get(value, value)
    if isinstance(value, str) and kind in (int, float, Seconds):
        try:
            return int(value) if kind is int else float(value)
        except ValueError:
            return value
    return value


def _placed(key: str, kind: Any, value: object, folder: Path) -> object:
    """Make local paths absolute: in a file from its folder, elsewhere from the working folder."""
    match value:
        case "":
            return value
        case str() if kind is Path:
            return folder / Path(value).expanduser()
        case str() if key in _LOCATIONS and not _URI.match(value):
            # A folder keeps the "/" that marks it.
            return f"{folder / Path(value).expanduser()}{'/' if value.endswith('/') else ''}"
        case str() if key == "registry.url":
            return ",".join(_registry_url(part.strip(), folder) for part in value.split(","))
        case _:
            return value


def _registry_url(url: str, folder: Path) -> str:
    """Write a folder registry as `file:` and an absolute path.  Leave a real URL as it is."""
    if url.startswith("file:"):
        return f"file:{folder / url.removeprefix('file:').removeprefix('//')}"
    path = folder / Path(url).expanduser()
    return f"file:{path}" if url and "://" not in url and path.is_dir() else url


def _nested(values: Mapping[str, object]) -> dict[str, dict[str, Any]]:
    """Turn dotted keys into sections, the properties of a map staying flat."""
    nested: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        section, _, name = key.partition(".")
        table = nested.setdefault(section, {})
        if section in NAMED and "." in name:
            group, _, name = name.partition(".")
            table = table.setdefault(group, {})
        if owner := map_of(key):
            table = table.setdefault(owner.partition(".")[2], {})
            name = key.removeprefix(f"{owner}.")
        if name:
            table[name] = value
    return nested


_CONVERTER: Final = _make_converter()


def registry_problems(registry: RegistrySettings) -> Iterator[WrongValueError]:
    """Find credentials that contradict each other or are incomplete."""
    oauth = {
        "oauth_token_url": registry.oauth_token_url,
        "oauth_client_id": registry.oauth_client_id,
        "oauth_client_secret": registry.oauth_client_secret,
    }
    methods = {
        "basic_auth": registry.basic_auth is not None,
        "user:password in url": bool(secrets_in_url(registry.url)),
        "bearer_token": registry.bearer_token is not None,
        "oauth_*": any(oauth.values()),
    }
    used = [method for method, is_used in methods.items() if is_used]
    if len(used) > 1:
        yield WrongValueError("registry", f"found {' and '.join(used)}", "Keep one of them")
    missing = [name for name, value in oauth.items() if not value]
    if methods["oauth_*"] and missing:
        yield WrongValueError(f"registry.{missing[0]}", "is not set, but OAuth needs it")
    if registry.basic_auth and ":" not in registry.basic_auth.reveal():
        yield WrongValueError("registry.basic_auth", "found text without a colon; allowed: user:password")
    if (registry.key or registry.key_password) and not registry.certificate:
        yield WrongValueError("registry.certificate", "is not set, but key or key_password is")
