"""Run a job as a process with its own environment and process group, and read its output by line."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

PROCESS_GUARD: Final = Path(__file__).with_name("process_guard.py")
MAX_LINE: Final = 16_384
"""Bytes.  A longer line of output is split."""


class Job:
    """A running job.  It ends, with every process it started, when `stop` is called or this process dies."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], cwd: str | None, kill_after_s: float
    ) -> None:
        self._process = subprocess.Popen(
            # -I and -S: imports nothing from Airflow's environment and starts in 20 ms.
            [sys.executable, "-I", "-S", str(PROCESS_GUARD), str(kill_after_s), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )

    def lines(self) -> Iterator[str]:
        """Yield the job's output lines as they come, until it ends."""
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101  Popen made a pipe
        while line := stdout.readline(MAX_LINE):
            yield line.decode(errors="backslashreplace").rstrip()

    def wait(self) -> int:
        """Wait for the job and return its exit code: 128 plus the signal number if it was killed."""
        code = self._process.wait()
        return code if code >= 0 else 128 - code

    def stop(self) -> None:
        """Ask the job to end, and return immediately.  `lines` ends with the job."""
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101  Popen made a pipe
        with suppress(OSError):
            stdin.close()


def job_environment(program: str, extra: Mapping[str, str]) -> dict[str, str]:
    """Return this environment without Airflow's own variables, with the program's folder first in PATH."""
    env = {name: text for name, text in os.environ.items() if not _is_airflows(name)}
    env.update(extra)
    folder = os.path.dirname(program)  # noqa: PTH120  a bare name has "", and "." with Path
    return {**env, "PATH": f"{folder}{os.pathsep}{env.get('PATH', os.defpath)}"} if folder else env


def _is_airflows(name: str) -> bool:
    """Return whether a variable is Airflow's own: settings, connections, or its Python environment."""
    if name.startswith("AIRFLOW_CTX_"):  # identifies DAG, task and run
        return False
    of_python = {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME"}
    return name in of_python or name.lstrip("_").startswith("AIRFLOW_")
