"""For those who have the Spark provider: its SparkSubmitOperator, with ingest's exit reasons and report.

The provider looks after the connection, the cluster manager and a driver that runs elsewhere; this adds what
the report says.  The process group is the provider's: it kills spark-submit alone (see docs/airflow.md).
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
_CODE: Final = re.compile(r"Error code is: (\d+)")  # the provider keeps spark-submit's code nowhere else


class IngestSparkSubmitOperator(SparkSubmitOperator):
    """Submit `ingest/__main__.py run …` by an Airflow connection, and take its report.

    In cluster mode spark-submit's exit code is not the driver's: the report decides, so `report` has to be a
    path that the driver writes and this worker reads.

    :param application: path of `ingest/__main__.py`, as the driver sees it.
    :param tables, settings, tables_dir, max_offsets, run_args, lake: as IngestOperator has them.
    :param report: where the run report goes.
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
        self.report = report
        self.lake = lake

    def execute(self, context: Any) -> Json:  # type: ignore[override] # theirs returns nothing
        """Submit, wait, and return the run report."""
        Path(self.report).unlink(missing_ok=True)  # an earlier try's
        said, code = "", 0
        try:
            super().execute(context)
        except AirflowException as error:
            said = str(error)
            code = int(found[1]) if (found := _CODE.search(said)) else UNKNOWN
        report = _take(Path(self.report))
        if self.do_xcom_push:
            push_report(report, context)
        if isinstance(report, Report):
            code = _OUTCOMES[report.outcome] or (UNKNOWN if code else 0)
        ended = Ended(code, "spark-submit", report, tuple(said.splitlines()))
        return deliver(ended, self.lake, self.outlets, context)


def _take(path: Path) -> Report | ReportError:
    """Read a report and remove it."""
    try:
        report = read_report(path)
    except ReportError as error:
        return error
    path.unlink(missing_ok=True)
    return report
