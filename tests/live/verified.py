"""PostgreSQL, its connector and the tables made of it, for the tests of `ingest verify`."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import attrs

from tests.e2e.deployment import Deployments
from tests.live.database import Database, serve
from tests.live.engine import BEATS, JARS, SIGNALS, stream, wait_until_delivered
from tests.live.source import START
from tests.live.steady import Table
from tests.live.tables import LiveTables

PREFIX = "verify"
"""Not that of the other live tests: they share the broker."""
FAULTY = Path(__file__).with_name("faults.sql")
STEADY = Table("inv.steady", 20_000)
SOURCE = """
[sources.live]
url = "jdbc:postgresql://127.0.0.1:{port}/{database}"
user = "{user}"
driver = "{driver}"
wait_s = {wait_s}
signal_table = "{signals}"
signal_topic = "{signal_topic}"
chunk_rows = {chunk_rows}
statement_timeout_s = {statement_timeout_s}
"""
CONFIRMED = "select confirmed_flush_lsn from pg_replication_slots"
LOST_BY_DEBEZIUM = {"all_types": {"da": 1, "ta": 1}}
"""A snapshot drops the era of a date BC; an array of arrays arrives as Java names."""


@attrs.frozen
class Live(LiveTables):
    """A database, and the tables made of it."""

    database: Database
    engine: subprocess.Popen[bytes]

    KEYS: ClassVar = {"order_lines": ("order_id", "line_no"), "texts": ("k",), "cased": ("k",)}

    def run(self, *tables: str) -> None:
        """Wait until the connector has delivered all changes, and run tables."""
        wait_until_delivered(self.database)
        self.deployment.run(tables)

    def write_settings(self, **values: Any) -> None:
        """Write the settings, with a source that may be wrong.

        The connector confirms its position every second: `wait_s` is only for a machine that is busy.
        """
        (driver,) = (JARS / "lib").glob("postgresql-*.jar")
        usual = {
            "port": self.database.port, "database": "postgres", "user": "postgres", "driver": driver,
            "wait_s": 30.0, "signals": SIGNALS, "signal_topic": "", "chunk_rows": 100,
            "statement_timeout_s": 60,
        }  # fmt: skip
        self.write_source(SOURCE.format(**usual | values))

    @contextmanager
    def quiet_log(self) -> Iterator[None]:
        """Let nothing write to the database's log for a while, so that no position is confirmed."""
        self.database.run("delete from public.beats")
        before, confirmed = "", self.database.run(CONFIRMED)
        while before != confirmed:  # the connector still confirms what came before
            time.sleep(5)
            before, confirmed = confirmed, self.database.run(CONFIRMED)
        try:
            yield
        finally:
            self.database.run(BEATS)

    @contextmanager
    def stopped_connector(self) -> Iterator[None]:
        """Stop the connector's process for a while; it keeps its connections."""
        os.kill(self.engine.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.engine.pid, signal.SIGCONT)


@contextmanager
def serve_live(binaries: Path, deployments: Deployments, folder: Path) -> Iterator[Live]:
    """Load every table once; the connector keeps streaming."""
    deployment = deployments.recorded(folder, PREFIX)
    with serve(binaries) as database:
        database.run(START.read_text())
        database.run(FAULTY.read_text())
        database.run(STEADY.create() + STEADY.fill())
        with stream(database, deployments.servers, folder, PREFIX) as engine:
            live = Live(deployment, database, engine)
            live.write_settings()
            wait_until_delivered(database)
            deployment.session.onboard([f"{PREFIX}.*"], name="{table}")
            deployment.run()
            yield live
