"""IngestVerifyOperator: run `ingest verify` in the environment that has Spark."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from ingest.errors import PermanentError
from ingest.schedule.command import RunCommand
from ingest.schedule.deliver import REPORT_KEY
from ingest.schedule.job_result import Ended, judge
from ingest.schedule.operator import IngestOperator
from ingest.schedule.report import Json
from ingest.schedule.states import AirflowException, AirflowFailException


class IngestVerifyOperator(IngestOperator):
    """Run `ingest verify` as a process of the Spark environment, and return its answer.

    Takes the arguments of `IngestOperator`.  `run_args` are additional arguments of `ingest verify`, such as
    ["--sample", "1%"].  Tables that differ fail the task, and Airflow does not retry it.  It retries rows in
    flight, and an unreachable source.  The answer is also the XCom `report`.  The task has no outlets.
    """

    ui_color = "#dff0d8"

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("outlets", [])
        super().__init__(**kwargs)

    def command(self) -> RunCommand:
        """Return the command to run."""
        return attrs.evolve(super().command(), verb="verify")

    def execute(self, context: Any) -> Json:
        """Verify the tables and return the answer."""
        self.limit_tables()
        self._mask_secrets()
        with TemporaryDirectory(prefix="ingest-") as scratch:
            path = Path(self.report or Path(scratch, "verify.json"))
            path.unlink(missing_ok=True)  # of an earlier try
            ended = self._run(path, self.cwd or scratch, context)
            answer = _read_answer(path)
        if answer is not None and self.do_xcom_push:
            context["ti"].xcom_push(key=REPORT_KEY, value=answer)
        return _conclude(ended, answer)


def _read_answer(path: Path) -> Json | None:
    """Read the answer.  Return None if the job did not write one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and isinstance(content.get("tables"), list) else None


def _conclude(ended: Ended, answer: Json | None) -> Json:
    """Return the answer of equal tables, or raise the exception that decides on a retry."""
    if ended.code == 0 and answer is not None:
        return answer
    if ended.code == PermanentError.exit_code and answer is not None and not ended.stopped:
        answers = [each for table in answer["tables"] for each in table.get("topics") or [table]]
        differing = [_line(each) for each in answers if each["outcome"] != "equal"]
        raise AirflowFailException("tables differ from their sources: " + "\n".join(differing))
    result = judge(ended)
    raise (AirflowFailException if result.kind != "again" else AirflowException)(result.text)


def _line(table: Json) -> str:
    rows = table["rows"]
    counts = ", ".join(
        f"{rows[name]} {name.replace('_', ' ')}"
        for name in ("missing", "extra", "doubled", "different", "in_flight")
        if rows[name]
    )
    name = f"{table['table']} from {table['topic']}" if table.get("topic") else table["table"]
    return f"{name}: {table['error'] or counts or table['outcome']}"
