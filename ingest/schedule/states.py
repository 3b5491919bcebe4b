"""The exceptions that decide a task's state, imported from their module in this Airflow version."""

try:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
except ImportError:  # before Airflow 3.2
    from airflow.exceptions import (  # type: ignore[no-redef, attr-defined]  # unused with a newer version
        AirflowException,
        AirflowFailException,
        AirflowSkipException,
    )

__all__ = ["AirflowException", "AirflowFailException", "AirflowSkipException"]
