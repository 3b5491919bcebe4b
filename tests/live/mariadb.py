"""MariaDB as a server of its own, spoken to with its own client: a fresh data folder, gone at the end."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import attrs

from ingest.local.ports import LOOPBACK, choose_port
from tests.live.client import Transaction, transaction

MISSING = "needs MariaDB's server: no mariadbd in PATH; install Debian's package mariadb-server"
USER, PASSWORD = "connector", "unused"
"""The user of the connector and of `ingest verify`."""
SERVER = {
    "bind-address": LOOPBACK, "server-id": "1", "log-bin": "binlog", "binlog-format": "ROW",
    "binlog-row-image": "FULL", "innodb-flush-log-at-trx-commit": "0",
    "skip-name-resolve": "ON",  # else loopback is localhost, whose users have no name
}  # fmt: skip
START_WAIT_S = 30.0
POLL_S = 0.1


@attrs.frozen
class MariaDb:
    """A running server: its socket for its own client, its port on loopback for others."""

    socket: Path
    port: int

    def rows(self, sql: str) -> list[list[str]]:
        """Run statements, and return what they print, by columns; null as NULL."""
        return [line.split("\t") for line in self.run(sql).splitlines()]

    def run(self, sql: str) -> str:
        """Run statements, each in a transaction of its own, and return what they print."""
        text = ["-N", "--batch", "--default-character-set=utf8mb4", "--raw"]
        done = subprocess.run([*self.client(), *text], input=sql, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stderr}\n{sql[:2000]}"
        return done.stdout

    def texts(self, table: str, columns: list[str]) -> list[list[str | None]]:
        """Return rows of expressions, each as a text."""
        texts = ", ".join(f"cast({column} as char character set utf8mb4)" for column in columns)
        setup = "set time_zone = '+00:00'; set group_concat_max_len = 1000000;"
        printed = self.run(f"{setup} select json_array({texts}) from {table}")
        return [json.loads(line) for line in printed.splitlines()]

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Keep a connection with an open transaction; it is committed at the end."""
        return transaction([*self.client(), "-N", "--batch", "--unbuffered"], "select 'done';")

    def client(self, program: str = "mariadb") -> list[str]:
        """Return the command of a client."""
        return [program, "--no-defaults", "-uroot", f"--socket={self.socket}"]


@contextmanager
def serve() -> Iterator[MariaDb]:
    """Make and start a server on loopback that logs rows, and stop and remove it."""
    with _serving(SERVER) as database:
        database.run(f"create user {USER}@'%' identified by '{PASSWORD}'; grant all on *.* to {USER}@'%'")
        yield database


@contextmanager
def serve_replica(primary: MariaDb, delay_s: int) -> Iterator[MariaDb]:
    """Start a replica that has the users and tables of its primary, and later changes after a delay."""
    with _serving({**SERVER, "server-id": "2"}) as replica:
        primary.run("flush logs")
        file, position = primary.rows("show master status")[0][:2]
        options = ("--all-databases", "--single-transaction", "--hex-blob")
        dump = subprocess.run(
            [*primary.client("mariadb-dump"), *options], check=True, capture_output=True
        )  # fmt: skip
        subprocess.run(replica.client(), input=dump.stdout, check=True, capture_output=True)
        replica.run("flush privileges")
        replica.run(
            f"change master to master_host='{LOOPBACK}', master_port={primary.port}, master_user='{USER}', "
            f"master_password='{PASSWORD}', master_log_file='{file}', master_log_pos={position}, "
            f"master_delay={delay_s}; start slave"
        )
        yield replica


@contextmanager
def _serving(options: Mapping[str, str]) -> Iterator[MariaDb]:
    """Make and start a server, and stop and remove it."""
    folder = Path(tempfile.mkdtemp(prefix="ingest-maria-"))
    data, database = folder / "data", MariaDb(folder / "socket", choose_port())
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
        settings = [f"--{name}={value}" for name, value in {**options, "port": str(database.port)}.items()]
        server = ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={database.socket}", *settings]
        command = ["setpriv", "--pdeathsig", "TERM", *server, *user]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + START_WAIT_S
            while not database.socket.exists():
                assert process.poll() is None, "MariaDB did not start"
                assert time.monotonic() < end, "MariaDB did not answer"
                time.sleep(POLL_S)
            yield database
        finally:
            process.terminate()
            process.wait(START_WAIT_S)
    finally:
        shutil.rmtree(folder)
