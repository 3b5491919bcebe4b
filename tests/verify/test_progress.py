"""The chunks of an interrupted comparison: used once, by the same comparison, while they are fresh."""

import json
import time
from pathlib import Path

import pytest

from ingest.names import Partition
from ingest.verify.chunks import Ranges
from ingest.verify.progress import MAX_AGE_S, Progress, key_of

KEY = key_of("lake/t", "jdbc:x", "checksums", "select 1")
RANGES = Ranges((10, 20))
OFFSETS = {Partition(0): 7, Partition(1): 3}


def interrupt(path: Path) -> None:
    """Begin a comparison, finish two of three chunks, and leave."""
    first = Progress(path, KEY, resumes=False)
    assert first.begin("0/1", OFFSETS) == "0/1"
    assert first.sums(RANGES) == {}
    first.add(0, (5, 2**70))
    first.add(2, (1, -4))


def test_a_resumed_comparison_has_the_chunks_and_the_position_of_the_first(tmp_path: Path) -> None:
    """Its bounds too: other chunks would not fit."""
    interrupt(tmp_path / "t")
    again = Progress(tmp_path / "t", KEY, resumes=True)
    assert again.begin("0/9", {**OFFSETS, Partition(0): 9, Partition(2): 1}) == "0/1"
    assert again.ranges() == RANGES
    assert again.sums(RANGES) == {0: (5, 2**70), 2: (1, -4)}
    assert again.note.startswith("resumed: 2 of 3 chunks are of ")
    again.add(1, (0, 0))
    again.end()
    assert not (tmp_path / "t").exists()


def test_without_the_option_a_comparison_begins_again(tmp_path: Path) -> None:
    """And replaces the chunks."""
    interrupt(tmp_path / "t")
    fresh = Progress(tmp_path / "t", KEY, resumes=False)
    assert (fresh.begin("0/9", OFFSETS), fresh.ranges(), fresh.note) == ("0/9", None, "")
    assert fresh.sums(Ranges((15,))) == {}
    fresh.add(0, (1, 1))
    again = Progress(tmp_path / "t", KEY, resumes=True)
    again.begin("0/9", OFFSETS)
    assert again.sums(Ranges((15,))) == {0: (1, 1)}


def test_a_line_that_was_cut_off_is_a_chunk_that_is_not_finished(tmp_path: Path) -> None:
    """The process was killed while it wrote."""
    interrupt(tmp_path / "t")
    text = (tmp_path / "t").read_text()
    (tmp_path / "t").write_text(text[:-4])
    again = Progress(tmp_path / "t", KEY, resumes=True)
    again.begin("0/9", OFFSETS)
    assert again.sums(RANGES) == {0: (5, 2**70)}


@pytest.mark.parametrize(
    ("key", "age_s", "offsets", "reason"),
    [
        ("other", 0, OFFSETS, "another source, mode, condition, or other columns"),
        (KEY, MAX_AGE_S + 1, OFFSETS, "more than 24 hours ago"),
        (KEY, 0, {Partition(0): 7, Partition(1): 2}, "moved back"),
        (KEY, 0, {}, "moved back"),
    ],
)
def test_stale_chunks_are_not_used(
    key: str, age_s: float, offsets: dict[Partition, int], reason: str, tmp_path: Path
) -> None:
    """The answer says why; the comparison begins again."""
    path = tmp_path / "t"
    interrupt(path)
    head, *lines = path.read_text().splitlines()
    head = json.dumps({**json.loads(head), "started_s": time.time() - age_s})
    path.write_text("\n".join((head, *lines)))
    progress = Progress(path, key, resumes=True)
    assert progress.begin("0/9", offsets) == "0/9"
    assert (progress.ranges(), progress.sums(RANGES)) == (None, {})
    assert reason in progress.note


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"sums": 1}', '{"sums": {"a": [1, 2]}}'])
def test_a_damaged_file_is_not_used(content: str | None, tmp_path: Path) -> None:
    """Nor is one that does not exist."""
    if content is not None:
        (tmp_path / "t").write_text(content)
    progress = Progress(tmp_path / "t", KEY, resumes=True)
    assert progress.begin(None, OFFSETS) is None
    assert progress.note == "not resumed: an interrupted comparison was not found"


def test_a_folder_that_cannot_be_written_costs_the_resumption_only(tmp_path: Path) -> None:
    """The comparison continues."""
    (tmp_path / "file").touch()
    progress = Progress(tmp_path / "file" / "t", KEY, resumes=False)
    progress.begin(None, OFFSETS)
    progress.sums(RANGES)
    progress.add(0, (1, 1))
    progress.end()
