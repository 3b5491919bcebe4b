"""The job as a process: its own environment, its own process group, what it says line by line."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

PROCESS_GUARD: Final = Path(__file__).with_name("process_guard.py")
MAX_LINE: Final = 16_384
"""A longer line of the job's is cut into several."""


class Job:
    """A running job; it ends, with all that it started, when `stop` is called or this process dies."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], cwd: str | None, kill_after_s: float
    ) -> None:
        self._process = subprocess.Popen(
            # -I and -S: nothing of Airflow's environment is imported, so it starts in 20 ms.
            [sys.executable, "-I", "-S", str(PROCESS_GUARD), str(kill_after_s), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )

    def lines(self) -> Iterator[str]:
        """Give what the job says, as it says it, until it has ended."""
        said = self._process.stdout
        assert said is not None  # noqa: S101  a pipe was asked for
        while line := said.readline(MAX_LINE):
            yield line.decode(errors="backslashreplace").rstrip()

    def wait(self) -> int:
        """Return the exit code: 128 and a signal's number for a job that was killed."""
        code = self._process.wait()
        return code if code >= 0 else 128 - code

    def stop(self) -> None:
        """Ask the job to end, and return at once: `lines` ends when it has."""
        holder = self._process.stdin
        assert holder is not None  # noqa: S101  a pipe was asked for
        with suppress(OSError):
            holder.close()


def job_environment(program: str, more: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment without what is Airflow's own, its program's folder first in PATH."""
    env = {name: text for name, text in os.environ.items() if not _is_airflows(name)}
    env.update(more)
    folder = os.path.dirname(program)  # noqa: PTH120  a bare name has none, where Path says "."
    return {**env, "PATH": f"{folder}{os.pathsep}{env.get('PATH', os.defpath)}"} if folder else env


def _is_airflows(name: str) -> bool:
    """Tell whether a variable belongs to Airflow: its settings and connections, its Python."""
    if name.startswith("AIRFLOW_CTX_"):  # which DAG, task and run it is
        return False
    of_python = {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME"}
    return name in of_python or name.lstrip("_").startswith("AIRFLOW_")
