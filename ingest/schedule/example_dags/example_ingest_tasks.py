"""Run chosen tables: one operator, a task group that shares a Spark session, then a summary.

The deployment comes from the variables INGEST_BIN (the Spark environment's `ingest`), INGEST_SETTINGS and
INGEST_TABLES.  Your own DAGs can contain the paths themselves.
"""

import os
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, get_current_context, task

from ingest.schedule import IngestOperator, ingest_task_group

WHERE: dict[str, Any] = {
    "executable": os.environ.get("INGEST_BIN", "/opt/ingest/bin/ingest"),
    "settings": os.environ.get("INGEST_SETTINGS", "/etc/ingest/ingest.toml"),
    "tables_dir": os.environ.get("INGEST_TABLES", "/etc/ingest/tables"),
}

with DAG(
    "example_ingest_tasks",
    schedule=None,
    tags=["ingest", "example"],
    default_args={"retries": 2, "retry_delay": timedelta(seconds=5)},
):
    customers = IngestOperator(
        task_id="customers",
        tables="customers",
        max_offsets="{{ params.max_offsets }}",
        params={"max_offsets": 100_000},
        **WHERE,
    )
    orders = ingest_task_group("orders", tables=["orders", "order_lines"], tables_per_task=None, **WHERE)

    @task(trigger_rule="all_done")
    def summary() -> dict[str, str]:
        """Return the outcome of each table, including the tables of failed tasks."""
        ti = get_current_context()["ti"]
        tasks = ("customers", "orders.orders", "orders.order_lines")
        reports = [ti.xcom_pull(task_id, key="report") for task_id in tasks]
        return {
            table["table"]: table["outcome"] for report in reports if report for table in report["tables"]
        }

    customers >> orders >> summary()
