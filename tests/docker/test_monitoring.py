"""Alert rules and dashboard: each metric and label in them is one that a run or `ingest status` writes."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from ingest.names import Topic
from ingest.operations.status.connector import Connector
from ingest.operations.status.health import Health
from ingest.operations.status.metrics import publish as publish_status
from ingest.operations.status.status import TableStatus
from ingest.report.openmetrics import publish
from tests.report.test_openmetrics import REPORT

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "docker" / "monitoring"
ALERTS: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((MONITORING / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
DASHBOARD: dict[str, Any] = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
PROMTOOL = shutil.which("promtool")
_METRIC = re.compile(r"\b(ingest_\w+)(?:\{([^}]*)\})?")
_LABEL = re.compile(r'(\w+)=~?"([^"]*)"')


def queries() -> Iterator[tuple[str, str]]:
    """Yield each query with its name."""
    for rule in ALERTS:
        yield rule["alert"], rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield f"{panel['title']} {target['refId']}", target["expr"]


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, set[str]]]:
    """Return the metrics of a run and of the status with their labels and values."""
    folder = tmp_path_factory.mktemp("metrics")
    publish(REPORT, str(folder / "m.prom"))
    connector = Connector("shop", datetime.now(UTC), has_heartbeats=True, limit_s=1.0)
    status = TableStatus("orders", Topic("shop.orders"), "/lake/orders", connector=connector)
    publish_status([(status, Health("silent"))], str(folder / "s.prom"))
    result: dict[str, dict[str, set[str]]] = {}
    text = "".join((folder / name).read_text(encoding="utf-8") for name in ("m.prom", "s.prom"))
    for family in text_string_to_metric_families(text.replace("# EOF\n", "") + "# EOF\n"):
        labels = result.setdefault(family.name, {})
        for sample in family.samples:
            for name, value in sample.labels.items():
                labels.setdefault(name, set()).add(value)
    return result


@pytest.mark.parametrize(("name", "query"), [pytest.param(*query, id=query[0]) for query in queries()])
def test_a_query_names_metrics_and_labels_that_runs_write(
    name: str, query: str, metrics: dict[str, dict[str, set[str]]]
) -> None:
    """A misspelled metric or outcome would make an alert that never fires."""
    used = _METRIC.findall(query)
    assert used, name
    for metric, selector in used:
        assert metric in metrics
        for label, value in _LABEL.findall(selector):
            assert label in metrics[metric]
            assert value == "$table" or set(value.split("|")) <= metrics[metric][label]


def test_every_metric_is_on_the_dashboard_or_in_an_alert(metrics: dict[str, dict[str, set[str]]]) -> None:
    """Except the outcome of a run, which the outcomes of its tables imply, durations by step, and details."""
    used = {metric for _, query in queries() for metric, _ in _METRIC.findall(query)}
    unused = {metric for metric in set(metrics) - used if "_step_" not in metric}
    assert unused == {
        "ingest_run_outcome",
        "ingest_status_connector_silence_seconds",
        "ingest_status_timestamp_seconds",
    }


def test_every_alert_is_in_the_runbook() -> None:
    """The annotation names the page and the heading."""
    page = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
    headings = {title.lower() for title in re.findall(r"^### `?(\w+)`?$", page, re.MULTILINE)}
    for rule in ALERTS:
        file, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert (file, anchor) == ("docs/runbook.md", rule["alert"].lower())
        assert anchor in headings


def test_panels_do_not_overlap() -> None:
    """Each cell of the grid, 24 wide, belongs to at most one panel."""
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian: prometheus)")
@pytest.mark.parametrize(
    "arguments", [("check", "rules", "alerts.yaml"), ("test", "rules", "alerts_test.yaml")]
)
def test_prometheus_accepts_the_rules(arguments: tuple[str, ...]) -> None:
    """Syntax, and the cases of alerts_test.yaml: each alert fires for its case only."""
    done = subprocess.run(
        [str(PROMTOOL), *arguments], cwd=MONITORING, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian: prometheus)")
def test_prometheus_parses_every_query_of_the_dashboard(tmp_path: Path) -> None:
    """As recording rules, with a table in place of the variable."""
    rules = [
        {"record": f"panel_{number}", "expr": query.replace("$table", "orders")}
        for number, (_, query) in enumerate(queries())
    ]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    done = subprocess.run(
        [str(PROMTOOL), "check", "rules", "rules.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
