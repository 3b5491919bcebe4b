"""Airflow runs `ingest`, which lives in another environment: operators, a task group, a DAG of a folder.

table files --list_tables--> names --ingest_task_group--> a task a table --ingest run--> exit code and report
                                                                                          |
                    XCom, the task's state, events of `hudi://` assets <--verdict---------+

Airflow reads DAG files all the time: nothing here reaches pyspark, a Kafka client or a network.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingest.schedule.assets import lake_alias, table_asset
    from ingest.schedule.dag import ingest_dag
    from ingest.schedule.group import ingest_task_group
    from ingest.schedule.operator import IngestOperator
    from ingest.schedule.submit import IngestSparkSubmitOperator
    from ingest.schedule.tablefiles import list_tables

__all__ = [
    "IngestOperator",
    "IngestSparkSubmitOperator",
    "ingest_dag",
    "ingest_task_group",
    "lake_alias",
    "list_tables",
    "table_asset",
]

_HOMES = {
    "IngestOperator": "operator",
    "IngestSparkSubmitOperator": "submit",
    "ingest_dag": "dag",
    "ingest_task_group": "group",
    "lake_alias": "assets",
    "list_tables": "tablefiles",
    "table_asset": "assets",
}


def __getattr__(name: str) -> Any:
    """Import on first use: Airflow asks the provider for its name before Airflow itself is importable."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ingest.schedule' has no attribute '{name}'")
    from importlib import import_module  # noqa: PLC0415  see above

    return getattr(import_module(f"ingest.schedule.{_HOMES[name]}"), name)
