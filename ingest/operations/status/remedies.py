"""The trouble of tables: their state in a word, their order, and the commands that fix them."""

import re
from typing import Final, Literal

import attrs

from ingest.errors import RetryableError
from ingest.operations.status.health import Bound, health
from ingest.operations.status.overview import TableOverview
from ingest.operations.status.status import TableStatus

State = Literal["failing", "temporary", "unknown", "behind", "rejects", "not run yet", "ok"]
STATES: Final[dict[State, str]] = {
    "failing": "A run would fail, and fail again until the cause is fixed.",
    "temporary": "Something did not answer: try again.",
    "unknown": "The files do not answer without Spark.",
    "behind": "Further behind its topic than the given limit.",
    "rejects": "Up to date, with open rejects.",
    "not run yet": "Without a commit so far.",
    "ok": "A run would pass.",
}
"""Every state and its meaning, the worst first."""

_COMMAND: Final = re.compile(r"`(ingest [^`]+)`")


@attrs.frozen
class Remedy:
    """A reason to act, and the commands for it."""

    reason: str
    commands: tuple[str, ...]


def state_of(overview: TableOverview, bound: Bound | None = None) -> State:
    """Return the state of a table, the worst that holds."""
    word = health(overview.status, bound)
    if word == "failing":
        return "temporary" if isinstance(overview.status.error, RetryableError) else "failing"
    if not overview.is_clear:
        return "unknown"
    if word == "behind":
        return "behind"
    rejects = overview.rejects
    has_rejects = rejects is not None and (rejects.stored if rejects.open is None else rejects.open)
    return "rejects" if has_rejects else word


def by_trouble(overview: TableOverview, bound: Bound | None = None) -> tuple[int, float, int, str]:
    """Return a sort key: the worst state first, then the longest lag, then the name."""
    status = overview.status
    rank = list(STATES).index(state_of(overview, bound))
    return rank, -(status.source_lag_s or 0), -(status.lag or 0), status.table


def remedies(overview: TableOverview, bound: Bound | None = None) -> tuple[Remedy, ...]:
    """Return the reasons to act on a table, the most urgent first."""
    name, status, steps = overview.status.table, overview.status, list[Remedy]()
    if overview.table is None:
        return (Remedy("The table file cannot be read: correct it.", ("ingest plan",)),)
    if status.error is not None:
        named = tuple(command.replace("TABLE", name) for command in _COMMAND.findall(str(status.error)))
        check = "ingest doctor" if isinstance(status.error, RetryableError) else f"ingest plan {name}"
        steps.append(Remedy(str(status.error), tuple(dict.fromkeys((*named, check)))))
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


def _advice(status: TableStatus) -> tuple[Remedy, ...]:
    """Return what can wait."""
    command = f"ingest rebuild {status.table} --dry-run"
    return (Remedy(f"{status.warning}.", (command,)),) if status.warning else ()
