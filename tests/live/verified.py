"""A database, its connector and the tables made of it, for the tests of `ingest verify`."""

import os
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
from pyspark.sql import DataFrame, SparkSession

from ingest.hudi.table import HudiTable
from ingest.local.servers import Addresses
from ingest.run.context import Progress
from ingest.session import silent
from ingest.verify.result import TableVerification
from ingest.verify.task import Request
from tests.e2e.deployment import Deployment
from tests.live.database import Database, serve
from tests.live.engine import JARS, stream, wait_until_delivered
from tests.live.source import START
from tests.live.steady import Table

PREFIX = "verify"
"""Not that of the other live tests: they share the broker."""
FAULTY = Path(__file__).with_name("faults.sql")
STEADY = Table("inv.steady", 20_000)
SOURCE = """
[sources.live]
url = "jdbc:postgresql://127.0.0.1:{port}/{database}"
user = "{user}"
driver = "{driver}"
wait_s = 4.0
signal_table = "inv.debezium_signal"
chunk_rows = {chunk_rows}
statement_timeout_s = {statement_timeout_s}
"""
LOST_BY_DEBEZIUM = {"all_types": {"da": 1, "ta": 1}}
"""A snapshot drops the era of a date BC; an array of arrays arrives as Java names."""
KEYS = {"order_lines": ("order_id", "line_no"), "texts": ("k",), "cased": ("k",)}


@attrs.frozen
class Live:
    """A database, and the tables made of it."""

    database: Database
    deployment: Deployment
    engine: subprocess.Popen[bytes]

    def verify(self, table: str, progress: Progress = silent, **request: Any) -> TableVerification:
        """Verify one table."""
        with self.deployment.session as session:
            (answer,) = session.verify([table], Request(**request), progress=progress).tables
        return answer

    def verify_all(self, *tables: str) -> dict[str, TableVerification]:
        """Verify tables, all by default."""
        with self.deployment.session as session:
            return {answer.table: answer for answer in session.verify(tables).tables}

    def plant(self, table: str, change: Callable[[DataFrame], DataFrame]) -> None:
        """Replace the rows of a table in the lake."""
        with self.deployment.session as session:
            (config,) = session.tables([table])
            stored = HudiTable(session.spark, session.settings.lake.table_path(table))
            last = stored.checkpoint()
            assert last is not None
            entry = attrs.evolve(last, run_id=str(uuid.uuid4()), note="a planted fault", counters={})
            rows = change(stored.rows()).localCheckpoint()
            stored.commit(rows, config, KEYS.get(table, ("id",)), "overwrite", entry)

    def run(self, *tables: str) -> None:
        """Wait until the connector has delivered all changes, and run tables."""
        wait_until_delivered(self.database)
        self.deployment.run(tables)

    @contextmanager
    def source(self, **values: Any) -> Iterator[None]:
        """Change the source in the settings for a while."""
        self.write_settings(**values)
        try:
            yield
        finally:
            self.write_settings()

    def write_settings(self, **values: Any) -> None:
        """Write the settings, with a source that may be wrong."""
        path = self.deployment.root / "ingest.toml"
        (driver,) = (JARS / "lib").glob("postgresql-*.jar")
        before = path.read_text().partition("\n[sources")[0]
        usual = {
            "port": self.database.port, "database": "postgres", "user": "postgres", "driver": driver,
            "chunk_rows": 100, "statement_timeout_s": 60,
        }  # fmt: skip
        path.write_text(before + SOURCE.format(**usual | values))

    @contextmanager
    def stopped_connector(self) -> Iterator[None]:
        """Stop the connector's process for a while; it keeps its connections."""
        os.kill(self.engine.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.engine.pid, signal.SIGCONT)


@contextmanager
def serve_live(binaries: Path, servers: Addresses, spark: SparkSession, folder: Path) -> Iterator[Live]:
    """Load every table once; the connector keeps streaming."""
    deployment = Deployment(folder, servers, spark, PREFIX)
    with serve(binaries) as database:
        database.run(START.read_text())
        database.run(FAULTY.read_text())
        database.run(STEADY.create() + STEADY.fill())
        with stream(database, servers, folder, PREFIX) as engine:
            live = Live(database, deployment, engine)
            live.write_settings()
            wait_until_delivered(database)
            deployment.session.onboard([f"{PREFIX}.*"], name="{table}")
            deployment.run()
            yield live
