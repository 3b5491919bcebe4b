"""Run `ingest` from Airflow, in another environment: operators, a task group, a DAG for a folder.

table files --list_tables--> names --ingest_task_group--> one task per table --ingest run--> exit code, report
                                                                                                |
                   XCom, task state, events of `hudi://` assets <--job result-------------------+

Airflow parses DAG files continuously: this package never imports pyspark or a Kafka client, and opens no
connection.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingest.schedule.assets import has_changed, lake_alias, table_asset
    from ingest.schedule.dag import ingest_dag
    from ingest.schedule.group import ingest_task_group
    from ingest.schedule.maintain import IngestMaintainOperator
    from ingest.schedule.operator import IngestOperator
    from ingest.schedule.submit import IngestSparkSubmitOperator
    from ingest.schedule.tablefiles import list_tables
    from ingest.schedule.verify import IngestVerifyOperator

__all__ = [
    "IngestMaintainOperator",
    "IngestOperator",
    "IngestSparkSubmitOperator",
    "IngestVerifyOperator",
    "has_changed",
    "ingest_dag",
    "ingest_task_group",
    "lake_alias",
    "list_tables",
    "table_asset",
]

_HOMES = {
    "assets": "has_changed lake_alias table_asset",
    "dag": "ingest_dag",
    "group": "ingest_task_group",
    "maintain": "IngestMaintainOperator",
    "operator": "IngestOperator",
    "submit": "IngestSparkSubmitOperator",
    "tablefiles": "list_tables",
    "verify": "IngestVerifyOperator",
}
"""The public names by their modules."""


def __getattr__(name: str) -> Any:
    """Import on first use: Airflow asks the provider for its name before Airflow itself is importable."""
    for module, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"ingest.schedule.{module}"), name)
    raise AttributeError(f"module 'ingest.schedule' has no attribute '{name}'")
