"""The exceptions that decide a task's state, from where this version of Airflow keeps them."""

try:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException
except ImportError:  # before Airflow 3.2
    from airflow.exceptions import (  # type: ignore[no-redef, attr-defined]  # not seen beside a newer one
        AirflowException,
        AirflowFailException,
    )

__all__ = ["AirflowException", "AirflowFailException"]
