"""Signals: the first one ends a run in order, and is announced; a second one ends it at once."""

import os
import signal

import pytest

from ingest.cli.output import announce_stop
from ingest.stop import Stop, Terminated, listening


def test_a_first_signal_is_announced_and_a_second_one_raises() -> None:
    """The handler calls `on_signal` once."""
    stop = Stop()
    names: list[str] = []
    stop.on_signal = names.append

    with listening(stop):
        os.kill(os.getpid(), signal.SIGINT)
        assert (stop.signal, names) == ("SIGINT", ["SIGINT"])
        with pytest.raises(Terminated):
            os.kill(os.getpid(), signal.SIGTERM)
    assert names == ["SIGINT"]


@pytest.mark.parametrize(("name", "again"), [("SIGINT", "Ctrl-C again"), ("SIGTERM", "a second signal")])
def test_the_announcement_says_what_this_signal_and_the_next_do(
    capfd: pytest.CaptureFixture[str], name: str, again: str
) -> None:
    """One line, with the grace time of the settings."""
    announce_stop(name, 20.0)
    assert capfd.readouterr().err == (
        f"ingest: note: {name}: tables in their commit finish it, within 20 s; all others stop at their last "
        f"commit; {again} ends at once\n"
    )
