"""The trouble of tables: their order, and the commands that fix them."""

import re
from collections.abc import Iterator
from typing import Final

import attrs

from ingest.errors import RetryableError
from ingest.operations.status.health import STATES, Bound, health, last_failure
from ingest.operations.status.overview import TableOverview
from ingest.operations.status.status import TableStatus

_COMMAND: Final = re.compile(r"`(ingest [^`]+)`")


@attrs.frozen
class Remedy:
    """A reason to act, and the commands for it."""

    reason: str
    commands: tuple[str, ...]


def by_trouble(overview: TableOverview, bound: Bound | None = None) -> tuple[int, float, int, str]:
    """Return a sort key: the worst state first, then the longest lag, then the name."""
    status = overview.status
    rank = list(STATES).index(health(status, bound).state)
    return rank, -(status.source_lag_s or 0), -(status.lag or 0), status.table


def remedies(overview: TableOverview, bound: Bound | None = None) -> tuple[Remedy, ...]:
    """Return the reasons to act on a table, the most urgent first."""
    name, status = overview.status.table, overview.status
    if overview.table is None:
        return (Remedy("The table file cannot be read: correct it.", ("ingest plan",)),)
    steps = list(_of_outcomes(status))
    if not overview.is_clear:
        reason = "The files do not tell the state of this table: Hudi's own classes say what is wrong."
        steps.append(Remedy(reason, (f"ingest status {name}",)))
    rejects = overview.rejects
    if rejects is not None and (rejects.open or (rejects.open is None and rejects.stored)):
        count = f"{rejects.open:,} open" if rejects.open is not None else f"up to {rejects.stored:,} open"
        reason = f"{count} rejects: look at the reasons, fix their cause, then apply them again."
        steps.append(Remedy(reason, (f"ingest rejects list {name}", f"ingest rejects replay {name}")))
    if status.lag and status.error is None:
        behind = bound.problem(status) if bound else ""
        reason = f"{behind or f'{status.lag:,} messages are waiting'}."
        steps.append(Remedy(reason, (f"ingest plan {name}", f"ingest run {name}")))
    return (*steps, *_advice(status))


def _of_outcomes(status: TableStatus) -> Iterator[Remedy]:
    """Yield the remedies of the present error, of a failed run and of a proven difference."""
    name = status.table
    if status.error is not None:
        check = "ingest doctor" if isinstance(status.error, RetryableError) else f"ingest plan {name}"
        yield _of_error(name, str(status.error), check)
    if (failed := last_failure(status)) is not None and status.last_run is not None:
        yield _of_error(name, failed.reason, f"ingest runs {status.last_run.run_id[:8]}")
    if status.ahead is not None:
        reason = "The newest registered version cannot be applied"
        yield Remedy(f"{reason}: {status.ahead}", (f"ingest plan {name}", f"ingest schema versions {name}"))
    if status.connector is not None and (silence := status.connector.problem()):
        yield Remedy(f"The {silence}: look at the connector.", ("ingest doctor",))
    if status.verification is not None and status.verification.outcome == "different":
        yield Remedy(f"The table {status.verification.summary()}.", (f"ingest verify {name}",))


def _of_error(name: str, text: str, check: str) -> Remedy:
    """Return the remedy of an error: the commands that its text names, and one to look further."""
    named = tuple(command.replace("TABLE", name) for command in _COMMAND.findall(text))
    return Remedy(text, tuple(dict.fromkeys((*named, check))))


def _advice(status: TableStatus) -> tuple[Remedy, ...]:
    """Return what can wait."""
    name, warning = status.table, status.warning
    command = f"ingest rebuild {name} --dry-run" if "`ingest rebuild" in warning else f"ingest show {name}"
    return (Remedy(f"{warning}.", (command,)),) if warning else ()
