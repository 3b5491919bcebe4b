"""IngestSparkSubmitOperator: the Spark provider's operator with ingest's report and exit reasons.

The provider handles the connection, the cluster manager and a driver on another machine, and this class adds
the report.  When Airflow kills the task, the provider kills only spark-submit (see docs/airflow.md).
"""

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final

from ingest.errors import UsageError
from ingest.schedule.assets import outlets_of
from ingest.schedule.command import RunCommand
from ingest.schedule.deliver import deliver, push_report
from ingest.schedule.job_result import UNKNOWN, Ended
from ingest.schedule.operator import table_names
from ingest.schedule.pages import TableTask
from ingest.schedule.report import Json, Report, ReportError, read_report
from ingest.schedule.states import AirflowException

try:
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
except ImportError as missing:
    raise UsageError(
        f"IngestSparkSubmitOperator needs the Spark provider: {missing}",
        "pip install 'hudi-cdc-ingest[airflow-spark]', or use IngestOperator, which needs no provider",
    ) from missing

_OUTCOMES: Final = {"done": 0, "failed": 1, "temporary": 75}
_CODE: Final = re.compile(r"Error code is: (\d+)")  # the provider reports the exit code only in this text


class IngestSparkSubmitOperator(TableTask, SparkSubmitOperator):
    """Submit `ingest/__main__.py run …` through an Airflow connection, and return its report.

    In cluster mode the exit code of spark-submit is not the driver's: the report decides, so `report` must be
    a path that the driver can write and this worker can read.

    :param application: path of `ingest/__main__.py`, as the driver sees it.
    :param tables, settings, tables_dir, max_offsets, run_args, lake: as in IngestOperator.
    :param report: file for the run report.
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, "report")

    def __init__(
        self,
        *,
        application: str,
        tables: str | Sequence[str] = (),
        settings: str | None = None,
        tables_dir: str | None = None,
        max_offsets: int | str | None = None,
        run_args: Sequence[str] = (),
        report: str = f"{gettempdir()}/ingest-{{{{ ti.id }}}}.json",
        lake: str = "lake",
        **kwargs: Any,
    ) -> None:
        names = table_names(tables)
        run = RunCommand(
            program="spark-submit",
            tables=names,
            settings=settings,
            tables_dir=tables_dir,
            max_offsets=None if max_offsets is None else str(max_offsets),
            run_args=tuple(run_args),
        )
        kwargs.setdefault("outlets", outlets_of(names, lake))
        kwargs.setdefault("name", "ingest")
        super().__init__(application=application, application_args=[*run.arguments(report)], **kwargs)
        self.tables = names
        self.report = report
        self.lake = lake

    def execute(self, context: Any) -> Json:  # type: ignore[override] # the provider's returns None
        """Submit, wait, and return the run report."""
        Path(self.report).unlink(missing_ok=True)  # of an earlier try
        output, code = "", 0
        try:
            super().execute(context)
        except AirflowException as error:
            output = str(error)
            code = int(match[1]) if (match := _CODE.search(output)) else UNKNOWN
        report = _take(Path(self.report))
        if self.do_xcom_push:
            push_report(report, context)
        if isinstance(report, Report):
            self.ended = report
            code = _OUTCOMES[report.outcome] or (UNKNOWN if code else 0)
        ended = Ended(code, "spark-submit", report, tuple(output.splitlines()))
        return deliver(ended, self.lake, self.outlets, context)


def _take(path: Path) -> Report | ReportError:
    """Read a report and remove it."""
    try:
        report = read_report(path, Report)
    except ReportError as error:
        return error
    path.unlink(missing_ok=True)
    return report
