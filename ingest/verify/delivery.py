"""The delivery of a position: how far a source's connector has read, and how long to wait for it."""

import time
from typing import Final, Protocol

import attrs

from ingest.settings import SourceSettings

_POLL_S: Final = 0.2


class LogReader(Protocol):
    """An open connection to a source, as far as its log goes."""

    @property
    def name(self) -> str:
        """The name of the source in the settings."""
        ...

    @property
    def title(self) -> str:
        """The name of the database."""
        ...

    @property
    def settings(self) -> SourceSettings:
        """The settings of the source."""
        ...

    def is_replica(self) -> bool:
        """Return whether the server is a replica."""
        ...

    def position(self) -> str | None:
        """Return the end of the log, or None if the database does not show it."""
        ...

    def shows_deliveries(self) -> bool:
        """Return whether the database shows how far its connector is."""
        ...

    def delivery(self, position: str) -> str | None:
        """Return `delivered`, `received` (and not confirmed), `pending`, or None without one slot."""
        ...


@attrs.frozen
class Delivery:
    """The end of a wait.

    `problem` says why a position may not be in the topic, and `note` names an assumption.
    """

    problem: str = ""
    note: str = ""


def await_delivery(reader: LogReader, position: str | None) -> Delivery:
    """Wait until the connector has delivered a position, or has had `wait_s` since it received it.

    A connector that receives a position late may still have its changes in a queue: the time that is granted
    for them begins with the receipt.
    """
    wait_s = reader.settings.wait_s
    if position is None or not reader.shows_deliveries():
        time.sleep(wait_s)
        return Delivery(
            note=f"judged {wait_s:g} s after the changes: {reader.title} does not show deliveries"
        )
    state = reader.delivery(position)
    if state == "pending":
        state = _poll(reader, position, state)
    if state == "received":
        state = _poll(reader, position, state)
    if state is None:
        problem = f"the database lacks a replication slot, or has several: set sources.{reader.name}.slot"
        return Delivery(problem)
    if state == "pending":
        return Delivery(f"the connector has not delivered position {position} within {wait_s:g} s")
    note = f"the connector received position {position}, and did not confirm it"
    return Delivery(note="" if state == "delivered" else note)


def _poll(reader: LogReader, position: str, state: str) -> str | None:
    """Return the state that follows another one, or the state after `wait_s`."""
    limit, current = time.monotonic() + reader.settings.wait_s, reader.delivery(position)
    while current == state and time.monotonic() < limit:
        time.sleep(_POLL_S)
        current = reader.delivery(position)
    return current
