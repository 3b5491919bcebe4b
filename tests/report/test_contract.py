"""The run report's JSON: written and read by one declaration."""

import json
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ingest.json_values import structure, unstructure
from ingest.moments import to_iso, to_millis, to_moment
from ingest.report.contract import (
    Applied,
    Offsets,
    Report,
    SchemaChangeReport,
    StepSeconds,
    TableMetrics,
    TableReport,
)

START = datetime(2026, 11, 22, 1, 2, 3, tzinfo=UTC)
TABLE = TableReport(
    "orders",
    "committed",
    "20261122010203000",
    "srv.orders",
    Offsets({"0": 0}, {"0": 5}),
    5,
    Applied(3, 1),
    1,
    {},
    0,
    (1, 4),
    (SchemaChangeReport("column-added", "phone", "string"),),
    START + timedelta(milliseconds=4),
    1.5,
    step_seconds=StepSeconds(plan=0.5, read=1),
    metrics=TableMetrics(10, lag_offsets=0),
)
REPORT = Report("r1", START, START + timedelta(seconds=2), "done", (TABLE,), StepSeconds(start=0.5, read=1))


def test_a_report_has_the_contract_s_keys_and_is_read_back() -> None:
    """`from` and `to`, moments with `Z`; empty types and a count of no lost values are left out."""
    content = unstructure(REPORT)

    table = content["tables"][0]
    assert table["offsets"] == {"from": {"0": 0}, "to": {"0": 5}}
    assert table["schema_changes"] == [{"kind": "column-added", "column": "phone", "type": "string"}]
    assert table["max_source_ts"] == "2026-11-22T01:02:03.004Z"
    assert "rows_with_lost_values" not in table
    assert structure(json.loads(json.dumps(content)), Report) == REPORT


def test_a_report_of_another_version_is_read() -> None:
    """Unknown keys are ignored; metrics may be missing."""
    content = unstructure(REPORT)
    content["tables"][0] |= {"new": 1}
    del content["tables"][0]["metrics"], content["tables"][0]["step_seconds"], content["step_seconds"]

    assert structure(content, Report).tables[0].metrics == TableMetrics()


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_milliseconds_and_moments_convert_without_loss(millis: int) -> None:
    """From year 1 to year 9999, also before 1970."""
    assert to_millis(to_moment(millis)) == millis
    assert datetime.fromisoformat(to_iso(to_moment(millis))) == to_moment(millis)
