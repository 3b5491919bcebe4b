"""Secrets kept elsewhere: in a file, or in the output of a command.

In a settings file `basic_auth = { file = "/run/secrets/registry" }` or `{ command = "pass show registry" }`,
also for secret properties of Kafka and Spark.  In the environment: the variable with `_FILE` or `_COMMAND`.
"""

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

import attrs

from ingest.errors import SettingsError

Method = Literal["file", "command"]
METHODS: Final[tuple[Method, ...]] = ("file", "command")
MAX_BYTES: Final = 65_536
COMMAND_TIMEOUT_S: Final = 30


@attrs.frozen
class Origin:
    """The origin of a secret.  `where` is a path, or a command line (run without a shell)."""

    method: Method
    where: str

    def read(self, source: str, key: str, folder: Path) -> str:
        """Return the secret without the newline at its end.  A relative path starts at `folder`.

        No error repeats the secret or the output of the command.
        """
        if self.method == "file":
            content = _read_file(source, key, folder / Path(self.where).expanduser())
        else:
            content = _run(source, key, self.where, folder)
        if len(content) > MAX_BYTES:
            raise SettingsError(
                source, key, f"its {self.method} yields more than {MAX_BYTES} bytes, the limit"
            )
        try:
            text = content.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise SettingsError(source, key, f"its {self.method} yields text that is not UTF-8") from None
        if not text:
            raise SettingsError(source, key, f"its {self.method} yields nothing")
        return text


def origin_of(value: Mapping[str, object]) -> Origin | None:
    """Read `{ file = … }` or `{ command = … }`."""
    match dict(value):
        case {"file": str(path), **rest} if path and not rest:
            return Origin("file", path)
        case {"command": str(line), **rest} if line and not rest:
            return Origin("command", line)
        case _:
            return None


def _read_file(source: str, key: str, path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SettingsError(source, key, f"its file {path} cannot be read: {error.strerror}") from None


def _run(source: str, key: str, line: str, folder: Path) -> bytes:
    try:
        program, *arguments = shlex.split(line)
        process = subprocess.run(
            [program, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False,
            timeout=COMMAND_TIMEOUT_S,
        )  # fmt: skip
    except (ValueError, OSError, subprocess.TimeoutExpired) as error:
        raise SettingsError(source, key, f"its command cannot run: {_reason(error)}") from None
    if process.returncode:
        problem = f"its command {program} ended with exit code {process.returncode}"
        raise SettingsError(source, key, problem, "Run it by hand to see its messages")
    return process.stdout


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"still running after {COMMAND_TIMEOUT_S} s"
    return (error.strerror if isinstance(error, OSError) else None) or "it is not a command line"
