"""Airflow's plugin, entry point `airflow.plugins`.

Airflow loads the plugins that providers declare only with `[core] lazy_discover_providers = False`
(`airflow.sdk.plugins_manager` 1.3.2), so the provider does not declare it.
"""

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from ingest.schedule import listener


class IngestPlugin(AirflowPlugin):
    """Register the listener."""

    name = "ingest"
    listeners: list[Any] = [listener]  # noqa: RUF012  as Airflow has it
