"""A DAG of a folder of table files."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final

from airflow.sdk import DAG

from ingest.schedule.group import ingest_task_group

DEFAULT_ARGS: Final[Mapping[str, Any]] = MappingProxyType(
    {"retries": 3, "retry_delay": timedelta(minutes=2), "retry_exponential_backoff": True}
)
"""For what is temporary; what would fail again is not tried again whatever stands here."""


def ingest_dag(
    dag_id: str,
    *,
    tables_dir: str | None = None,
    tables: Sequence[str] | None = None,
    tables_per_task: int | None = 1,
    lake: str = "lake",
    operator_args: Mapping[str, Any],
    schedule: Any = None,
    **dag_args: Any,
) -> DAG:
    """Make a DAG with one mapped task over tables, by default all of a folder.

    `operator_args` are IngestOperator's (`executable`, `settings`, `pool`, …), `dag_args` are DAG's
    (`start_date`, `tags`, `default_args`, …).  A run goes to the topics' ends, so there is one at a time, and
    none for the past, unless `max_active_runs` and `catchup` say so.  Bind the result to a global name, in a
    file that holds the word airflow: Airflow passes over other files.
    """
    settled = {"catchup": False, "max_active_runs": 1, **dag_args}
    settled["default_args"] = {**DEFAULT_ARGS, **(dag_args.get("default_args") or {})}
    with DAG(dag_id, schedule=schedule, **settled) as dag:
        ingest_task_group(
            tables=tables, tables_dir=tables_dir, tables_per_task=tables_per_task, lake=lake, **operator_args
        )
    return dag
