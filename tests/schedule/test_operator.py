"""IngestOperator over programs that behave like `ingest`, or worse."""

import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Asset, AssetAlias

from ingest.errors import UsageError
from ingest.schedule import IngestMaintainOperator, IngestOperator, table_asset
from ingest.schedule.command import shown
from ingest.schedule.output import log_record
from ingest.schedule.states import AirflowException, AirflowFailException
from tests.schedule.reports import COMMITTED_AT, RUN_ID, report, script, table
from tests.schedule.versions import redact

Make = Callable[..., str]
LOCKED = "table t: locked by another writer: run 77, process 4711 on etl-3. Try again when it is done."


def operator(executable: str, tables: Any = "t", **options: Any) -> IngestOperator:
    """Return an operator."""
    return IngestOperator(task_id="run", executable=executable, tables=tables, **options)


def called(executable: str) -> dict[str, Any]:
    """Read the program's arguments and environment."""
    return dict(json.loads(Path(executable).with_name("called.json").read_text()))


# --- how a run ends ----------------------------------------------------------------------------


def test_a_successful_run_returns_its_report_and_emits_an_event(
    program: Make, context: dict[str, Any]
) -> None:
    """The report is the return value and the XCom `report`; the asset's event has the counts."""
    written = report(table("t"))
    task = operator(program(script(0, written)))

    assert task.execute(context) == written
    assert context["ti"].pushed == {"report": written}
    assert task.outlets == [Asset(uri="hudi://lake/t")]
    extra = context["outlet_events"][table_asset("t")].extra
    counts = {"read": 5, "upserted": 3, "deleted": 1, "superseded": 1, "rejected": 0}
    times = {"instant": "20261121120000000", "last_commit_at": COMMITTED_AT}
    assert extra == {"run_id": RUN_ID, "outcome": "committed", **times, **counts}


def test_maintenance_returns_its_report_and_emits_no_event(program: Make, context: dict[str, Any]) -> None:
    """The command is `ingest maintain`; no row changed, so no DAG that waits for the table starts."""
    of_table = {"table": "t", "outcome": "maintained", "removed_files": 4, "seconds": 1.5, "error": None}
    written = {**report(), "tables": [of_table], "dry_run": False}
    executable = program(script(0, written))
    task = IngestMaintainOperator(task_id="m", executable=executable, tables="t", run_args=["--debug"])

    assert task.execute(context) == written
    assert context["ti"].pushed == {"report": written}
    assert task.outlets == []
    arguments = called(executable)["argv"]
    assert (arguments[:2], arguments[-1]) == (["maintain", "t"], "--debug")


def test_maintenance_of_a_locked_table_is_retried(program: Make, context: dict[str, Any]) -> None:
    """A run holds the lock: exit code 75, with the holder in the task's message."""
    of_table = {"table": "t", "outcome": "temporary", "error": LOCKED}
    written = {**report(), "outcome": "temporary", "tables": [of_table]}
    task = IngestMaintainOperator(task_id="m", executable=program(script(75, written)), tables="t")

    with pytest.raises(AirflowException, match="locked by another writer"):
        task.execute(context)


FAILED = table("t", "failed", "srv.db.t-0-7: cannot be read.")
WAITS = table("t", "temporary", LOCKED)
AT_WORK = {"tables": ["t reading 5 offsets, for 31 s"], "event": "at work", "level": "info", "logger": "l"}


@pytest.mark.parametrize(
    ("end", "error", "words"),
    [
        ((75, report(WAITS), ""), AirflowException, ("exit code 75", "a retry may succeed", LOCKED)),
        ((75, None, "ingest: Kafka b:1: no\n"), AirflowException, ("exit code 75", "Kafka b:1: no")),
        ((1, report(FAILED), ""), AirflowFailException, ("code 1", "fail again unchanged", "srv.db.t-0-7")),
        ((2, None, "ingest: no table 't'\n"), AirflowFailException, ("exit code 2", "no table 't'")),
        ((127, None, "java: not found\n"), AirflowFailException, ("cannot be started", "java: not found")),
        ((52, None, "x\n"), AirflowException, ("exit code 52, which ingest itself never returns", "x")),
        ((130, report(WAITS), ""), AirflowException, ("killed by SIGINT", LOCKED)),
        ((0, None, ""), AirflowFailException, ("code 0, but it wrote no run report", "Is it the `ingest`")),
        ((0, "{", ""), AirflowFailException, ("does not hold a run report",)),
        ((0, '{"run_id": 1}', ""), AirflowFailException, ("does not hold a run report",)),
        ((1, "[]", "ingest: why\n"), AirflowFailException, ("exit code 1", "why")),
    ],
)  # fmt: skip
def test_the_exit_code_decides_on_a_retry(
    program: Make,
    context: dict[str, Any],
    end: tuple[int, Any, str],
    error: type[Exception],
    words: Sequence[str],
) -> None:
    """75 and killed jobs are retried; 1, 2 and failed starts are not.  Report and reason are kept."""
    code, written, says = end
    with pytest.raises(AirflowException) as raised:
        operator(program(script(code, written, says))).execute(context)

    assert type(raised.value) is error
    for word in words:
        assert word in str(raised.value)
    assert context["ti"].pushed == ({"report": written} if isinstance(written, dict) else {})
    assert len(context["outlet_events"]) == 0


