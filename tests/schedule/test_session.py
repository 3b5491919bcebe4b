"""Several tables share a Spark session, and each has a task with its own state and asset event."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingest.schedule import table_asset
from ingest.schedule.session import SessionOperator, SessionTableOperator
from ingest.schedule.states import AirflowException, AirflowFailException, AirflowSkipException
from tests.schedule.reports import report, script, table

Make = Callable[[str], str]
FAILED = table("b", "failed", "srv.db.b-0-7: cannot be read.")
LOCKED = table("c", "temporary", "table c: locked by another writer: run 77.")
MIXED = report(table("a"), FAILED, LOCKED)
BROKEN = "import sys\nsys.stdout.write('ingest: tables/c.toml:1: colour: unknown key\\n')\nsys.exit(2)\n"


def session(executable: str) -> SessionOperator:
    """Return the task of a session of three tables."""
    return SessionOperator(task_id="session-1", executable=executable, tables=("a", "b", "c"))


def of_table(executable: str, name: str, **options: Any) -> SessionTableOperator:
    """Return the task of a table."""
    return SessionTableOperator(
        task_id=name, executable=executable, tables=name, session="session-1", **options
    )


def test_each_table_has_its_state_and_event(program: Make, context: dict[str, Any]) -> None:
    """One job runs; its failed and waiting tables fail their own tasks, and only those."""
    executable = program(script(1, MIXED))
    session(executable).execute(context)
    assert json.loads(Path(executable).with_name("called.json").read_text())["argv"][:4] == ["run", *"abc"]
    Path(executable).unlink()  # no task of a table starts a job
    context["ti"].pulled = {("session-1", "report"): context["ti"].pushed["report"]}

    done = of_table(executable, "a").execute(context)
    assert (done["outcome"], done["tables"]) == ("done", [table("a")])
    assert context["ti"].pushed["report"] == done
    assert context["outlet_events"][table_asset("a")].extra["upserted"] == 3
    with pytest.raises(AirflowFailException, match=r"exit code 1.*\n.*cannot be read"):
        of_table(executable, "b").execute(context)
    with pytest.raises(AirflowException, match=r"exit code 75.*\n.*locked by another") as waits:
        of_table(executable, "c").execute(context)
    assert type(waits.value) is AirflowException
    with pytest.raises(AirflowSkipException):
        of_table(executable, "a", only="b").execute(context)


def test_a_retry_runs_the_table_itself(program: Make, context: dict[str, Any]) -> None:
    """Without the other tables of the session; so does a table that the session did not have."""
    executable = program(script(0, report(table("c"))))
    for try_number, pulled in ((2, MIXED), (1, report(table("a"))), (1, None)):
        context["ti"].try_number, context["ti"].pulled = try_number, {("session-1", "report"): pulled}
        assert of_table(executable, "c").execute(context)["tables"] == [table("c")]


def test_a_session_without_a_report_fails_only_where_a_retry_may_help(
    program: Make, context: dict[str, Any]
) -> None:
    """After a broken table file each table runs itself, and the file fails only its own."""
    assert session(program(BROKEN)).execute(context) == {}
    with pytest.raises(AirflowException, match="exit code 75"):
        session(program(script(75, None, "ingest: Kafka b:1: no\n"))).execute(context)
    stopped = session(program(script(75, MIXED)))
    stopped.on_kill()
    with pytest.raises(AirflowException, match="Airflow killed the task"):
        stopped.execute(context)
