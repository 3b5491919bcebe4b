"""Where settings come from: file, environment, command line; each value is checked on the way."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import attrs
from typed_settings import load_settings
from typed_settings.cls_utils import deep_options
from typed_settings.converters import TSConverter
from typed_settings.loaders import DictLoader

from ingest.errors import SettingsError
from ingest.settings.check import (
    check_choice,
    check_empty,
    check_range,
    check_registry,
    unknown_key,
    wrong_type,
)
from ingest.settings.deployment import LakeSettings, Settings
from ingest.settings.document import read_document
from ingest.settings.origin import WAYS, Origin, origin_of
from ingest.settings.secret import Secret, looks_secret

DEFAULT_FILE = "ingest.toml"
FILE_VARIABLE = "INGEST_SETTINGS"

_OWN = ("tables_dir", "source")
KINDS: dict[str, Any] = {o.path: o.cls for o in deep_options(Settings) if o.path not in _OWN}
MAPS = tuple(key for key, kind in KINDS.items() if kind == dict[str, str])
_PLACES = ("lake.path", "run.metrics")
_URI = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")


@attrs.frozen
class Found:
    """A value as it stands in a source; a `lenient` source may write numbers as text."""

    key: str
    value: object
    source: str
    folder: Path
    lenient: bool = False


def read(path: Path | None, tables: Path | None, flags: Mapping[str, object]) -> Settings:
    """Merge the sources; later ones win, properties one by one."""
    file = _locate(path)
    folder = file.parent if file else Path.cwd()
    merged: dict[str, object] = {"lake.path": str(folder / LakeSettings().path)}
    for found in (*_in_file(file), *_in_environment(), *_in_flags(flags)):
        merged[found.key] = _checked(found)
    merged["tables_dir"] = (tables or folder / "tables").absolute()
    merged["source"] = str(file) if file else f"defaults and environment (no {DEFAULT_FILE} here)"
    converter = TSConverter(resolve_paths=False)
    converter.scalar_converters[Secret] = lambda value, _: value
    settings = load_settings(Settings, [DictLoader(_nested(merged))], converter=converter)
    check_registry(settings.registry, settings.source)
    return settings


# --- the sources -------------------------------------------------------------------------------


def _locate(path: Path | None) -> Path | None:
    variable = os.environ.get(FILE_VARIABLE)
    asked = path or (Path(variable) if variable else None)
    if asked is not None and not asked.is_file():
        source = "--settings" if path else f"environment variable {FILE_VARIABLE}"
        raise SettingsError(source, str(asked), "is not a file", "Name an existing settings file")
    file = (asked or Path(DEFAULT_FILE)).absolute()
    return file if file.is_file() else None


def _in_file(file: Path | None) -> Iterator[Found]:
    if file is None:
        return
    try:
        leaves = [*_leaves(read_document(file), "")]
    except RecursionError:
        raise SettingsError(str(file), "not readable", "is nested too deep") from None
    for key, value in leaves:
        yield Found(key, value, str(file), file.parent)


def _leaves(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    """Walk a TOML table to its values; a property's dotted name may be quoted or bare."""
    for name, value in table.items():
        key = f"{prefix}{name}"
        known = key in MAPS or any(path.startswith(f"{key}.") for path in KINDS)
        origin = origin_of(value) if isinstance(value, dict) and _is_secret(key) else None
        if origin is not None:
            yield key, origin
        elif isinstance(value, dict) and (value or known):
            yield from _leaves(value, f"{key}.")
        else:
            yield key, value


def _in_environment() -> Iterator[Found]:
    """Find `INGEST_REGISTRY_URL` and its like; a variable set to nothing counts as not set."""
    keys = {_variable(key): key for key in KINDS}
    sections = tuple({f"{_variable(key.partition('.')[0])}_" for key in KINDS})
    for name, text in sorted(os.environ.items()):
        if text and name.startswith(sections):
            key, value = _secret_elsewhere(keys, name, text) or (keys.get(name) or _key_of(name), text)
            yield Found(key, value, f"environment variable {name}", Path.cwd(), lenient=True)


