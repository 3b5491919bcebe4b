"""Killing a task ends its job: cleanly if there is time, and completely in any case."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.execution_time.timeout import timeout

from ingest.schedule import IngestOperator
from ingest.schedule.states import AirflowException, AirflowFailException
from tests.schedule.reports import report, table
from tests.schedule.versions import AirflowTaskTimeout

Make = Callable[..., str]
STOPPED = report(
    table("t", "temporary", "table t: stopped by SIGTERM before its commit. Run again to continue.")
)
ORDERLY = f"""
import json, os, pathlib, signal, subprocess, sys, time
here = pathlib.Path(__file__).parent
child = subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 300 & echo $! > grandchild; wait"], cwd=here)
def end(*_):
    time.sleep(0.3)
    pathlib.Path(sys.argv[sys.argv.index("--report") + 1]).write_text(json.dumps({STOPPED!r}))
    (here / "ended").touch()
    print("ingest: note: SIGTERM: tables in their commit finish it")
    print("ingest: table t: stopped by SIGTERM before its commit. Run again to continue.", flush=True)
    sys.exit(75)
signal.signal(signal.SIGTERM, end)
while not (here / "grandchild").exists() or not (here / "grandchild").read_text():
    time.sleep(0.01)
(here / "pids").write_text(f"{{os.getpid()}} {{child.pid}} " + (here / "grandchild").read_text())
(here / "pids").rename(here / "ready")
while True:
    print("at work", flush=True)
    time.sleep(0.05)
"""
"""Ends in order at SIGTERM; its child and grandchild hear no SIGTERM."""
STUBBORN = ORDERLY.replace(
    "signal.signal(signal.SIGTERM, end)", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
)


def wait_for(path: Path) -> None:
    """Wait until a program has written a file."""
    end = time.monotonic() + 200
    while not path.exists():
        assert time.monotonic() < end, f"{path} never came"
        time.sleep(0.02)


def living(executable: str) -> list[int]:
    """Return the job's processes that still run."""
    pids = map(int, Path(executable).with_name("ready").read_text().split())
    return [pid for pid in pids if is_alive(pid)]


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill_when_ready(task: IngestOperator, executable: str) -> threading.Thread:
    """Kill the task once its job has started, as Airflow's signal handler does."""

    def kill() -> None:
        wait_for(Path(executable).with_name("ready"))
        task.on_kill()

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_killing_a_task_ends_its_job_cleanly_and_completely(
    program: Make, context: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """The report of the clean shutdown exists; a grandchild that ignores SIGTERM is gone too.

    The log of a job that stops as it should has no error.
    """
    executable = program(ORDERLY)
    task = IngestOperator(task_id="run", executable=executable, tables="t", kill_after_s=1.5)
    thread = kill_when_ready(task, executable)

    with pytest.raises(AirflowException, match="Airflow killed the task") as raised:
        task.execute(context)

    thread.join()
    assert not isinstance(raised.value, AirflowFailException)
    assert "stopped by SIGTERM before its commit" in str(raised.value)
    assert context["ti"].pushed == {"report": STOPPED}
    assert living(executable) == []
    lines = [line for line in capsys.readouterr().out.splitlines() if "ingest: " in line]
    assert [line.partition("[")[2].split()[0] for line in lines] == ["info", "warning"]


def test_a_job_that_ignores_sigterm_is_killed(program: Make, context: dict[str, Any]) -> None:
    """After `kill_after_s`, with its group."""
    executable = program(STUBBORN)
    task = IngestOperator(task_id="run", executable=executable, tables="t", kill_after_s=0.5)
    thread = kill_when_ready(task, executable)

    with pytest.raises(AirflowException, match="Airflow killed the task"):
        task.execute(context)

    thread.join()
    assert living(executable) == []


def test_a_task_killed_before_its_job_starts_ends_it_too(program: Make, context: dict[str, Any]) -> None:
    """The signal can arrive while Airflow prepares the task."""
    task = IngestOperator(task_id="run", executable=program("import time\ntime.sleep(300)\n"), tables="t")
    task.on_kill()

    with pytest.raises(AirflowException, match="Airflow killed the task"):
        task.execute(context)


def test_an_execution_timeout_ends_the_job_and_keeps_its_report(
    program: Make, context: dict[str, Any]
) -> None:
    """Airflow raises it inside `execute`; the task's state stays Airflow's."""
    executable = program(ORDERLY)
    task = IngestOperator(
        task_id="run", executable=executable, tables="t", kill_after_s=1.5,
        execution_timeout=timedelta(seconds=1),
    )  # fmt: skip

    with pytest.raises(AirflowTaskTimeout), timeout(1.0):
        task.execute(context)

    assert context["ti"].pushed == {"report": STOPPED}
    assert living(executable) == []


UNREAPED = """
import ctypes, sys
from ingest.schedule.job import Job, job_environment
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
program = sys.argv[1]
job = Job([program], job_environment(program, {}), None, 60.0)
print(*job.lines(), job.wait())
"""
"""Adopts orphans, as the first process of a container does, and never waits for them."""


def test_a_zombie_that_nobody_reaps_does_not_hold_up_the_task(program: Make) -> None:
    """The job is over when its other processes are."""
    executable = program("import subprocess\nsubprocess.Popen(['sleep', '0.5'])\nprint('done')\n")
    command = [sys.executable, "-c", UNREAPED, executable]
    result = subprocess.run(command, capture_output=True, text=True, timeout=8, check=True)
    assert result.stdout == "done 0\n"


HOLDER = """
import sys
from ingest.schedule.job import Job, job_environment
program = sys.argv[1]
job = Job([program, "run", "--report", sys.argv[2]], job_environment(program, {}), None, 1.5)
for line in job.lines():
    pass
"""


def test_the_job_ends_with_its_worker(program: Make, tmp_path: Path) -> None:
    """Airflow sends SIGKILL five seconds after SIGTERM: the job still ends cleanly."""
    executable = program(ORDERLY)
    command = [sys.executable, "-c", HOLDER, executable, str(tmp_path / "report.json")]
    with subprocess.Popen(command, start_new_session=True) as holder:
        wait_for(Path(executable).with_name("ready"))
        os.killpg(holder.pid, signal.SIGKILL)

    wait_for(Path(executable).with_name("ended"))
    end = time.monotonic() + 200
    while living(executable):
        assert time.monotonic() < end, "the group outlived its holder"
        time.sleep(0.05)
    assert (tmp_path / "report.json").exists()
