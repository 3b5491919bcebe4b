"""The last verification of a table, stored and read again."""

from datetime import UTC, datetime
from pathlib import Path

import attrs
import pytest

from ingest.errors import SourceUnreachableError, UsageError
from ingest.operations.status.last_verification import LastVerification, read_last, write_last
from ingest.verify.memory import remember
from ingest.verify.result import RowDifference, TableVerification

LAST = LastVerification(
    finished_at=datetime(2026, 11, 22, 12, 0, tzinfo=UTC), outcome="different", mode="checksums",
    source="shop: shop.public.t", position="0/1A", scope=("a sample of 1 %",), source_rows=10, table_rows=9,
    counts={"missing": 1, "different": 2, "extra": 5, "in_flight": 0}, columns={"price": 2}, compared=4,
    uncompared={"geo": "no form"}, seconds=1.5, note="a note",
)  # fmt: skip


def test_a_stored_verification_reads_the_same(tmp_path: Path) -> None:
    """Every field; and none for a table that was never verified."""
    write_last(tmp_path, "t", LAST)
    assert read_last(tmp_path, "t") == LAST
    assert read_last(tmp_path, "other") is None
    assert LAST.equal_rows == 7


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"finished_at": "x"}'])
def test_a_damaged_file_is_named(content: str, tmp_path: Path) -> None:
    """With the command that writes it again."""
    write_last(tmp_path, "t", LAST)
    (tmp_path / "verify" / "t.json").write_text(content)
    with pytest.raises(UsageError, match="ingest verify t"):
        read_last(tmp_path, "t")


def test_neither_a_key_nor_a_value_is_stored(tmp_path: Path) -> None:
    """An answer with an error leaves the numbers of the last one in place."""
    row = RowDifference({"id": "secret"}, "different", ("price",), {"price": "secret"}, {"price": "secret"})
    answer = TableVerification("t", rows=(row,), counts={"different": 1}, columns={"price": 1}, in_flight=2)
    remember(tmp_path, answer, ("a sample of 1 %",))
    remember(tmp_path, TableVerification("t", error=SourceUnreachableError("s", "gone")), ())
    stored = read_last(tmp_path, "t")
    assert stored is not None
    assert (stored.outcome, stored.counts, stored.scope) == (
        "different", {"different": 1, "in_flight": 2}, ("a sample of 1 %",),
    )  # fmt: skip
    assert (stored.error, stored.failed_at is None) == (str(SourceUnreachableError("s", "gone")), False)
    assert "secret" not in (tmp_path / "verify" / "t.json").read_text()


@pytest.mark.parametrize(
    ("outcome", "scope", "mode", "remains"),
    [
        ("equal", (), "checksums", "equal"),
        ("equal", LAST.scope, "checksums", "equal"),
        ("different", ("others",), "checksums", "different"),
        ("equal", ("a sample of 2 %",), "checksums", "different"),
        ("in-flight", (), "checksums", "different"),
        ("equal", (), "counts", "different"),
    ],
)
def test_a_proven_difference_stays_until_equality_is_proven(
    outcome: str, scope: tuple[str, ...], mode: str, remains: str
) -> None:
    """By a comparison of the same rows, or of all, that compares values."""
    newer = attrs.evolve(LAST, outcome=outcome, scope=scope, mode=mode)
    assert (newer if LAST.is_cleared_by(newer) else LAST).outcome == remains
    assert attrs.evolve(LAST, outcome="equal").is_cleared_by(newer)
