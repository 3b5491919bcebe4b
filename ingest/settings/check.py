"""What makes a setting wrong, said so that a user can mend it."""

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from ingest.errors import SettingsError
from ingest.settings.deployment import RegistrySettings
from ingest.settings.secret import Secret, looks_secret, mask_url, secrets_in_url

_KIND_NAMES: dict[type, str] = {
    str: "text",
    Secret: "text",
    Path: "text (a path)",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    dict: "a table",
    list: "a list",
}
MINIMUM = {
    "registry.timeout_s": 0.001,
    "registry.retries": 0,
    "run.parallel_tables": 1,
    "run.lock_wait_s": 0,
    "run.table_timeout_s": 0,
    "run.stop_grace_s": 0,
}
CHOICES = {"lake.lock": ("auto", "none"), "run.log_level": ("debug", "info", "warning", "error")}
PATTERNS = {"lake.database": ("letters, digits and _", re.compile(r"\w*", re.ASCII))}
_NEVER_EMPTY = ("lake.path", "spark.master")


def unknown_key(source: str, key: str, value: object, allowed: Sequence[str]) -> SettingsError:
    """Say that there is no such setting, and which one may be meant."""
    if any(name.startswith(f"{key}.") for name in allowed):
        return SettingsError(source, key, f"found {_shown(key, value)}, allowed is a table")
    section, _, name = key.partition(".")
    inside = [path.partition(".")[2] for path in allowed if path.startswith(f"{section}.")]
    if not inside:
        sections = ", ".join(sorted({f"[{path.partition('.')[0]}]" for path in allowed}))
        return SettingsError(source, key, f"is not a setting; there are {sections}", _meant(key, allowed))
    todo = _meant(name, inside)
    return SettingsError(source, key, f"is not a setting; allowed in [{section}]: {', '.join(inside)}", todo)


def wrong_type(source: str, key: str, value: object, kind: type) -> SettingsError:
    """Say which type was found and which is allowed; a secret's value stays out."""
    secret = kind is Secret
    return SettingsError(
        source, key, f"found {_shown(key, value, secret=secret)}, allowed is {_KIND_NAMES[kind]}"
    )


def check_range(source: str, key: str, value: object) -> None:
    """Refuse a number below the option's minimum (and a NaN)."""
    minimum = MINIMUM.get(key)
    if minimum is not None and isinstance(value, int | float) and not value >= minimum:
        raise SettingsError(source, key, f"found {value}, allowed is {minimum} or more")


def check_choice(source: str, key: str, value: object) -> None:
    """Refuse a word that the option does not know, or a name that cannot be one."""
    choices = CHOICES.get(key)
    if choices and value not in choices:
        raise SettingsError(source, key, f"found {_shown(key, value)}, allowed is {' or '.join(choices)}")
    allowed, pattern = PATTERNS.get(key, ("", None))
    if pattern and not pattern.fullmatch(str(value)):
        raise SettingsError(source, key, f"found {_shown(key, value)}, allowed are {allowed}")


def check_empty(source: str, key: str, value: object, kind: type) -> None:
    """Refuse an empty path, which would mean the settings file's own folder."""
    if value == "" and (kind is Path or key in _NEVER_EMPTY):
        raise SettingsError(source, key, "is empty", "Leave it out for the default")


def check_registry(registry: RegistrySettings, source: str) -> None:
    """Refuse credentials that contradict each other or are half there."""
    oauth = {
        "oauth_token_url": registry.oauth_token_url,
        "oauth_client_id": registry.oauth_client_id,
        "oauth_client_secret": registry.oauth_client_secret,
    }
    ways = {
        "basic_auth": registry.basic_auth is not None,
        "user:password in url": bool(secrets_in_url(registry.url)),
        "bearer_token": registry.bearer_token is not None,
        "oauth_*": any(oauth.values()),
    }
    found = [way for way, used in ways.items() if used]
    if len(found) > 1:
        raise SettingsError(source, "registry", f"found {' and '.join(found)}", "Keep one of them")
    missing = [name for name, value in oauth.items() if not value]
    if ways["oauth_*"] and missing:
        raise SettingsError(source, f"registry.{missing[0]}", "is not set, but OAuth needs it")
    if registry.basic_auth and ":" not in registry.basic_auth.reveal():
        problem = "found a text without a colon, allowed is user:password"
        raise SettingsError(source, "registry.basic_auth", problem)
    if (registry.key or registry.key_password) and not registry.certificate:
        problem = "is not set, but key or key_password is"
        raise SettingsError(source, "registry.certificate", problem)


def _meant(name: str, allowed: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, allowed, n=1)
    return f"Did you mean {near[0]}?" if near else ""


def _shown(key: str, value: object, *, secret: bool = False) -> str:
    kind = _KIND_NAMES.get(type(value), type(value).__name__)
    if secret or looks_secret(key):
        return kind
    return f"{mask_url(repr(value))} ({kind})"
