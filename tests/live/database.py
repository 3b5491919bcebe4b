"""PostgreSQL as a server of its own: a fresh data folder, loopback only, gone at the end."""

import json
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import attrs

from ingest.local.ports import LOOPBACK, choose_port
from tests.live.client import Transaction, transaction

MISSING = (
    "test-live needs PostgreSQL's server: no initdb in PATH or /usr/lib/postgresql/*/bin; "
    "install Debian's package postgresql"
)
# How the referee reads text; the locale decides how money looks.
SESSION = {
    "TimeZone": "UTC", "DateStyle": "ISO", "IntervalStyle": "iso_8601", "bytea_output": "hex",
    "extra_float_digits": "1", "lc_monetary": "C.UTF-8",
}  # fmt: skip
SERVER = {"wal_level": "logical", "listen_addresses": LOOPBACK, "unix_socket_directories": "", "fsync": "off"}
START_WAIT_S = 30.0
STOP_WAIT_S = 30.0
POLL_S = 0.1


def find_binaries() -> Path | None:
    """Return the folder of PostgreSQL's server binaries."""
    result = shutil.which("initdb")
    if result:
        return Path(result).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    return versions[-1].parent if versions else None


def _version(initdb: Path) -> float:
    return float(initdb.parts[-3])  # 9.6, 15


@attrs.frozen
class Database:
    """A running server's one database, spoken to with its own psql."""

    binaries: Path
    port: int
    name: str = "postgres"

    def run(self, sql: str) -> str:
        """Run statements, each in a transaction of its own, and return what they print."""
        return _output([*self.psql(), "-f", "-"], sql)

    def rows(self, query: str) -> list[list[str | None]]:
        """Return a query's rows of text columns."""
        settings = "".join(f"set {name} = '{value}'; " for name, value in SESSION.items())
        printed = self.run(f"{settings}select to_json(array(select to_json(r) from ({query}) r))")
        return [list(row.values()) for row in json.loads(printed)]

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Keep a connection with an open transaction; it is committed at the end."""
        return transaction(self.psql(), "\\echo done")

    def psql(self) -> list[str]:
        """Return the command of a client that runs statements of its input."""
        where = ["-h", LOOPBACK, "-p", str(self.port), "-U", "postgres", "-d", self.name]
        return [str(self.binaries / "psql"), "-XqAt", "-v", "ON_ERROR_STOP=1", *where]


@contextmanager
def serve(binaries: Path, **settings: str) -> Iterator[Database]:
    """Make and start a server, and stop and remove it; it does not outlive this process either."""
    with _owned_folder() as (folder, owner):
        data = folder / "data"
        _output([*_as(owner), str(binaries / "initdb"), *_initdb(data)], cwd=folder)
        with _serving(binaries, folder, owner, {**SERVER, **settings}) as database:
            yield database


@contextmanager
def serve_replica(primary: Database) -> Iterator[Database]:
    """Copy a server, and start the copy as its streaming replica; stop and remove it in the end."""
    with _owned_folder() as (folder, owner):
        server = ("-h", LOOPBACK, "-p", str(primary.port), "-U", "postgres")
        copy = ("-D", str(folder / "data"), "-R", "-c", "fast", "--no-sync")
        _output([*_as(owner), str(primary.binaries / "pg_basebackup"), *server, *copy], cwd=folder)
        with _serving(primary.binaries, folder, owner, SERVER) as replica:
            yield replica


@contextmanager
def _owned_folder() -> Iterator[tuple[Path, pwd.struct_passwd]]:
    """Make a folder for a server, with the user that owns it, and remove it."""
    # Not pytest's folder: only its owner may enter that one, and root must be somebody else here.
    folder = Path(tempfile.mkdtemp(prefix="ingest-live-"))
    try:
        owner = _find_owner()
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        yield folder, owner
    finally:
        shutil.rmtree(folder)


@contextmanager
def _serving(
    binaries: Path, folder: Path, owner: pwd.struct_passwd, settings: Mapping[str, str]
) -> Iterator[Database]:
    """Start a server over the data of a folder, and stop it."""
    port = choose_port()
    options = [f"--{name}={value}" for name, value in {**settings, "port": str(port)}.items()]
    command = [*_as(owner), str(binaries / "postgres"), "-D", str(folder / "data"), *options]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        database = Database(binaries, port)
        _wait_until_up(database, process, folder / "log")
        yield database
    finally:
        process.send_signal(2)  # a fast shutdown: open connections are cut
        process.wait(STOP_WAIT_S)


def _initdb(data: Path) -> tuple[str, ...]:
    return (
        "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync",
    )  # fmt: skip


def _find_owner() -> pwd.struct_passwd:
    """Return the user to run as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    return next(user for name in ("postgres", "nobody") for user in pwd.getpwall() if user.pw_name == name)


def _as(owner: pwd.struct_passwd) -> tuple[str, ...]:
    """Run as a user, and get SIGINT when this process dies."""
    user = (f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups")
    return ("setpriv", *(user if os.geteuid() == 0 else ()), "--pdeathsig", "INT")


def _wait_until_up(database: Database, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_WAIT_S
    ready = [str(database.binaries / "pg_isready"), "-q", "-h", LOOPBACK, "-p", str(database.port)]
    while subprocess.run(ready, check=False).returncode != 0:
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"PostgreSQL did not start: {log.read_text()}")
        time.sleep(POLL_S)


def _output(command: Sequence[str], text: str = "", cwd: Path | None = None) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode != 0:
        raise RuntimeError(f"{Path(command[0]).name} failed: {done.stderr}\n{text[:2000]}")
    return done.stdout
