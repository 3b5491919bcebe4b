"""The verdict of an answer, and its exit code."""

from datetime import UTC, datetime

import pytest

from ingest.errors import SourceRefusedError, SourceUnreachableError, UsageError
from ingest.verify.result import Difference, TableVerification, Verification

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("answer", "outcome", "code"),
    [
        (TableVerification("t"), "equal", 0),
        (TableVerification("t", counts={"missing": 1}), "different", 1),
        (TableVerification("t", counts={"missing": 1}, in_flight=2), "different", 1),
        (TableVerification("t", in_flight=2), "in-flight", 75),
        (TableVerification("t", error=SourceUnreachableError("s", "gone")), "temporary", 75),
        (TableVerification("t", error=SourceRefusedError("s", "no")), "failed", 1),
        (TableVerification("t", error=UsageError("no")), "failed", 2),
        (TableVerification("t", mode="counts", source_rows=2, table_rows=1), "different", 1),
        (TableVerification("t", mode="counts", source_rows=2, table_rows=1, in_flight=1), "in-flight", 75),
    ],
)
def test_the_verdict_decides_the_exit_code(answer: TableVerification, outcome: str, code: int) -> None:
    """Rows in flight accuse nothing, and rows that differ are not outweighed by them."""
    assert (answer.outcome, answer.exit_code) == (outcome, code)
    assert answer.to_json()["outcome"] == outcome


def test_equal_rows_are_those_that_are_neither_wrong_nor_in_flight() -> None:
    """Extra rows are not the source's; numbers of rows say nothing of single rows."""
    counts: dict[Difference, int] = {"missing": 1, "extra": 5, "doubled": 1, "different": 2}
    answer = TableVerification("t", source_rows=10, table_rows=12, counts=counts, in_flight=1)
    assert (answer.equal_rows, answer.to_json()["rows"]["equal"]) == (5, 5)
    assert TableVerification("t", mode="counts", source_rows=10, table_rows=10).equal_rows is None


def test_a_lasting_problem_counts_more_than_a_temporary_one() -> None:
    """As in a run: 75 only if another try may help."""
    temporary = TableVerification("a", in_flight=1)
    different = TableVerification("b", counts={"extra": 1})
    assert Verification(NOW, NOW, (temporary, TableVerification("c"))).exit_code == 75
    assert Verification(NOW, NOW, (temporary, different)).exit_code == 1
    assert Verification(NOW, NOW, ()).exit_code == 0
