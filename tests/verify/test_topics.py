"""The answer of a table of several topics: sums, and the worst verdict of its topics."""

from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

from ingest.cli.verify import show
from ingest.errors import IngestError, SourceRefusedError, SourceUnreachableError, UsageError
from ingest.names import Topic
from ingest.verify.notices import as_report
from ingest.verify.result import RowDifference, TableVerification, Verification
from ingest.verify.topics import combined

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BLANK = TableVerification("orders")
EQUAL = TableVerification(
    "orders", source="one: inv.orders", source_rows=10, table_rows=10, compared=("a", "b"), topic="s1.orders"
)
DIFFERENT = attrs.evolve(
    EQUAL, source="two: inv.orders", table_rows=9, counts={"missing": 1, "different": 1}, columns={"a": 1},
    compared=("a",), uncompared={"b": "no schema of the topic has it"}, note="a note", topic="s2.orders",
    rows=(RowDifference({"id": "7"}, "different", ("a",)),),
)  # fmt: skip
GONE, REFUSED, MISUSED = (
    TableVerification("orders", topic="s3.orders", error=error)
    for error in (SourceUnreachableError("s", "gone"), SourceRefusedError("s", "no"), UsageError("no"))
)


@pytest.mark.parametrize(
    ("topics", "outcome", "code", "error"),
    [
        ((EQUAL, EQUAL), "equal", 0, None),
        ((EQUAL, attrs.evolve(EQUAL, in_flight=1)), "in-flight", 75, None),
        ((EQUAL, GONE), "temporary", 75, GONE.error),
        ((DIFFERENT, GONE), "different", 1, GONE.error),
        ((GONE, REFUSED), "failed", 1, REFUSED.error),
        ((REFUSED, DIFFERENT, MISUSED), "failed", 1, REFUSED.error),
    ],
)
def test_the_worst_topic_decides(
    topics: tuple[TableVerification, ...], outcome: str, code: int, error: IngestError | None
) -> None:
    """As among tables: 75 only if another try may help."""
    answer = combined(BLANK, topics, "")
    assert (answer.outcome, answer.exit_code, answer.error) == (outcome, code, error)
    assert Verification(NOW, NOW, (answer,)).exit_code == code


def test_equal_sums_of_different_topics_are_not_equal() -> None:
    """A row that one topic lacks and one that another has too many."""
    numbers = TableVerification("orders", mode="counts", source_rows=5, table_rows=5)
    topics = (attrs.evolve(numbers, table_rows=4), attrs.evolve(numbers, source_rows=4))
    answer = combined(attrs.evolve(BLANK, mode="counts"), topics, "")
    assert (answer.source_rows, answer.table_rows, answer.outcome) == (9, 9, "different")


def test_the_table_has_sums_and_each_topic_its_own_part() -> None:
    """A row is named by its whole key; a column that one topic lacks is named with it."""
    report = combined(BLANK, (EQUAL, DIFFERENT), "").to_json()
    counts = {"missing": 1, "extra": 0, "doubled": 0, "different": 1}
    assert report["rows"] == {"source": 20, "table": 19, "equal": 18, **counts, "in_flight": 0}
    assert report["keys"][0]["key"] == {"id": "7", "_cdc_source": "s2.orders"}
    assert (report["compared"], report["columns"]) == (["a"], {"a": 1})
    assert report["uncompared"] == {"b": "s2.orders: no schema of the topic has it"}
    assert report["source"] == "one: inv.orders; two: inv.orders"
    assert report["note"] == "s2.orders: a note"
    parts: list[dict[str, Any]] = report["topics"]
    assert [(part["topic"], part["outcome"]) for part in parts] == [
        ("s1.orders", "equal"), ("s2.orders", "different"),
    ]  # fmt: skip
    assert "topics" not in EQUAL.to_json()
    assert "topic" not in BLANK.to_json()


def test_each_topic_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The numbers of the topics that could be compared are shown."""
    show(Verification(NOW, NOW, (combined(BLANK, (EQUAL, DIFFERENT, GONE), ""),)))
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("orders")]
    assert [line[:4] for line in lines[:4]] == [
        ["orders", "different", "20", "19"],
        ["orders", "from", "s1.orders", "equal"],
        ["orders", "from", "s2.orders", "different"],
        ["orders", "from", "s3.orders", "temporary"],
    ]


def test_a_difference_is_reported_though_another_source_is_gone() -> None:
    """The webhook gets the rows that differ."""
    answer = combined(BLANK, (DIFFERENT, GONE), "")
    (outcome,) = as_report(Verification(NOW, NOW, (answer,)), {"orders": Topic("s1.orders,s2.orders")}).tables
    assert "1 missing, 1 different" in str(outcome.error)
