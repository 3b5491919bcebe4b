"""Names of Airflow that the tests use, from their module in this version."""

from typing import Any

from airflow import plugins_manager

try:
    from airflow.sdk.exceptions import AirflowTaskTimeout
    from airflow.sdk.log import redact
except ImportError:  # before Airflow 3.2
    from airflow.exceptions import AirflowTaskTimeout  # type: ignore[attr-defined,no-redef]  # same
    from airflow.sdk._shared.secrets_masker import redact  # type: ignore[no-redef]  # same

__all__ = ["AirflowTaskTimeout", "plugin_errors", "redact"]


def plugin_errors() -> dict[str, Any]:
    """Load Airflow's plugins, and return the errors of those that cannot be imported."""
    plugins_manager.ensure_plugins_loaded()
    if hasattr(plugins_manager, "get_import_errors"):
        return plugins_manager.get_import_errors()
    return plugins_manager.import_errors  # before Airflow 3.2
