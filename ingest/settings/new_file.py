"""A new settings file, with comments on the next steps.  An existing file is never written."""

import os
from collections.abc import Sequence
from pathlib import Path

import tomlkit

from ingest.errors import UsageError

_TEXT = """\
# Settings of ingest: `ingest doctor` examines them, and the documentation lists every key.
# Any value can come from the environment, such as INGEST_REGISTRY_URL.

[registry]
url = {registry}
# A login, best kept in a file or a command: basic_auth is user:password.
# basic_auth = {{ file = "/run/secrets/registry" }}
# bearer_token = {{ command = "pass show registry" }}

[kafka]
bootstrap_servers = {bootstrap_servers}

[kafka.properties]
# "security.protocol" = "SASL_SSL"
# "sasl.mechanism" = "SCRAM-SHA-512"
# "sasl.username" = "ingest"
# "sasl.password" = {{ file = "/run/secrets/kafka" }}

[lake]
path = {lake}

[onboard]
# The readers of new tables decide their format, which is fixed when a table is created; "any": all that
# were tested.
readers = {readers}
"""


def write_settings(
    path: Path, registry: str, bootstrap_servers: str, lake: str, readers: Sequence[str]
) -> None:
    """Write a file that only its owner can read.  Raises UsageError if it exists or cannot be made."""
    values = {
        "registry": registry, "bootstrap_servers": bootstrap_servers, "lake": lake, "readers": list(readers)
    }  # fmt: skip
    text = _TEXT.format(**{name: tomlkit.item(value).as_string() for name, value in values.items()})
    todo = "name another file with --settings"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} exists already", f"Edit it, or {todo}") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", todo.capitalize()) from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
