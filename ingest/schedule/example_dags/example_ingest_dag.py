"""Run a folder of table files, a task per table, and a DAG that waits for new commits of one of them.

The deployment comes from the variables INGEST_BIN (the Spark environment's `ingest`), INGEST_SETTINGS and
INGEST_TABLES.  Your own DAGs can contain the paths themselves.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG, get_current_context, task

from ingest.schedule import has_changed, ingest_dag, table_asset

TABLES = os.environ.get("INGEST_TABLES", "/etc/ingest/tables")
CUSTOMERS = table_asset("customers")

dag = ingest_dag(
    "example_ingest_dag",
    tables_dir=TABLES,
    operator_args={
        "executable": os.environ.get("INGEST_BIN", "/opt/ingest/bin/ingest"),
        "settings": os.environ.get("INGEST_SETTINGS", "/etc/ingest/ingest.toml"),
        "pool": "default_pool",  # your own pool bounds the number of concurrent Spark jobs
        "execution_timeout": timedelta(hours=2),
    },
    schedule="@hourly",
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001  Airflow takes it as UTC
    tags=["ingest", "example"],
    default_args={"owner": "lake", "retries": 1, "retry_delay": timedelta(seconds=10)},
    table_args={"customer*": {"priority_weight": 10}},  # by name or glob, also pool, retries, …
)

with DAG(
    "example_after_customers",
    schedule=[CUSTOMERS],
    tags=["ingest", "example"],
) as after_customers:

    @task.short_circuit(inlets=[CUSTOMERS])
    def is_changed() -> bool:
        """Return whether the table has a new commit: an idle run emits an event, too."""
        return has_changed(CUSTOMERS)

    @task
    def count_changes() -> int:
        """Return the number of rows changed by the runs that started this DAG."""
        events = get_current_context()["triggering_asset_events"][CUSTOMERS]
        return sum(event.extra["upserted"] + event.extra["deleted"] for event in events)

    is_changed() >> count_changes()
