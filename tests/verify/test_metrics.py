"""The metrics of a verification, read by an independent parser."""

from datetime import UTC, datetime
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families as read

from ingest.cli.metrics import verification_target
from ingest.errors import SourceUnreachableError
from ingest.verify.metrics import publish
from ingest.verify.result import RowDifference, TableVerification, Verification

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
DIFFERENT = TableVerification(
    "orders", source_rows=100, table_rows=99, counts={"missing": 1, "different": 2}, in_flight=3,
    columns={"price": 2}, uncompared={"geo": "no form"}, seconds=1.5,
    rows=(RowDifference({"id": "secret-key"}, "different", ("price",), {"price": "1"}, {"price": "2"}),),
)  # fmt: skip
GONE = TableVerification("lost", error=SourceUnreachableError("s", "gone"))
VERIFICATION = Verification(NOW, NOW, (DIFFERENT, GONE))


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Return values by name and labels."""
    return {
        (sample.name, sample.labels["table"], *(v for k, v in sample.labels.items() if k != "table")): (
            sample.value
        )
        for family in read(text)
        for sample in family.samples
    }


def test_a_folder_gets_a_file_for_each_table(tmp_path: Path) -> None:
    """Beside the files of runs; numbers of a table that could not be compared are absent, not zero."""
    publish(VERIFICATION, str(tmp_path))
    orders = samples((tmp_path / "verify_orders.prom").read_text())
    lost = samples((tmp_path / "verify_lost.prom").read_text())
    assert orders["ingest_verify_outcome", "orders", "different"] == 1
    assert orders["ingest_verify_outcome", "orders", "equal"] == 0
    assert orders["ingest_verify_rows", "orders", "source"] == 100
    assert orders["ingest_verify_differences", "orders", "missing"] == 1
    assert orders["ingest_verify_differences", "orders", "extra"] == 0
    assert orders["ingest_verify_differences", "orders", "in_flight"] == 3
    assert orders["ingest_verify_column_differences", "orders", "price"] == 2
    assert orders["ingest_verify_finished_timestamp_seconds", "orders"] == NOW.timestamp()
    assert lost["ingest_verify_outcome", "lost", "temporary"] == 1
    assert not [name for name, *_ in lost if name.endswith(("rows", "differences"))]


def test_a_file_has_all_tables_and_no_key(tmp_path: Path) -> None:
    """Nor a value."""
    publish(VERIFICATION, str(tmp_path / "cdc.prom"))
    text = (tmp_path / "cdc.prom").read_text()
    assert {labels[0] for _, *labels in samples(text)} == {"orders", "lost"}
    assert "secret" not in text


def test_the_file_of_runs_is_not_replaced(tmp_path: Path) -> None:
    """A folder and a gateway have room for both."""
    gateway = "http://h:9091/metrics/job/x"
    assert verification_target("", str(tmp_path / "run.prom")) == ""
    assert verification_target("mine.prom", str(tmp_path / "run.prom")) == "mine.prom"
    assert [verification_target("", target) for target in (str(tmp_path), "new/", gateway, "")] == [
        str(tmp_path), "new/", gateway, "",
    ]  # fmt: skip
