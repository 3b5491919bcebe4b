"""Several tables in one Spark session, each with its own task, state and asset event.

SessionOperator --report of all tables--> SessionTableOperator: the state, report and event of one table
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ingest.errors import PermanentError, RetryableError
from ingest.report.contract import Outcome, RunOutcome
from ingest.schedule.deliver import REPORT_KEY, deliver, push_report
from ingest.schedule.job_result import Ended, count_outcomes, judge
from ingest.schedule.operator import IngestOperator, table_names
from ingest.schedule.report import Json, Report, read_content
from ingest.schedule.states import AirflowException

_ENDS: Final[Mapping[Outcome, tuple[RunOutcome, int]]] = {
    "committed": ("done", 0),
    "idle": ("done", 0),
    "failed": ("failed", PermanentError.exit_code),
    "temporary": ("temporary", RetryableError.exit_code),
}
"""The outcome and the exit code of a run of one table."""


class SessionOperator(IngestOperator):
    """Run tables in one Spark session, and leave the judgement to the tasks of the tables.

    It fails only if a retry may help all of them: without a report, or stopped by Airflow.
    """

    ui_color = "#f0f0f0"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "do_xcom_push": True, "outlets": []})

    def execute(self, context: Any) -> Json:
        """Run the job and return its report.

        After a permanent failure without one, tables run themselves.
        """
        self.limit_tables()
        ended = self.run_job(context)
        if isinstance(ended.report, Report) and not ended.stopped:
            self.log.info("The task of each table has its outcome: %s", count_outcomes(ended.report))
            return ended.report.content
        result = judge(ended)
        if result.kind == "again":
            raise AirflowException(result.text)
        self.log.warning("Each table runs in its own task, since %s", result.text)
        return {}


class SessionTableOperator(IngestOperator):
    """Report one table of a session.  A retry, and a try after a clear, runs the table itself.

    :param session: task id of the SessionOperator.
    """

    def __init__(self, *, session: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.session = session

    def execute(self, context: Any) -> Json:
        """Return the table's part of the session's report, or raise for its outcome."""
        self.limit_tables()
        ti = context["ti"]
        content = ti.xcom_pull(task_ids=self.session, key=REPORT_KEY) if ti.try_number == 1 else None
        part = _part(content, *table_names(self.tables)) if content else None
        if part is None:  # another try, or a table that came to the session's folder later
            return super().execute(context)
        self.ended = part
        if self.do_xcom_push:
            push_report(part, context)
        code = _ENDS[part.tables[0].outcome][1]
        return deliver(Ended(code, "ingest", part), self.lake, self.outlets, context)


def _part(content: Json, table: str) -> Report | None:
    """Return the report of one table, or None if the session did not run it."""
    report = read_content(content, Report)
    tables = tuple(result for result in report.tables if result.table == table)
    if not tables:
        return None
    outcome = _ENDS[tables[0].outcome][0]
    rows = [row for row in content["tables"] if row["table"] == table]
    return attrs.evolve(
        report, outcome=outcome, tables=tables, content={**content, "outcome": outcome, "tables": rows}
    )