def _secret_elsewhere(keys: Mapping[str, str], name: str, text: str) -> tuple[str, Origin] | None:
    """Read `INGEST_REGISTRY_BASIC_AUTH_FILE` and its like."""
    for way in WAYS:
        own = name.removesuffix(f"_{way.upper()}")
        key = keys.get(own) or _key_of(own)
        if own != name and _is_secret(key):
            return key, Origin(way, text)
    return None


def _is_secret(key: str) -> bool:
    """Tell whether a value is a secret: by its option's type, or by its property's name."""
    owner = _map_of(key)
    if owner is not None:
        return looks_secret(key.removeprefix(f"{owner}."))
    return key in KINDS and _kind(key) is Secret


def _key_of(variable: str) -> str:
    """Guess the key behind a variable; client properties have dots and small letters only."""
    properties = f"{_variable('kafka.properties')}_"
    if variable.startswith(properties):
        return f"kafka.properties.{variable.removeprefix(properties).lower().replace('_', '.')}"
    return variable.removeprefix("INGEST_").lower().replace("_", ".", 1)


def _in_flags(flags: Mapping[str, object]) -> Iterator[Found]:
    for key, value in flags.items():
        if value is not None:
            text = str(value) if isinstance(value, Path) else value
            yield Found(key, text, "command line", Path.cwd(), lenient=True)


def _variable(key: str) -> str:
    return f"INGEST_{key.upper().replace('.', '_')}"


# --- one value ---------------------------------------------------------------------------------


def _checked(found: Found) -> object:
    """Convert a value to its option's type, or say what is wrong with it."""
    if isinstance(found.value, Origin):
        secret = found.value.read(found.source, found.key, found.folder)
        found = attrs.evolve(found, value=secret, lenient=False)
    if _map_of(found.key):
        return _property_text(found)
    if found.key not in KINDS:
        raise unknown_key(found.source, found.key, found.value, tuple(KINDS))
    kind = _kind(found.key)
    value = _number(kind, found.value) if found.lenient else found.value
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not (str if kind in (Secret, Path) else kind):
        raise wrong_type(found.source, found.key, found.value, kind)
    check_range(found.source, found.key, value)
    check_empty(found.source, found.key, value, kind)
    check_choice(found.source, found.key, value)
    return _placed(found, kind, value)


def _kind(key: str) -> type:
    if key in MAPS:
        return dict
    parts: tuple[type, ...] = get_args(KINDS[key]) or (KINDS[key],)
    return next(part for part in parts if part is not NoneType)


def _number(kind: type, value: object) -> object:
    """Read a text as the number that the option wants; what is no number stays as it is."""
    if isinstance(value, str) and kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            return value
    return value


def _placed(found: Found, kind: type, value: object) -> object:
    """Make local paths absolute: in a file they start at it, elsewhere at the working folder."""
    match value:
        case str() if kind is Secret:
            return Secret(value)
        case str() if kind is Path:
            return found.folder / Path(value).expanduser()
        case str() if found.key in _PLACES and value and not _URI.match(value):
            # A folder keeps the "/" that says so.
            return f"{found.folder / Path(value).expanduser()}{'/' if value.endswith('/') else ''}"
        case str() if found.key == "registry.url":
            return ",".join(_registry_place(part.strip(), found.folder) for part in value.split(","))
        case _:
            return value


def _registry_place(url: str, folder: Path) -> str:
    """Write a folder registry as `file:` and an absolute path; leave a real URL alone."""
    if url.startswith("file:"):
        return f"file:{folder / url.removeprefix('file:').removeprefix('//')}"
    place = folder / Path(url).expanduser()
    return f"file:{place}" if url and "://" not in url and place.is_dir() else url


def _property_text(found: Found) -> str:
    match found.value:
        case bool():
            return str(found.value).lower()
        case str() | int() | float():
            return str(found.value)
        case _:
            raise wrong_type(found.source, found.key, found.value, str)


def _map_of(key: str) -> str | None:
    return next((name for name in MAPS if key.startswith(f"{name}.")), None)


def _nested(flat: Mapping[str, object]) -> dict[str, Any]:
    """Turn dotted keys into nested tables, the properties of a map staying flat."""
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        owner = _map_of(key)
        head, leaf = (owner, key.removeprefix(f"{owner}.")) if owner else key.rpartition(".")[::2]
        table = nested
        for name in head.split(".") if head else ():
            table = table.setdefault(name, {})
        table[leaf] = value
    return nested
