"""The listener: the log of a failed task links to the pages of its tables."""

from collections.abc import Callable
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.listeners.listener import get_listener_manager
from airflow.plugins_manager import integrate_listener_plugins
from airflow.providers_manager import ProvidersManager
from airflow.sdk import BaseOperator

from ingest.schedule import IngestOperator, listener
from ingest.schedule.states import AirflowFailException
from tests.schedule.reports import report, script, table
from tests.schedule.versions import plugin_errors

URL = "https://lake.example.com/ingest/"
FAILED = table("or ders", "failed", "srv.db.orders-0-7: cannot be read.")


@pytest.fixture(autouse=True)
def pages_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """Configure the address as a deployment does."""
    monkeypatch.setenv("AIRFLOW__INGEST__PAGES_URL", URL)


def notify(task: object) -> None:
    """Tell the listener, as Airflow's worker does, that a task failed."""
    listener.on_task_instance_failed(SimpleNamespace(task=task))


def links(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the links in the log."""
    return [
        record.getMessage().rpartition(": ")[2] for record in caplog.records if URL in record.getMessage()
    ]


def test_the_log_links_to_the_tables_that_failed(
    program: Callable[[str], str], context: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Of a task with two tables only the failed one; its name is not plain, so its page has a hash."""
    written = report(table("customers"), FAILED)
    task = IngestOperator(
        task_id="run", executable=program(script(1, written)), tables=["customers", "or ders"]
    )
    with pytest.raises(AirflowFailException):
        task.execute(context)
    caplog.clear()
    notify(task)
    assert links(caplog) == [f"{URL}table/{sha256(b'or ders').hexdigest()[:32]}.html"]


@pytest.mark.parametrize(("tables", "pages"), [(["a", "b"], ["table/a", "table/b"]), ([], ["index"])])
def test_a_task_without_a_report_links_to_all_its_tables(
    tables: list[str], pages: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The job did not get that far; a task of the whole folder links to the page of all tables."""
    notify(IngestOperator(task_id="run", executable="/opt/ingest/bin/ingest", tables=tables))
    assert links(caplog) == [f"{URL}{name}.html" for name in pages]


def test_a_task_of_a_thousand_tables_has_a_short_log(caplog: pytest.LogCaptureFixture) -> None:
    """Twenty links, and the page of all tables."""
    names = [f"t{number}" for number in range(1_000)]
    notify(IngestOperator(task_id="run", executable="/opt/ingest/bin/ingest", tables=names))
    assert len(links(caplog)) == 21
    assert links(caplog)[-1] == f"{URL}index.html"


def test_other_tasks_and_other_deployments_have_no_links(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a state that somebody sets by hand, which has no operator."""
    notify(BaseOperator(task_id="other"))
    notify(None)
    monkeypatch.delenv("AIRFLOW__INGEST__PAGES_URL")
    notify(IngestOperator(task_id="run", executable="/opt/ingest/bin/ingest", tables=["a"]))
    assert links(caplog) == []


def test_airflow_loads_the_listener(caplog: pytest.LogCaptureFixture) -> None:
    """By its entry point, without configuration; a failed task then reaches it."""
    assert plugin_errors() == {}
    manager = get_listener_manager()
    integrate_listener_plugins(manager)
    task = IngestOperator(task_id="run", executable="/opt/ingest/bin/ingest", tables=["a"])
    manager.hook.on_task_instance_failed(
        previous_state=None, task_instance=SimpleNamespace(task=task), error=None
    )
    assert links(caplog) == [f"{URL}table/a.html"]


def test_airflow_knows_the_option() -> None:
    """The provider declares `[ingest] pages_url`, so that `airflow config` shows it."""
    assert "pages_url" in dict(ProvidersManager().provider_configs)["hudi-cdc-ingest"]["ingest"]["options"]
