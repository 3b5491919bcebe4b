"""A task group: one task per table, named for it: another file in the folder leaves it as it is."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from airflow.sdk import TaskGroup, XComArg

from ingest.errors import UsageError
from ingest.schedule.assets import lake_alias
from ingest.schedule.operator import IngestOperator
from ingest.schedule.session import SessionOperator, SessionTableOperator
from ingest.schedule.tablefiles import choose_tables, matches
from ingest.tables.rules import is_table_name

MAP_LABEL: Final = "{{ task.tables if task.tables is string else task.tables | join(', ') }}"
"""The label of a mapped task in the grid: its tables."""
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_]")

TableArgs = Mapping[str, Mapping[str, Any]]
"""Arguments of operators by the names and globs of tables.  Later ones win."""


def ingest_task_group(
    group_id: str = "ingest",
    *,
    tables: Sequence[str] | XComArg | None = None,
    tables_dir: str | None = None,
    exclude: Sequence[str] = (),
    tables_per_task: int | None = 1,
    table_args: TableArgs | None = None,
    **operator_args: Any,
) -> TaskGroup:
    """Make a task group with a task `<group_id>.<table>` per table.

    `tables` are names and globs, by default all tables of the folder `tables_dir`, without the names in
    `exclude`.  `table_args` has arguments of single tables: `{"orders": {"pool": "large", "retries": 5}}`.
    `tables_per_task` tables share a Spark session, in a task `<group_id>.session-<number>` before their
    tasks.  With None, all tables share one.  Other arguments go to IngestOperator.  If `tables` is the output
    of another task, the group has one mapped task `<group_id>.run`.
    """
    arguments = {"tables_dir": tables_dir, **operator_args}
    with TaskGroup(group_id=group_id) as group:
        if isinstance(tables, XComArg):
            if tables_per_task != 1 or table_args or exclude:
                problem = "tables_per_task, table_args and exclude need names that are known at parsing"
                raise UsageError(problem, "Let that task return the lists of tables, and leave these out")
            _make_mapped(tables, arguments)
            return group
        settings, common = table_args or {}, {"max_active_tis_per_dag": 1, **arguments}
        names = choose_tables(tables, tables_dir, exclude, settings)
        for number, share in enumerate(_shares(names, tables_per_task), start=1):
            _make_tasks(f"session-{number}", share, common, settings)
    return group


def _make_mapped(tables: XComArg, arguments: Mapping[str, Any]) -> None:
    per_table = {"map_index_template": MAP_LABEL, "outlets": _outlets(arguments)}
    IngestOperator.partial(task_id="run", **{**per_table, **arguments}).expand(tables=tables)


def _make_tasks(
    session_id: str, tables: Sequence[str], common: Mapping[str, Any], table_args: TableArgs
) -> None:
    """Make the tasks of tables that share a session.  A single table needs no session task."""
    session = None
    if len(tables) > 1:
        session = SessionOperator(task_id=session_id, tables=tables, **common)
    for name in tables:
        arguments = {"outlets": _outlets(common), **common}
        for pattern, own in table_args.items():
            arguments |= own if matches(name, [pattern]) else {}
        if session is None:
            IngestOperator(task_id=_task_id(name), tables=name, **arguments)
        else:
            arguments["session"] = session.task_id
            session >> SessionTableOperator(task_id=_task_id(name), tables=name, **arguments)


def _outlets(arguments: Mapping[str, Any]) -> list[Any]:
    return [lake_alias(arguments.get("lake", "lake"))]


def _shares(tables: Sequence[str], size: int | None) -> Iterator[Sequence[str]]:
    """Yield the tables of each session."""
    step = size or len(tables)
    return (tables[start : start + step] for start in range(0, len(tables), step))


def _task_id(table: str) -> str:
    """Return a table's name.  A name that Airflow refuses becomes a part of it and a hash."""
    if is_table_name(table):
        return table
    digest = hashlib.sha256(table.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_ILLEGAL.sub('_', table)[:100]}-{digest}"
