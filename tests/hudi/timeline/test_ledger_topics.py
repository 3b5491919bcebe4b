"""The ledger of a table of several topics: every commit has the offsets of all of them."""

import attrs
import pytest

from ingest.errors import LakeError
from ingest.hudi.timeline.ledger import LedgerEntry, commit_metadata, read_entry
from ingest.names import Instant, Partition, SchemaId, Topic, Truncate

A, B = Topic("a"), Topic("b")
P0, P1 = Partition(0), Partition(1)
FIRST = LedgerEntry("r1", A, {P0: 5, P1: 7}, {P0: 6, P1: 7}, topic_id="x", max_source_ms=3)
EVERY_FIELD = LedgerEntry(
    "r1", A, {Partition(10): 1, Partition(2): 7}, {P0: 6}, (SchemaId(3),), {"read": 2, "ignored.x": 1},
    kind="load", note="ä", max_source_ms=9, known_ids=(SchemaId(3), SchemaId(4)), topic_id="id",
    table_file={"target.type": "cow"}, masks={"c": "hash (salt 1)"}, start_offsets={P0: 0},
    checked_options="digest", truncates=(Truncate("p", P1, 4),), tombstone_ends=True,
    has_empty_key_parts=True, instant=Instant("1"), committed_ms=11, started_ms=12,
)  # fmt: skip
METADATA = {
    "format": "1", "kind": "load", "run_id": "r1", "topic": "a", "topic_id": "id",
    "next_offsets": '{"2": 7, "10": 1}', "high_offsets": '{"0": 6}', "start_offsets": '{"0": 0}',
    "schema_ids": "[3]", "counters": '{"ignored.x": 1, "read": 2}', "note": "ä", "checked_options": "digest",
    "max_source_ms": "9", "known_ids": "[3, 4]", "table_file": '{"target.type": "cow"}',
    "masks": '{"c": "hash (salt 1)"}', "truncates": '[["p", 1, 4, null]]', "tombstone_ends": "yes",
    "has_empty_key_parts": "yes", "committed_ms": "11", "started_ms": "12",
}  # fmt: skip


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


def test_the_metadata_of_earlier_commits_is_read_and_written_alike() -> None:
    """Every field has the text that earlier versions gave it; the first version had few fields."""
    metadata = {f"ingest.{name}": text for name, text in METADATA.items()}
    assert commit_metadata(EVERY_FIELD) == metadata
    assert read_entry("path", Instant("1"), metadata) == EVERY_FIELD
    of_topics = commit_metadata(attrs.evolve(EVERY_FIELD, other_topics={B: EVERY_FIELD.own}))
    assert of_topics["ingest.other_topics"] == (
        '{"b": {"high_offsets": {"0": 6}, "max_source_ms": 9, "next_offsets": {"2": 7, "10": 1}, '
        '"topic_id": "id", '
        '"truncates": [{"offset": 4, "partition": 1, "position": "p", "source_ms": null}]}}'
    )
    first = "format kind run_id topic next_offsets high_offsets schema_ids counters note"
    entry = read_entry("path", Instant("1"), {f"ingest.{name}": METADATA[name] for name in first.split()})
    assert entry == LedgerEntry(
        "r1",
        A,
        EVERY_FIELD.next_offsets,
        {P0: 6},
        (SchemaId(3),),
        EVERY_FIELD.counters,
        "load",
        "ä",
        instant=Instant("1"),
    )
    assert read_entry("path", Instant("1"), {**metadata, "ingest.kind": "later"}).kind == "run"