def test_a_job_killed_by_the_system_is_retried(program: Make, context: dict[str, Any]) -> None:
    """As the kernel does on low memory."""
    with pytest.raises(AirflowException, match="killed by SIGKILL") as raised:
        operator(program("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")).execute(context)

    assert type(raised.value) is AirflowException


def test_the_message_has_counts_and_errors_of_several_tables(program: Make, context: dict[str, Any]) -> None:
    """Counts by outcome, and the errors of only the failed tables."""
    written = report(table("a"), table("b", "idle"), table("c", "failed", "c broke"))
    with pytest.raises(AirflowFailException) as raised:
        operator(program(script(1, written)), ["a", "b", "c"]).execute(context)

    text = str(raised.value)
    assert "1 committed, 1 idle, 1 failed" in text
    assert text.endswith("\nc broke")


# --- wrong paths -------------------------------------------------------------------------------


def test_a_wrong_path_to_the_spark_environment_fails_before_the_start(
    tmp_path: Path, context: dict[str, Any]
) -> None:
    """Missing, not executable, or with a missing interpreter: never retried."""
    plain = tmp_path / "plain"
    plain.write_text("")
    torn = tmp_path / "torn"
    torn.write_text("#!/nowhere/python\n")
    torn.chmod(0o755)
    messages = {
        "/nowhere/ingest": "does not exist",
        str(plain): "cannot be executed",
        str(torn): "cannot be started",
    }

    for path, words in messages.items():
        with pytest.raises(AirflowFailException, match=words) as raised:
            operator(path).execute(context)
        assert path in str(raised.value)


def test_airflows_own_ingest_is_recognised(context: dict[str, Any]) -> None:
    """Airflow without the Spark environment: its own `ingest` lacks pyspark, and the message says so."""
    own = str(Path(sys.executable).with_name("ingest"))
    with pytest.raises(AirflowFailException) as raised:
        operator(own, settings="/nowhere/ingest.toml").execute(context)

    assert "lies in Airflow's own environment" in str(raised.value)


def test_arguments_of_spark_submit_need_an_application() -> None:
    """Fails when the DAG is parsed, not at night."""
    with pytest.raises(UsageError, match="submit_args needs application"):
        operator("spark-submit", submit_args=["--master", "yarn"])


# --- the command -------------------------------------------------------------------------------


def test_every_argument_reaches_the_command(program: Make, context: dict[str, Any], tmp_path: Path) -> None:
    """`ingest run` with tables and flags, in the given folder."""
    executable = program(script(0, report(table("a"), table("b"))))
    options = {"settings": "/s.toml", "tables_dir": "/t", "max_offsets": 7, "run_args": ["--debug"]}
    report_file = tmp_path / "kept.json"
    report_file.write_text("of an earlier try")
    operator(executable, ["a", "b"], cwd=str(tmp_path), report=str(report_file), **options).execute(context)

    flags = [
        "--settings",
        "/s.toml",
        "--tables",
        "/t",
        "--max-offsets",
        "7",
        "--report",
        str(report_file),
        "--debug",
    ]
    call = called(executable)
    assert call["argv"] == ["run", "a", "b", *flags]
    assert call["cwd"] == str(tmp_path)
    assert json.loads(report_file.read_text())["run_id"] == RUN_ID


def test_spark_submit_runs_the_application(program: Make, context: dict[str, Any]) -> None:
    """Its own arguments come first; the driver's exit code counts."""
    submit = program(script(75, report(WAITS)), "spark-submit")
    options = {"application": "/env/ingest/__main__.py", "submit_args": ["--master", "local[2]"]}
    with pytest.raises(AirflowException, match="exit code 75"):
        operator(submit, **options).execute(context)

    assert called(submit)["argv"][:5] == ["--master", "local[2]", "/env/ingest/__main__.py", "run", "t"]


