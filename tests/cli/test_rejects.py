"""How rejects look on the command line."""

from datetime import UTC, datetime

import attrs
import pytest

from ingest.cli.rejects import print_list, print_replayed, print_whole
from ingest.operations.rejects.rejects import Reject, Rejects
from ingest.operations.rejects.replay import Replayed
from ingest.order.batch_counts import BatchCounts

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LONG = "value: not readable with its own schema, id 7: " + "x" * 300
ONE = Reject(
    "srv.dbo.t", 0, 4711, NOON, 7, "unreadable", LONG,
    "run-1", NOON, None, None, b"\0\0\0\0\7", b"\0abc" * 5, (("trace", b"\x01"), ("none", None)),
)  # fmt: skip
SOME = Rejects(
    "t", "lake/_rejects/t", 3, 1, {"unreadable": 2, "null-key": 1}, (ONE, attrs.evolve(ONE, offset=1))
)


def test_a_list_counts_by_reason_and_fits_the_width(capsys: pytest.CaptureFixture[str]) -> None:
    """Long errors are cut; records beyond the limit are counted."""
    print_list(SOME)
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    assert "t: 3 open, 1 resolved, in lake/_rejects/t" in text
    assert "unreadable     2" in text
    assert "  4711  2026-03-01 12:00:00  7" in text
    assert text.count("…") == 2
    assert text.rstrip().endswith("and 1 more: --limit")


def test_no_rejects_are_said_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Not as an empty table."""
    print_list(Rejects("t", "lake/_rejects/t", resolved=2))
    assert capsys.readouterr().out == "t has no open rejects, 2 resolved\n"


def test_one_reject_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes as hexadecimal digits and text, headers too."""
    print_whole(ONE)
    text = capsys.readouterr().out
    assert "message: srv.dbo.t-0-4711" in text
    assert "x" * 300 in text
    assert "header trace: 1 bytes\n  000000  01 " in text
    assert "header none: null" in text
    assert "  000010  00 61 62 63                                      .abc" in text


def test_a_replay_reports_the_rejects_that_stay_open(capsys: pytest.CaptureFixture[str]) -> None:
    """And how to see why."""
    print_replayed(Replayed("t", BatchCounts(upserted=2, rejected=1)))
    text = " ".join(capsys.readouterr().out.split())
    assert "t: 2 of 3 rejects resolved (2 upserts, 0 deletes" in text
    assert "1 stay open: `ingest rejects list t` shows why" in text
