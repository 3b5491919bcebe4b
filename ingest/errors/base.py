"""The base classes, which decide the exit code, and the form of a message."""

from typing import ClassVar, Final


class IngestError(Exception):
    """The base of all errors that `ingest` raises on purpose."""

    exit_code: ClassVar[int] = 1

    def problems(self) -> "tuple[IngestError, ...]":
        """Return the problems that it reports: itself, or several of a file."""
        return (self,)


class PermanentError(IngestError):
    """Fails again until the cause is fixed.  Exit code 1."""


class UserError(IngestError):
    """Wrong usage or settings.  Exit code 2."""

    exit_code: ClassVar[int] = 2


class RetryableError(IngestError):
    """Temporary: broker, registry or storage unreachable, or table locked.  Exit code 75."""

    exit_code: ClassVar[int] = 75


DOCTOR: Final = "`ingest doctor` examines it"
"""The last sentence of errors that it can explain."""


def sentences(*parts: str) -> str:
    """Join the parts that are not empty, each as a sentence.  A very long part loses its middle."""
    short = (_shortened(part) for part in parts if part)
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in short)


_HEAD: Final = 1500
_TAIL: Final = 500
"""The characters of a long part to keep: names from schemas and the texts of servers may have any length."""


def _shortened(part: str) -> str:
    left_out = len(part) - _HEAD - _TAIL
    return part if left_out <= 0 else f"{part[:_HEAD]} … ({left_out} characters) … {part[-_TAIL:]}"
