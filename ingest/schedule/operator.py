"""IngestOperator: run `ingest run` in the environment that has Spark."""

import logging
import re
import shutil
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from socket import gethostname
from tempfile import TemporaryDirectory
from typing import Any, Final

from airflow.sdk import BaseOperator
from airflow.sdk.definitions.mappedoperator import MappedOperator
from airflow.sdk.log import mask_secret

from ingest.schedule.assets import outlets_of
from ingest.schedule.command import RunCommand, check_arguments, names_secret, shown
from ingest.schedule.deliver import deliver, push_report
from ingest.schedule.job import Job, job_environment
from ingest.schedule.job_result import Ended
from ingest.schedule.output import log_record
from ingest.schedule.pages import TableTask
from ingest.schedule.report import AnyReport, Json, Report, ReportError, read_report
from ingest.schedule.states import AirflowFailException, AirflowSkipException

LAST_LINES: Final = 20
"""Last output lines to quote for a job without a report."""


class IngestOperator(TableTask, BaseOperator):
    """Run `ingest run` as a process of the Spark environment, and return its report.

    The process has its own process group, which ends with the task, however the task ends.  Airflow retries
    after exit code 75, never after 1 or 2.  All arguments except `kill_after_s` and `lake` are templates.

    :param executable: the Spark environment's `ingest`, or with `application` its `spark-submit`, as a path
        or a name on the job's PATH.
    :param tables: table names.  Empty: all tables of the folder.
    :param only: tables of a run of only some.  The task runs only its tables that are among them, and is
        skipped without such tables.  Empty: all its tables.
    :param application: path of `ingest/__main__.py` in the Spark environment, for spark-submit.
    :param submit_args: arguments of spark-submit, such as ["--master", "yarn"].
    :param settings: settings file (`--settings`).
    :param tables_dir: folder of table files (`--tables`).
    :param max_offsets: maximum number of offsets to read per table.
    :param run_args: additional arguments of `ingest run`.
    :param env: environment variables that override the worker's.  Airflow's own are not passed on.
    :param cwd: working directory, by default a temporary one.
    :param report: file for the run report, by default a temporary one.  Use a shared path if the driver runs
        on another machine.
    :param kill_after_s: seconds between SIGTERM and SIGKILL when the task is killed, longer than
        `[run] stop_grace_s` plus the time that Spark takes to stop.
    :param lake: the lake's name or path in the assets' URIs: `hudi://<lake>/<table>`.
    """

    template_fields: Sequence[str] = (
        *("executable", "tables", "only", "application", "submit_args", "settings", "tables_dir"),
        *("max_offsets", "run_args", "env", "cwd", "report"),
    )
    template_fields_renderers = {"env": "json"}  # noqa: RUF012  as Airflow has it
    ui_color = "#d5e8f0"
    report_type: type[AnyReport] = Report

    def __init__(
        self,
        *,
        executable: str,
        tables: str | Sequence[str] = (),
        only: str | Sequence[str] = (),
        application: str | None = None,
        submit_args: Sequence[str] = (),
        settings: str | None = None,
        tables_dir: str | None = None,
        max_offsets: int | str | None = None,
        run_args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        report: str | None = None,
        kill_after_s: float = 60.0,
        lake: str = "lake",
        **kwargs: Any,
    ) -> None:
        check_arguments(application, submit_args)
        names = tables if isinstance(tables, str | Sequence) else ()
        kwargs.setdefault("outlets", outlets_of(table_names(names), lake))
        super().__init__(**kwargs)
        self.executable = executable
        self.tables = tables
        self.only = only
        self.application = application
        self.submit_args = submit_args
        self.settings = settings
        self.tables_dir = tables_dir
        self.max_offsets = max_offsets
        self.run_args = run_args
        self.env = env
        self.cwd = cwd
        self.report = report
        self.kill_after_s = kill_after_s
        self.lake = lake
        self._job: Job | None = None
        self._stopped = ""
        self._mask_secrets()

    def execute(self, context: Any) -> Json:
        """Run the job to its end and return the run report."""
        self.limit_tables()
        return deliver(self.run_job(context), self.lake, self.outlets, context)

    def limit_tables(self) -> None:
        """Limit this try to the tables in `only`.

        Raises `AirflowSkipException` if no table remains, `AirflowFailException` for a table without a task.
        """
        if not (only := table_names(self.only)):
            return
        if strangers := self._strangers(only):
            names = ", ".join(strangers)
            raise AirflowFailException(f"this run is of {names}, which no task of the DAG runs")
        own = table_names(self.tables)
        self.tables = tuple(name for name in own if name in only) if own else only
        if not self.tables:
            raise AirflowSkipException(f"this run is only of {', '.join(only)}")

    def _strangers(self, names: Sequence[str]) -> list[str]:
        """Return the names of tables that no task of the DAG runs, if all tasks name their tables."""
        tasks = self.dag.tasks if self.has_dag() else []  # type: ignore[no-untyped-call]  # Airflow's
        if any(isinstance(task, MappedOperator) for task in tasks):
            return []
        by_task = [table_names(task.tables) for task in tasks if isinstance(task, IngestOperator)]
        tables = {name for of_task in by_task for name in of_task}
        is_complete = tables and all(by_task) and not any("{{" in name for name in tables)
        return [name for name in names if name not in tables] if is_complete else []

    def run_job(self, context: Any) -> Ended:
        """Run the job to its end, and push its report."""
        self._mask_secrets()
        with TemporaryDirectory(prefix="ingest-") as scratch:
            report = Path(self.report or Path(scratch, "report.json"))
            report.unlink(missing_ok=True)  # of an earlier try
            ended = self._run(report, self.cwd or scratch, context)
        self.ended = ended.report if isinstance(ended.report, Report) else None
        return ended

    def on_kill(self) -> None:
        """Ask the job to end, and return immediately: a clean stop may outlast this process."""
        self._stopped = self._stopped or "Airflow killed the task"
        if self._job:
            self._job.stop()
        text = "Airflow kills this task: its job gets SIGTERM now, and SIGKILL if it still runs in %s s"
        with suppress(RuntimeError):  # a signal can come while a line is being logged
            self.log.warning(text, self.kill_after_s)

    def command(self) -> RunCommand:
        """Return the command to run."""
        return RunCommand(
            program=str(self.executable),
            application=self.application,
            submit_args=tuple(map(str, self.submit_args)),
            tables=table_names(self.tables),
            settings=self.settings,
            tables_dir=self.tables_dir,
            max_offsets=None if self.max_offsets is None else str(self.max_offsets),
            run_args=tuple(map(str, self.run_args)),
        )

    def _run(self, report: Path, cwd: str, context: Any) -> Ended:
        env = job_environment(str(self.executable), dict(self.env or {}))
        program = _find(str(self.executable), env["PATH"])
        line = self.command().line(str(report))
        self.log.info("Running: %s", shown(line))
        last: deque[str] = deque(maxlen=LAST_LINES)
        self._job = job = Job((program, *line[1:]), env, cwd, self.kill_after_s)
        if self._stopped:  # killed before the start
            job.stop()
        try:
            self._listen(job, last)
        except BaseException as error:  # such as the execution timeout
            self._stopped = f"{type(error).__name__} {error}".strip()
            job.stop()
            self._listen(job, last)
            raise
        finally:
            code = job.wait()
            content = _read(report, self.report_type)
            if self.do_xcom_push:
                push_report(content, context)
        return Ended(code, line[0], content, tuple(last), self._stopped, is_own=_is_own(program))

    def _listen(self, job: Job, last: deque[str]) -> None:
        """Log the job's output lines, each at its level, until the job ends.

        An error of a job that Airflow stops is a warning: it stops as it should.
        """
        for line in job.lines():
            if line:
                last.append(line)
                level, text = log_record(line)
                self.log.log(min(level, logging.WARNING) if self._stopped else level, "%s", text)

    def _mask_secrets(self) -> None:
        """Let Airflow mask the values of secret-looking variables in logs and pages."""
        for name, text in dict(self.env or {}).items():
            if names_secret(name) and text and "{{" not in text:
                mask_secret(text)


def table_names(tables: str | Sequence[str]) -> tuple[str, ...]:
    """Return table names from a list, or from a string with one or several."""
    parts = re.findall(r"\{\{.*?\}\}|[^,\s]+", tables) if isinstance(tables, str) else tables
    return tuple(map(str, parts))


def _find(program: str, path: str) -> str:
    """Return the program's path.  Raises `AirflowFailException` if it is missing or not executable."""
    resolved = shutil.which(program, path=path)
    if resolved:
        return resolved
    problem = "cannot be executed" if Path(program).exists() else "does not exist"
    raise AirflowFailException(
        f"executable={program!r} {problem} on worker {gethostname()}. It must name the `ingest` (or, with "
        "application=, the spark-submit) of the environment that has Spark, not of Airflow's own: "
        "pip install 'hudi-cdc-ingest[spark]' there"
    )


def _is_own(program: str) -> bool:
    """Return whether a program lies in Airflow's own environment."""
    return Path(program).parent == Path(sys.executable).parent


def _read(path: Path, kind: type[AnyReport]) -> AnyReport | ReportError:
    try:
        return read_report(path, kind)
    except ReportError as error:
        return error
