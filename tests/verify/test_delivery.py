"""The wait for a connector's delivery of a position, with a log whose answers change with time."""

import time

import attrs
import pytest

from ingest.settings import SourceSettings
from ingest.verify.delivery import await_delivery

URL = "jdbc:postgresql://db/shop"
WAIT_S = 0.4


@attrs.frozen
class Log:
    """A log whose connector reaches a state some seconds after the start."""

    states: tuple[tuple[float, str | None], ...]
    """Seconds and the state from then on."""
    is_shown: bool = True
    name: str = "shop"
    title: str = "PostgreSQL"
    settings: SourceSettings = SourceSettings(URL, wait_s=WAIT_S)
    started: float = attrs.field(factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def is_replica(self) -> bool:
        """Return False: this is the primary."""
        return False

    def position(self) -> str:
        """Return the end of the log."""
        return "0/10"

    def shows_deliveries(self) -> bool:
        """Return whether states show."""
        return self.is_shown

    def delivery(self, position: str) -> str | None:
        """Return the state of now."""
        assert position == "0/10"
        return [state for start, state in self.states if start <= self.seconds][-1]


def test_a_delivered_position_is_not_waited_for() -> None:
    """Nothing is assumed."""
    log = Log(((0, "delivered"),))
    answer = await_delivery(log, log.position())
    assert (answer.problem, answer.note) == ("", "")
    assert log.seconds < WAIT_S / 2


@pytest.mark.parametrize("receipt_s", [0.0, 0.25])
def test_the_time_for_a_connectors_queue_begins_with_the_receipt(receipt_s: float) -> None:
    """A position that is received late has the same time to reach the topic."""
    log = Log(((0, "pending"), (receipt_s, "received")))
    answer = await_delivery(log, log.position())
    assert (answer.problem, answer.note) == (
        "",
        "the connector received position 0/10, and did not confirm it",
    )
    assert log.seconds >= receipt_s + WAIT_S


def test_a_position_that_is_confirmed_meanwhile_is_delivered() -> None:
    """The note would be wrong."""
    log = Log(((0, "received"), (0.1, "delivered")))
    answer = await_delivery(log, log.position())
    assert (answer.problem, answer.note) == ("", "")
    assert log.seconds < WAIT_S


@pytest.mark.parametrize("states", [((0, "pending"),), ((0, "received"), (0.1, "pending"))])
def test_a_position_that_is_not_received_is_a_problem(states: tuple[tuple[float, str], ...]) -> None:
    """Also one whose connector was replaced by another process, which has not received it."""
    log = Log(states)
    answer = await_delivery(log, log.position())
    assert answer.problem == "the connector has not delivered position 0/10 within 0.4 s"


def test_a_database_without_one_slot_is_a_problem() -> None:
    """The setting that names one is in the text."""
    log = Log(((0, None),))
    answer = await_delivery(log, log.position())
    assert "set sources.shop.slot" in answer.problem
    assert log.seconds < WAIT_S


def test_where_nothing_shows_the_time_is_granted() -> None:
    """The answer says so."""
    log = Log(((0, None),), is_shown=False)
    answer = await_delivery(log, log.position())
    assert (answer.problem, log.seconds >= WAIT_S) == ("", True)
    assert answer.note == "judged 0.4 s after the changes: PostgreSQL does not show deliveries"
