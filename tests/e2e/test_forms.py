"""Flattened rows and CDL's messages become the same tables as Debezium's own events."""

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from ingest.report.outcome import RunReport
from tests.e2e.deployment import Deployment
from tests.e2e.forms import make_cdl, make_flattened
from tests.e2e.forms.cdl import Version
from tests.e2e.forms.flattened import Mode
from tests.e2e.recordings import POSTGRES, POSTGRES_JSON, SQLSERVER, SQLSERVER_JSON, Recording
from tests.e2e.referee import Expected, differences, read_expected, read_table
from tests.e2e.referee.kind import PLAIN, Allowed

pytestmark = [pytest.mark.spark, pytest.mark.servers]

Make = Callable[[Recording], Deployment]


@attrs.frozen
class Flattening:
    """A recording to flatten, the form, and the plan of its runs."""

    recording: Recording
    mode: Mode
    tables: tuple[str, ...]
    max_offsets: int | None = None


@pytest.mark.parametrize(
    "case",
    [
        Flattening(POSTGRES, "rewrite-with-tombstone", ("all_types", "docs", "order_lines", "Weird_Table")),
        Flattening(POSTGRES, "tombstone", ("customers", "docs", "nopk"), 150),
        pytest.param(
            Flattening(POSTGRES_JSON, "rewrite-with-tombstone", ("customers", "docs", "widepk")),
            marks=pytest.mark.pairs,
        ),
        pytest.param(
            Flattening(SQLSERVER, "rewrite-with-tombstone", ("all_types", "customers", "widen"), 150),
            marks=pytest.mark.pairs,
        ),
        Flattening(SQLSERVER_JSON, "tombstone", ("orders", "widen")),
    ],
    ids=lambda case: f"{case.recording.name}-{case.mode}",
)
def test_flattened_rows_become_the_sources_tables(
    case: Flattening, tmp_path: Path, make_deployment: Make
) -> None:
    """With deletes as marked rows, or only as tombstones."""
    flat = make_flattened(tmp_path / "flat", case.recording, case.mode, case.tables)
    deployment = make_deployment(flat)
    deployment.load()
    deployment.onboard()

    reports = deployment.run_until_idle(max_offsets=case.max_offsets)

    assert _errors(reports) == []
    assert _wrong(deployment, lambda _, expected: expected) == {}


@pytest.mark.parametrize("version", [pytest.param("1.0", marks=pytest.mark.pairs), "2.0"])
def test_cdls_messages_become_the_sources_tables(
    version: Version, tmp_path: Path, make_deployment: Make
) -> None:
    """In three partitions, with heartbeats in between."""
    tables = ("customers", "docs", "order_lines", "widepk")
    deployment = make_deployment(make_cdl(tmp_path / "cdl", POSTGRES_JSON, version, tables))
    deployment.load()
    topics = deployment.session.onboard([f"{deployment.prefix}.*"], name="{table}", format="cdl-json")
    assert {
        entry.topic.rpartition(".")[2]: entry.reason for entry in topics if entry.state == "left out"
    } == {"cdc_heartbeat": "the connector's heartbeats, not changes of a table"}

    reports = deployment.run_until_idle(max_offsets=150 if version == "1.0" else None)

    assert _errors(reports) == []
    assert _wrong(deployment, _as_sent) == {}
    beats = sum(entry.counts.ignored.get("heartbeat", 0) for report in reports for entry in report.tables)
    assert beats > 0


def _errors(reports: list[RunReport]) -> list[str]:
    return [
        f"{outcome.table}: {outcome.error}"
        for report in reports
        for outcome in report.tables
        if outcome.error
    ]


def _wrong(deployment: Deployment, expect: Callable[[str, Expected], Expected]) -> dict[str, list[str]]:
    by_table = {}
    for table in deployment.recording.tables:
        expected = expect(table, read_expected(deployment.recording, table))
        rows = read_table(deployment.frame(table), expected.keys, expected.kinds)
        by_table[table] = differences(expected.rows, rows)
    return {table: wrong for table, wrong in by_table.items() if wrong}


_DECIMALS = {
    "customers": ("balance", "loyalty"),
    "order_lines": ("price",),
}
_WEB = Allowed("no event says so: only an incremental snapshot read it", lambda value: value in {None, "web"})


def _as_sent(table: str, expected: Expected) -> Expected:
    """Expect the values that CDL sends: a decimal as text, and null for a default added to old rows."""
    texts = dict.fromkeys(_DECIMALS.get(table, ()), PLAIN)
    rows = {
        key: {**row, "channel": _WEB} if row.get("channel") == "web" else row
        for key, row in expected.rows.items()
    }
    return attrs.evolve(expected, rows=rows, kinds={**expected.kinds, **texts})
