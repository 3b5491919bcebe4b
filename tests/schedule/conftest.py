"""Tests of `ingest.schedule`, which belongs to Airflow's environment: `make test` runs them there.

    .venv-airflow/bin/pytest --confcutdir tests/schedule tests/schedule

The environment of the other tests has no Airflow and collects nothing here.
"""

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

IS_AIRFLOWS = find_spec("airflow") is not None
collect_ignore_glob = [] if IS_AIRFLOWS else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    """Keep Airflow, which creates its folders on import, out of the user's home."""
    if IS_AIRFLOWS:
        home = TemporaryDirectory(prefix="airflow-")
        config.add_cleanup(home.cleanup)
        os.environ["AIRFLOW_HOME"] = home.name
        os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "false"


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """Write an executable Python script in its own folder, in place of the Spark environment's `ingest`."""

    def make(body: str, name: str = "ingest") -> str:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{sys.executable} -S\n{body}")
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture
def context() -> dict[str, Any]:
    """Return the part of Airflow's context that an operator's `execute` uses; `ti.pushed` holds the XComs."""
    from airflow.sdk.execution_time.context import OutletEventAccessors  # noqa: PLC0415  not in .venv

    class TaskInstance:
        """Stores the XComs that are pushed; `pulled` holds those of other tasks, by task and key."""

        def __init__(self) -> None:
            self.try_number = 1
            self.pushed: dict[str, Any] = {}
            self.pulled: dict[tuple[str, str], Any] = {}

        def xcom_pull(self, task_ids: str, key: str) -> Any:
            """Return the value of another task."""
            return self.pulled.get((task_ids, key))

        def xcom_push(self, key: str, value: Any) -> None:
            """Store a value."""
            self.pushed[key] = value

    return {"ti": TaskInstance(), "outlet_events": OutletEventAccessors()}
