"""A DAG for a folder of table files."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final

from airflow.sdk import DAG

from ingest.schedule.group import ingest_task_group

DEFAULT_ARGS: Final[Mapping[str, Any]] = MappingProxyType(
    {"retries": 3, "retry_delay": timedelta(minutes=2), "retry_exponential_backoff": True}
)
"""For temporary failures; a permanent failure is never retried, whatever these say."""


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
    """Make a DAG with one mapped task over tables, by default all tables of a folder.

    `operator_args` are IngestOperator's (`executable`, `settings`, `pool`, …), `dag_args` are DAG's
    (`start_date`, `tags`, `default_args`, …).  Each run reads to the ends of the topics, so by default only
    one run is active and past intervals are not caught up (`max_active_runs`, `catchup`).  Bind the result to
    a global name, in a file that contains the word "airflow": Airflow skips other files.
    """
    arguments = {"catchup": False, "max_active_runs": 1, **dag_args}
    arguments["default_args"] = {**DEFAULT_ARGS, **(dag_args.get("default_args") or {})}
    with DAG(dag_id, schedule=schedule, **arguments) as dag:
        ingest_task_group(
            tables=tables, tables_dir=tables_dir, tables_per_task=tables_per_task, lake=lake, **operator_args
        )
    return dag
