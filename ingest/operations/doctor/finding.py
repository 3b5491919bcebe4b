"""A finding of a check, and checks that end with an error."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal

import attrs

from ingest.errors import DOCTOR, BrokerUnreachableError, IngestError, RegistryUnreachableError
from ingest.json_values import JsonValue

Level = Literal["ok", "warning", "problem", "skipped"]
LEVELS: Final[tuple[Level, ...]] = ("ok", "warning", "problem", "skipped")


@attrs.frozen
class Finding(JsonValue):
    """The state of one part: `todo` is the remedy of a warning or a problem."""

    json_keys = "check state=level text todo"

    check: str
    level: Level
    text: str
    todo: str = ""


REMEDIES: Final[Mapping[type[IngestError], str]] = {
    BrokerUnreachableError: "Check [kafka] bootstrap_servers, the network, and whether the port speaks TLS",
    RegistryUnreachableError: "Check [registry] url, the network, and the server itself",
}
"""Remedies besides trying again."""
Check = Callable[[], Iterable[Finding]]


def findings_of(name: str, check: Check) -> Iterator[Finding]:
    """Yield the findings of a check.  An error is a problem, with the remedy that it names."""
    try:
        yield from check()
    except IngestError as error:
        yield from problems_of(name, error)
    except Exception as error:  # noqa: BLE001  a check that fails must not hide the others
        yield Finding(name, "problem", f"the check failed: {type(error).__name__}: {error}")


def problems_of(name: str, error: IngestError) -> Iterator[Finding]:
    """Yield the problems that an error reports."""
    todo = next((todo for kind, todo in REMEDIES.items() if isinstance(error, kind)), "")
    for problem in error.problems():
        text = str(problem).replace(f" {DOCTOR}.", "")
        yield Finding(name, "problem", text.removesuffix(" Try again when it is up."), todo)