def test_the_job_gets_its_own_environment(
    program: Make, context: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither Airflow's connections nor its Python; the program's folder comes first on PATH; `env` wins."""
    executable = program(script(0, report(table("t"))))
    left_out = {
        "AIRFLOW_CONN_X": "1",
        "AIRFLOW__CORE__FERNET_KEY": "2",
        "PYTHONPATH": "3",
        "VIRTUAL_ENV": "4",
    }
    passed = {"AIRFLOW_CTX_DAG_ID": "d", "INGEST_LAKE_PATH": "/a"}
    for name, text in {**left_out, **passed}.items():
        monkeypatch.setenv(name, text)
    operator(executable, env={"INGEST_LAKE_PATH": "/b", "NEW": "1"}).execute(context)

    env = called(executable)["env"]
    assert not left_out.keys() & env.keys()
    assert (env["AIRFLOW_CTX_DAG_ID"], env["INGEST_LAKE_PATH"], env["NEW"]) == ("d", "/b", "1")
    assert env["PATH"].split(os.pathsep)[0] == str(Path(executable).parent)


def test_a_bare_name_is_looked_up_in_the_jobs_path(program: Make, context: dict[str, Any]) -> None:
    """So that a deployment can name the environment once, in `env`."""
    executable = program(script(0, report(table("t"))), "ingest-of-spark")
    path = f"{Path(executable).parent}{os.pathsep}/usr/bin"

    assert operator("ingest-of-spark", env={"PATH": path}).execute(context)["run_id"] == RUN_ID


def test_arguments_are_templates(program: Make, context: dict[str, Any]) -> None:
    """Rendered by Airflow; a templated table emits its event under the lake's alias."""
    executable = program(script(0, report(table("t"))))
    with DAG("d", schedule=None):
        task = operator(
            "{{ bin }}", "{{ names }}", settings="/{{ ds }}.toml", env={"A": "{{ ds }}"},
            run_args=["{{ ds }}"], lake="s3a://bucket/lake/",
        )  # fmt: skip
    task.render_template_fields({**context, "bin": executable, "names": "t, u", "ds": "2026"})
    task.execute(context)

    call = called(executable)
    assert call["argv"][:5] == ["run", "t", "u", "--settings", "/2026.toml"]
    assert call["argv"][-1] == call["env"]["A"] == "2026"
    alias = AssetAlias(name="hudi://bucket/lake")
    assert task.outlets == [alias]
    (event,) = context["outlet_events"][alias].asset_alias_events
    assert event.dest_asset_key.uri == "hudi://bucket/lake/t"
    assert event.extra["upserted"] == 3


# --- logs --------------------------------------------------------------------------------------


def test_the_jobs_output_is_logged_at_its_level(
    program: Make, context: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Line by line, and a log line as text; a very long line in parts."""
    lines = [
        "plain",
        json.dumps(AT_WORK),
        "ingest: note: n",
        "ingest: warning: w",
        "ingest: bad",
        "y" * 50_000,
    ]
    says = "\n".join(lines)
    operator(program(script(0, report(table("t")), says))).execute(context)

    lines = [line.partition("[")[2] for line in capsys.readouterr().out.splitlines()]
    levels = {line.partition("]")[2][1:15].strip(): line.split()[0] for line in lines}
    assert (levels["plain"], levels["at work: table"], levels["ingest: note:"]) == ("info", "info", "info")
    assert (levels["ingest: warnin"], levels["ingest: bad"]) == ("warning", "error")
    assert sum(line.count("y" * 100) for line in lines) * 100 > 49_000
    assert len([line for line in lines if "yyy" in line]) == 4


@pytest.mark.parametrize(
    ("line", "level", "text"),
    [
        ("{no json", "INFO", "{no json"),
        ('["event"]', "INFO", '["event"]'),
        ('{"a": 1}', "INFO", '{"a": 1}'),
        ('{"event": "jvm.restarted", "level": "warning"}', "WARNING", "jvm.restarted"),
        ('{"event": "x", "level": "odd", "n": 1}', "INFO", "x: n=1"),
        ('{"event": "x", "level": "error", "exception": "Traceback"}', "ERROR", "x\nTraceback"),
        ("ingest: note: fetching", "INFO", "ingest: note: fetching"),
    ],
)
def test_a_line_of_the_log_becomes_text(line: str, level: str, text: str) -> None:
    """Without the braces of JSON, and with the traceback on lines of its own."""
    assert log_record(line) == (logging.getLevelNamesMapping()[level], text)


def test_the_logged_command_holds_no_secret(
    program: Make, context: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Values of flags, properties and variables with secret-looking names, and passwords in URLs."""
    run_args = ["--registry", "http://me:pass1234@r", "--api-token", "tttt1"]
    submit_args = ["--conf", "spark.hadoop.fs.s3a.secret.key=ssss1"]
    executable = program(script(0, report(table("t")), "the job says: bbbb1:cccc1\n"))
    operator(
        executable, application="/a.py", submit_args=submit_args, run_args=run_args,
        env={"INGEST_REGISTRY_BASIC_AUTH": "bbbb1:cccc1"},
    ).execute(context)  # fmt: skip

    shown_text = capsys.readouterr().out
    assert "spark.hadoop.fs.s3a.secret.key=***" in shown_text
    assert "--registry 'http://***@r' --api-token '***'" in shown_text
    assert redact("bbbb1:cccc1", "env") == "***"  # as Airflow does with logs and rendered templates
    assert shown(["a b", "c=d"]) == "'a b' c=d"
