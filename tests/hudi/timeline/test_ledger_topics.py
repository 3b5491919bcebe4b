"""The ledger of a table of several topics: every commit has the offsets of all of them."""

import attrs
import pytest

from ingest.errors import LakeError
from ingest.hudi.timeline.ledger import LedgerEntry, commit_metadata, read_entry
from ingest.names import Instant, Partition, Topic

A, B = Topic("a"), Topic("b")
P0, P1 = Partition(0), Partition(1)
FIRST = LedgerEntry("r1", A, {P0: 5, P1: 7}, {P0: 6, P1: 7}, topic_id="x", max_source_ms=3)


def second() -> LedgerEntry:
    """Return the entry of a commit of the second topic."""
    return attrs.evolve(FIRST.seen_by(B), run_id="r2", next_offsets={P0: 2}, high_offsets={P0: 2})


def test_a_new_topic_has_no_offsets() -> None:
    """It begins where it begins; the offsets of the others stay."""
    view = FIRST.seen_by(B)
    assert (view.topic, view.next_offsets, view.high_offsets, view.topic_id) == (B, {}, {}, "")
    assert view.seen_by(A).own == FIRST.own


def test_an_entry_survives_the_commit() -> None:
    """Written and read again it is equal, with all topics."""
    written = commit_metadata(second())
    entry = read_entry("path", Instant("1"), written)
    assert commit_metadata(entry) == written
    assert entry.topics == (A, B)
    assert entry.seen_by(A).own == FIRST.own
    assert entry.seen_by(A).seen_by(B).own == entry.own


def test_one_topic_keeps_the_old_format() -> None:
    """Older versions read it; they refuse one of several topics, which they would continue wrongly."""
    assert commit_metadata(FIRST)["ingest.format"] == "1"
    assert "ingest.other_topics" not in commit_metadata(FIRST)
    written = commit_metadata(second())
    assert written["ingest.format"] == "2"
    with pytest.raises(LakeError, match="its ledger has format '3'"):
        read_entry("path", Instant("1"), {**written, "ingest.format": "3"})
