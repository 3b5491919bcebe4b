"""A task group: one mapped task per table, or per few tables."""

from collections.abc import Sequence
from typing import Any, Final

from airflow.sdk import TaskGroup, XComArg

from ingest.errors import UsageError
from ingest.schedule.assets import lake_alias
from ingest.schedule.operator import IngestOperator
from ingest.schedule.tablefiles import list_tables

MAP_LABEL: Final = "{{ task.tables if task.tables is string else task.tables | join(', ') }}"
"""The label of a mapped task in the grid: its tables."""


def ingest_task_group(
    group_id: str = "ingest",
    *,
    tables: Sequence[str] | XComArg | None = None,
    tables_dir: str | None = None,
    tables_per_task: int | None = 1,
    lake: str = "lake",
    **operator_args: Any,
) -> TaskGroup:
    """Make a task group with one mapped task `<group_id>.run` over tables.

    `tables` are names, or the output of another task (a list of names); the default is the tables of the
    folder `tables_dir` when Airflow parses the DAG.  `tables_per_task` tables share a task and its Spark
    session; None puts all tables into one task.  Other arguments go to IngestOperator: `pool`, `retries`, …
    """
    shares = _shares(tables, tables_dir, tables_per_task)
    per_table = {"map_index_template": MAP_LABEL, "outlets": [lake_alias(lake)]}
    with TaskGroup(group_id=group_id) as group:
        IngestOperator.partial(
            task_id="run", tables_dir=tables_dir, lake=lake, **{**per_table, **operator_args}
        ).expand(tables=shares)
    return group


def _shares(
    tables: Sequence[str] | XComArg | None, tables_dir: str | None, tables_per_task: int | None
) -> XComArg | list[str] | list[list[str]]:
    """Return the tables of each mapped task."""
    if isinstance(tables, XComArg):
        if tables_per_task != 1:
            todo = "Let that task return lists of tables, and keep tables_per_task = 1"
            raise UsageError("tables_per_task needs names that are known when the DAG is parsed", todo)
        return tables
    names = list(tables) if tables is not None else _in_folder(tables_dir)
    if not names:
        raise UsageError("ingest_task_group has no tables to run")
    if tables_per_task == 1:
        return names
    size = tables_per_task or len(names)
    return [names[start : start + size] for start in range(0, len(names), size)]


def _in_folder(tables_dir: str | None) -> list[str]:
    if tables_dir is None:
        raise UsageError("ingest_task_group needs tables or tables_dir")
    return list(list_tables(tables_dir))
