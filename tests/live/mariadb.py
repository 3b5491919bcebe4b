"""MariaDB as a server of its own, spoken to with its own client: a fresh data folder, gone at the end."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

MISSING = "needs MariaDB's server: no mariadbd in PATH; install Debian's package mariadb-server"
START_WAIT_S = 30.0
POLL_S = 0.1


@attrs.frozen
class MariaDb:
    """A running server, over its socket."""

    socket: Path

    def rows(self, sql: str) -> list[list[str]]:
        """Run statements, and return what they print, by columns; null as NULL."""
        command = ["mariadb", "--no-defaults", "-uroot", f"--socket={self.socket}", "-N", "--batch"]
        text = ["--default-character-set=utf8mb4", "--raw"]
        done = subprocess.run([*command, *text], input=sql, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]


@contextmanager
def serve() -> Iterator[MariaDb]:
    """Make and start a server without a network, and stop and remove it."""
    folder = Path(tempfile.mkdtemp(prefix="ingest-maria-"))
    data, socket = folder / "data", folder / "socket"
    user = ["--user=mysql"] if os.geteuid() == 0 else []
    try:
        if user:
            shutil.chown(folder, "mysql")
        install = [
            "mariadb-install-db",
            "--no-defaults",
            f"--datadir={data}",
            "--auth-root-authentication-method=normal",
        ]
        subprocess.run([*install, *user], check=True, capture_output=True)
        server = ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--skip-networking"]
        process = subprocess.Popen([*server, *user], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + START_WAIT_S
            while not socket.exists():
                assert process.poll() is None, "MariaDB did not start"
                assert time.monotonic() < end, "MariaDB did not answer"
                time.sleep(POLL_S)
            yield MariaDb(socket)
        finally:
            process.terminate()
            process.wait(START_WAIT_S)
    finally:
        shutil.rmtree(folder)
