"""The example of docs/reference/python.md runs."""

import re
from pathlib import Path

import pytest

from ingest.testing.deployment import Deployment

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
EXAMPLE = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[0]


@pytest.mark.spark
@pytest.mark.servers
def test_the_example_prints_the_outcome_and_the_rows(
    ingest_deployment: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the folder of a deployment with the example's table."""
    orders = ingest_deployment.topic("sqs.testDB.dbo.orders", {"id": "int"})
    ingest_deployment.onboard()
    orders.send(orders.create({"id": 1}), orders.create({"id": 2}))
    monkeypatch.chdir(ingest_deployment.root)
    exec(compile(EXAMPLE, str(PAGE), "exec"), {})  # noqa: S102  the page's own code
    printed = capsys.readouterr().out
    assert "sqs_testDB_dbo_orders committed 2 None" in printed
    assert "2 rows" in printed
