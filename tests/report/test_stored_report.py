"""Reports at Hadoop paths, for drivers whose disk ends with them."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ingest.errors import UsageError
from ingest.report.stored_report import store_report

pytestmark = pytest.mark.spark


def test_a_report_at_a_hadoop_path_replaces_the_last_one(spark: SparkSession, tmp_path: Path) -> None:
    """In one move: no other file stays in its folder, which is made."""
    report = tmp_path / "reports" / "run.json"
    for text in ('{"outcome": "failed"}\n', '{"outcome": "d\u00f6ne"}\n'):
        store_report(spark, f"file://{report}", text)
        assert report.read_text(encoding="utf-8") == text
    assert [path.name for path in report.parent.iterdir() if path.suffix != ".crc"] == ["run.json"]


def test_a_report_that_cannot_be_written_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """A folder of its path is a file."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=f"--report file://{tmp_path}/file/run.json: "):
        store_report(spark, f"file://{tmp_path}/file/run.json", "{}")
