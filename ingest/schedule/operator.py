"""IngestOperator: one `ingest run`, in the environment that has Spark."""

import json
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
from airflow.sdk.log import mask_secret

from ingest.schedule.assets import outlets_of
from ingest.schedule.command import RunCommand, check_arguments, names_secret, shown
from ingest.schedule.deliver import deliver, push_report
from ingest.schedule.job import Job, job_environment
from ingest.schedule.job_result import Ended
from ingest.schedule.report import Json, Report, ReportError, read_report
from ingest.schedule.states import AirflowFailException

KEPT_LINES: Final = 20
"""Of what a job said, for a message about one that left no report."""
LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}


class IngestOperator(BaseOperator):
    """Run `ingest run` as a process of the Spark environment, and take its report.

    The process has a group of its own, which ends when the task does, however that happens.  Exit code 75
    makes a task that is tried again, 1 and 2 one that is not.  All arguments but `kill_after_s` and `lake`
    are templates.

    :param executable: the Spark environment's `ingest`, or with `application` its `spark-submit`; a path, or
        a name on the job's PATH.
    :param tables: one table's name, or several; none: all tables of the folder.
    :param application: path of `ingest/__main__.py` in the Spark environment, for spark-submit.
    :param submit_args: arguments of spark-submit, such as ["--master", "yarn"].
    :param settings: settings file (`--settings`).
    :param tables_dir: folder of table files (`--tables`).
    :param max_offsets: offsets to read at the most, per table.
    :param run_args: more arguments of `ingest run`.
    :param env: environment variables for the job, above those of the worker; Airflow's own are left out.
    :param cwd: the job's working folder; a temporary one by default.
    :param report: where the run report goes; by default a temporary file.  Name a shared place where the
        driver runs on another machine.
    :param kill_after_s: seconds between SIGTERM and SIGKILL when the task is killed; more than
        `[run] stop_grace_s` and what Spark takes to stop.
    :param lake: the lake's name or path in the assets' URIs: `hudi://<lake>/<table>`.
    """

    template_fields: Sequence[str] = (
        *("executable", "tables", "application", "submit_args", "settings", "tables_dir", "max_offsets"),
        *("run_args", "env", "cwd", "report"),
    )
    template_fields_renderers = {"env": "json"}  # noqa: RUF012  as Airflow has it
    ui_color = "#d5e8f0"

    def __init__(
        self,
        *,
        executable: str,
        tables: str | Sequence[str] = (),
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
        """Run the job to its end; return the run report."""
        self._mask_secrets()
        with TemporaryDirectory(prefix="ingest-") as scratch:
            report = Path(self.report or Path(scratch, "report.json"))
            report.unlink(missing_ok=True)  # an earlier try's
            ended = self._run(report, self.cwd or scratch, context)
        return deliver(ended, self.lake, self.outlets, context)

    def on_kill(self) -> None:
        """Ask the job to end, and return at once: its orderly end may outlast this process."""
        self._stopped = self._stopped or "Airflow killed the task"
        if self._job:
            self._job.stop()
        text = "Airflow kills this task: its job gets SIGTERM now, and SIGKILL if it is there in %s s"
        with suppress(RuntimeError):  # a signal can come while a line is being logged
            self.log.warning(text, self.kill_after_s)

    def command(self) -> RunCommand:
        """Return what is to be run."""
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
        last: deque[str] = deque(maxlen=KEPT_LINES)
        self._job = job = Job((program, *line[1:]), env, cwd, self.kill_after_s)
        if self._stopped:  # killed before it could start
            job.stop()
        try:
            self._listen(job, last)
        except BaseException as error:  # the execution timeout above all
            self._stopped = f"{type(error).__name__} {error}".strip()
            job.stop()
            self._listen(job, last)
            raise
        finally:
            code = job.wait()
            found = _read(report)
            if self.do_xcom_push:
                push_report(found, context)
        return Ended(code, line[0], found, tuple(last), self._stopped, is_own=_is_own(program))

    def _listen(self, job: Job, last: deque[str]) -> None:
        """Pass on what the job says, at its level, until it has ended."""
        for line in job.lines():
            if line:
                last.append(line)
                self.log.log(log_level(line), "%s", line)

    def _mask_secrets(self) -> None:
        """Let Airflow hide the values of variables that look secret, wherever it shows them."""
        for name, text in dict(self.env or {}).items():
            if names_secret(name) and text and "{{" not in text:
                mask_secret(text)


def table_names(tables: str | Sequence[str]) -> tuple[str, ...]:
    """Return names from a list, or from a text that holds one or several."""
    parts = re.findall(r"\{\{.*?\}\}|[^,\s]+", tables) if isinstance(tables, str) else tables
    return tuple(map(str, parts))


def log_level(line: str) -> int:
    """Return the level of what a job says: ingest's own lines have one."""
    if line.startswith("ingest: "):
        return logging.WARNING if line.startswith("ingest: warning") else logging.ERROR
    if not line.startswith("{"):
        return logging.INFO
    try:
        return LEVELS.get(str(json.loads(line).get("level")), logging.INFO)
    except ValueError:
        return logging.INFO


def _find(program: str, path: str) -> str:
    """Return the program's path, or say what is wrong with it."""
    found = shutil.which(program, path=path)
    if found:
        return found
    what = "is not there" if not Path(program).exists() else "cannot be executed"
    raise AirflowFailException(
        f"executable={program!r} {what} on worker {gethostname()}. It has to name the `ingest` (or, with "
        "application=, the spark-submit) of the environment that has Spark, which is not Airflow's own: "
        "pip install 'hudi-cdc-ingest[spark]' there"
    )


def _is_own(program: str) -> bool:
    """Tell whether a program lies in Airflow's own environment."""
    return Path(program).parent == Path(sys.executable).parent


def _read(path: Path) -> Report | ReportError:
    try:
        return read_report(path)
    except ReportError as error:
        return error
