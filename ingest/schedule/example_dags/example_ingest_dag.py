"""Run a folder of table files, one mapped task per table, and a DAG that waits for one of the tables.

The deployment comes from the variables INGEST_BIN (the Spark environment's `ingest`), INGEST_SETTINGS and
INGEST_TABLES; write the paths themselves in DAGs of your own.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG, get_current_context, task

from ingest.schedule import ingest_dag, table_asset

TABLES = os.environ.get("INGEST_TABLES", "/etc/ingest/tables")

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
)

with DAG(
    "example_after_customers",
    schedule=[table_asset("customers")],
    tags=["ingest", "example"],
) as after_customers:

    @task
    def count_changes() -> int:
        """Return the number of rows changed by the runs that started this DAG."""
        events = get_current_context()["triggering_asset_events"][table_asset("customers")]
        return sum(event.extra["upserted"] + event.extra["deleted"] for event in events)

    count_changes()
