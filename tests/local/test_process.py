"""Detached processes that are never lost, tried on small ones."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ingest.local.process import (
    Process,
    find_pid,
    lock_data,
    read_reason,
    start_process,
    stop_processes,
)

SLEEP = ("sleep", "60")


@pytest.fixture
def process(tmp_path: Path) -> Process:
    """Give the place of one process, in a folder whose name needs quoting."""
    return Process("broker", tmp_path / "it's $HOME; a, b")


def start(process: Process, *command: str) -> int:
    """Start a command as a server."""
    with lock_data(process.data) as lock:
        return start_process(process, command, lock)


def test_a_started_process_is_known_by_its_pid_and_leads_its_own_session(process: Process) -> None:
    """A signal to the terminal's group does not reach it."""
    pid = start(process, *SLEEP)
    try:
        assert find_pid(process) == pid
        assert os.getsid(pid) == pid
        assert Path(f"/proc/{pid}/cwd").resolve() == process.folder
    finally:
        assert stop_processes([process]) == ("broker",)
    assert find_pid(process) is None


def test_a_process_that_does_not_listen_is_killed_with_its_children(process: Process) -> None:
    """SIGTERM is ignored by both; SIGKILL goes to the whole group."""
    script = "trap '' TERM; sleep 60 & echo $! > child; wait; wait"
    start(process, "sh", "-c", script)
    child = process.folder / "child"
    while not child.exists() or not child.read_text():
        time.sleep(0.01)
    stop_processes([process], wait_s=0.2)
    state = Path(f"/proc/{child.read_text().strip()}/stat")
    assert not state.exists() or ") Z" in state.read_text()


def test_a_process_whose_main_thread_has_ended_still_runs(process: Process) -> None:
    """A killed server looks like that until its last thread has freed the port."""
    script = (
        "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(60,)).start();"
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    pid = start(process, sys.executable, "-c", script)
    while ") Z" not in Path(f"/proc/{pid}/stat").read_text():
        time.sleep(0.01)
    assert find_pid(process) == pid
    assert stop_processes([process]) == ("broker",)
    assert find_pid(process) is None


def test_a_recycled_pid_is_not_the_server(process: Process) -> None:
    """This test's own pid, with the start time of another process: must survive the stop."""
    process.data.mkdir()
    process.pid_file.write_text(f"{os.getpid()} 1\n")
    assert find_pid(process) is None
    assert stop_processes([process]) == ()


@pytest.mark.parametrize("content", ["", "12", "x y"])
def test_a_broken_pid_file_is_not_a_server(process: Process, content: str) -> None:
    """As a full disk may leave it."""
    process.data.mkdir()
    process.pid_file.write_text(content)
    assert find_pid(process) is None


def test_a_killed_starter_leaves_a_process_that_is_known(process: Process) -> None:
    """The starter dies by SIGKILL right after the start; the process has written its own pid."""
    code = (
        "import os, sys; from pathlib import Path\n"
        "from ingest.local.process import *\n"
        "data = Path(sys.argv[1])\n"
        "with lock_data(data) as lock:\n"
        "    start_process(Process('broker', data), ('sleep', '60'), lock)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    starter = subprocess.run([sys.executable, "-c", code, str(process.data)], check=False)
    assert starter.returncode == -9
    pid = find_pid(process)
    assert pid is not None
    with lock_data(process.data):
        assert stop_processes([process]) == ("broker",)


def test_the_lock_is_free_while_the_process_runs(process: Process) -> None:
    """A server that kept it would lock everybody out."""
    start(process, *SLEEP)
    try:
        with lock_data(process.data):
            pass
    finally:
        stop_processes([process])


def test_the_reason_is_the_last_line_that_tells_something_since_the_start(process: Process) -> None:
    """Not a stack frame, not a line of an earlier start."""
    process.log.parent.mkdir(parents=True)
    process.log.write_text("java.lang.Error: of yesterday\n")
    mark = process.log.stat().st_size
    with process.log.open("a") as log:
        log.write("starting\nCaused by: java.net.BindException: in use\n\tat a.b(C.java:1)\nbye\n\n")
    assert read_reason(process, mark) == "Caused by: java.net.BindException: in use"
