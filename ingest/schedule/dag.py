"""A DAG for a folder of table files."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final

from airflow.sdk import DAG, Param

from ingest.schedule.group import TableArgs, ingest_task_group

DEFAULT_ARGS: Final[Mapping[str, Any]] = MappingProxyType(
    {"retries": 3, "retry_delay": timedelta(minutes=2), "retry_exponential_backoff": True}
)
"""For temporary failures.  A permanent failure is never retried, whatever these say."""
TABLES: Final = Param([], "Tables to run; empty: all.", type="array", items={"type": "string"})
"""The param of a run of only some tables.  It does not list them: Airflow copies a param into each task."""
ONLY: Final = "{{ params.tables | join(' ') }}"
"""That param's value, for the operators."""


def ingest_dag(
    dag_id: str,
    *,
    tables_dir: str | None = None,
    tables: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    tables_per_task: int | None = 1,
    table_args: TableArgs | None = None,
    lake: str = "lake",
    operator_args: Mapping[str, Any],
    schedule: Any = None,
    **dag_args: Any,
) -> DAG:
    """Make a DAG with a task per table, by default of all tables of a folder.

    `operator_args` are IngestOperator's (`executable`, `settings`, `pool`, …), `table_args` are arguments of
    single tables, `dag_args` are DAG's (`start_date`, `tags`, `default_args`, …).  Each run reads to the ends
    of the topics, so past intervals are not caught up (`catchup`).  The next run starts while a table is
    still in retry, and a table has one try at a time (`max_active_tis_per_dag`).  The param `tables` limits a
    run to some tables.  Bind the result to a global name, in a file that contains the word "airflow": Airflow
    skips other files.
    """
    arguments = {"catchup": False, **dag_args}
    arguments["default_args"] = {**DEFAULT_ARGS, **(dag_args.get("default_args") or {})}
    arguments["params"] = {"tables": TABLES, **(dag_args.get("params") or {})}
    with DAG(dag_id, schedule=schedule, **arguments) as dag:
        ingest_task_group(
            tables=tables,
            tables_dir=tables_dir,
            exclude=exclude,
            tables_per_task=tables_per_task,
            table_args=table_args,
            **{"lake": lake, "only": ONLY, **operator_args},
        )
    return dag
