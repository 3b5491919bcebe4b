"""IngestSparkSubmitOperator: the provider's own operator and hook, over a program in spark-submit's place."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import Asset

from ingest.schedule import IngestSparkSubmitOperator
from ingest.schedule.states import AirflowException, AirflowFailException
from tests.schedule.reports import report, script, table

Make = Callable[..., str]
TEMPORARY = report(table("t", "temporary", "Kafka b:1: no answer"))
FAILED = report(table("t", "failed", "why"))


@pytest.fixture
def submit(program: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Return an operator with a fake spark-submit."""
    extra = {"spark-binary": "spark-submit", "deploy-mode": "client"}
    connection = {"conn_type": "spark", "host": "local[1]", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_INGEST", json.dumps(connection))

    def make(*behaviour: Any) -> IngestSparkSubmitOperator:
        folder = Path(program(script(*behaviour), "spark-submit")).parent
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return IngestSparkSubmitOperator(
            task_id="run", conn_id="spark_ingest", application="/env/ingest/__main__.py", tables="t",
            settings="/s.toml", report=str(tmp_path / "r.json"),
        )  # fmt: skip

    return make


def test_a_submitted_run_returns_its_report(
    submit: Callable[..., Any], context: dict[str, Any], tmp_path: Path
) -> None:
    """Arguments, XCom and the asset's event equal IngestOperator's."""
    written = report(table("t"))
    task = submit(0, written)

    assert task.execute(context) == written
    assert context["ti"].pushed == {"report": written}
    assert task.outlets == [Asset(uri="hudi://lake/t")]
    assert len(context["outlet_events"]) == 1
    argv = json.loads((tmp_path / "bin" / "called.json").read_text())["argv"]
    run = ["run", "t", "--settings", "/s.toml", "--report", str(tmp_path / "r.json")]
    assert argv[argv.index("/env/ingest/__main__.py") :] == ["/env/ingest/__main__.py", *run]
    assert not (tmp_path / "r.json").exists()


@pytest.mark.parametrize(
    ("behaviour", "error", "words"),
    [
        ((75, TEMPORARY), AirflowException, "Kafka b:1: no answer"),
        ((1, TEMPORARY), AirflowException, "Kafka b:1: no answer"),  # a cluster manager's exit code
        ((1, FAILED), AirflowFailException, "why"),
        ((0, FAILED), AirflowFailException, "why"),
        ((75, None, "ingest: no broker\n"), AirflowException, "exit code 75"),
        ((2, None, "ingest: bad settings\n"), AirflowFailException, "exit code 2"),
        ((0, None), AirflowFailException, "wrote no run report"),
    ],
)
def test_the_report_decides_then_the_exit_code(
    submit: Callable[..., Any], context: dict[str, Any], behaviour: tuple[Any, ...], error: type, words: str
) -> None:
    """In cluster mode spark-submit's exit code is not the driver's."""
    with pytest.raises(AirflowException, match=words) as raised:
        submit(*behaviour).execute(context)

    assert type(raised.value) is error
    assert len(context["outlet_events"]) == 0


def test_without_the_provider_the_import_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """IngestOperator does not need the provider."""
    import sys  # noqa: PLC0415  only here

    from ingest.errors import UsageError  # noqa: PLC0415  same

    monkeypatch.delitem(sys.modules, "ingest.schedule.submit")
    monkeypatch.setitem(sys.modules, "airflow.providers.apache.spark.operators.spark_submit", None)

    with pytest.raises(UsageError, match=r"needs the Spark provider.*hudi-cdc-ingest\[airflow-spark\]"):
        __import__("ingest.schedule.submit")
