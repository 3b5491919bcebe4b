"""The dotted keys of the settings: sections, properties, and sections that the user names."""

from collections.abc import Mapping
from types import NoneType
from typing import Any, Final, get_args

import attrs

from ingest.config.rules import WrongValueError, unknown_key
from ingest.settings.deployment import Settings
from ingest.settings.source import SourceSettings
from ingest.tables.defaults import SECTION as DEFAULTS

SECTIONS: Final[Mapping[str, type[attrs.AttrsInstance]]] = {
    field.name: field.type
    for field in attrs.fields(Settings)
    if field.type and attrs.has(field.type) and field.name != DEFAULTS
}
FIELDS: Final[Mapping[str, "attrs.Attribute[Any]"]] = {
    f"{section}.{field.name}": field for section, kind in SECTIONS.items() for field in attrs.fields(kind)
}
"""Every setting by its dotted key."""
MAPS: Final = tuple(key for key, field in FIELDS.items() if field.type == dict[str, str])
"""The settings that hold properties with dotted names."""
NAMED: Final[Mapping[str, type[attrs.AttrsInstance]]] = {"sources": SourceSettings}
"""The sections with a name of the user's: `[sources.NAME]`."""
_PARTS: Final = 3


def field_of(key: str) -> "attrs.Attribute[Any] | None":
    """Return the setting of a dotted key, or None for an unknown key."""
    parts = key.split(".")
    if parts[0] in NAMED and len(parts) == _PARTS:
        return next((field for field in attrs.fields(NAMED[parts[0]]) if field.name == parts[2]), None)
    return FIELDS.get(key)


def type_of(field: "attrs.Attribute[Any]") -> Any:
    """Return the type of a setting without None."""
    kind = field.type
    return next(
        (part for part in get_args(kind) if part is not NoneType and NoneType in get_args(kind)), kind
    )


def is_group(key: str) -> bool:
    """Tell whether a key holds settings and not a value."""
    section, _, name = key.partition(".")
    return key in SECTIONS or key in MAPS or (section in NAMED and "." not in name)


def map_of(key: str) -> str | None:
    """Return the setting that holds the property of this key, if there is one."""
    return next((name for name in MAPS if key.startswith(f"{name}.")), None)


def unknown_setting(key: str) -> WrongValueError:
    """Return the problem of an unknown key, with the nearest known one."""
    section, _, name = key.partition(".")
    if section in NAMED:
        fields = [field.name for field in attrs.fields(NAMED[section])]
        return unknown_key(key, name.partition(".")[2], fields)
    if section in SECTIONS:
        return unknown_key(key, name, [field.name for field in attrs.fields(SECTIONS[section])])
    return unknown_key(key, section, [*SECTIONS, *NAMED, DEFAULTS])


def variable_of(key: str) -> str:
    """Return the environment variable of a key."""
    return f"INGEST_{key.upper().replace('.', '_')}"


def key_of_variable(variable: str) -> str:
    """Derive the key of a variable.  Names of client properties have only dots and lower-case letters."""
    properties = f"{variable_of('kafka.properties')}_"
    if variable.startswith(properties):
        return f"kafka.properties.{variable.removeprefix(properties).lower().replace('_', '.')}"
    for section, kind in NAMED.items():
        start = f"{variable_of(section)}_"
        for field in attrs.fields(kind) if variable.startswith(start) else ():
            name = variable.removeprefix(start).removesuffix(f"_{field.name.upper()}")
            if variable == f"{start}{name}_{field.name.upper()}":
                return f"{section}.{name.lower()}.{field.name}"
    return variable.removeprefix("INGEST_").lower().replace("_", ".", 1)
