"""Any tables of a real database, any writes and DDL: the lake equals it, whatever the table files say.

`RANDOM_SEED=7 make test-live` lets other tables have other lives.
"""

import os
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from ingest.adopt.request import LoadRequest
from ingest.local.servers import Addresses
from tests.e2e.deployment import Deployment, Deployments
from tests.e2e.referee import Expected, differences, read_table
from tests.e2e.referee.postgres import field_name
from tests.e2e.tablefiles import copy_table
from tests.live import database, engine, engine_mariadb, mariadb, source, source_mariadb, test_live_mariadb
from tests.live.random_files import SALT, RandomFile
from tests.live.random_tables import Dialect, MariaDbSql, Postgres, RandomTable, RandomWriter
from tests.live.tables import LiveTables
from tests.live.verified import Live

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]

SEED: Final = int(os.environ.get("RANDOM_SEED", "1"))
TABLES: Final = 10
FIRST_S: Final = 3.0
"""Seconds of writing before the first snapshot."""
PHASES: Final = 3
LOOKS: Final = 3
"""Runs of each phase while the writing goes on."""
SLICES: Final = (7, 50, 200, None)
"""Offsets of a run."""
LAST_SLICES: Final = (500, None)
REFUSED: Final = (
    r"column (\w+) (?=[^,:]*: [^,]* has no (?:text that becomes|canonical form)"
    "|a value that the table cannot hold)"
)
"""A column in the error of a load: JDBC cannot give it exactly, or the table cannot hold its values."""
START: Final = """
create table inv.debezium_signal (id varchar(64) primary key, type varchar(32) not null, data varchar(2048));
create table inv.marks (id varchar(64) primary key)
"""


@attrs.frozen
class Side:
    """A database behind its connector, as this test uses it."""

    dialect: Dialect
    serve: Callable[[], AbstractContextManager[Any]]
    setup: str
    stream: Callable[..., AbstractContextManager[Any]]
    wait: Callable[[Any, Addresses, str], None]
    tables: Callable[[Deployment, Any, Any], LiveTables]
    read: Callable[[Any, str, tuple[str, ...]], Expected]
    source: str
    """Its section in the settings."""
    position: Callable[[Any], str]


@pytest.fixture
def postgres(binaries: Path) -> Side:
    """Give PostgreSQL."""
    return Side(
        Postgres(), partial(database.serve, binaries), "create schema inv", engine.stream,
        lambda server, _servers, _prefix: engine.wait_until_delivered(server), Live, source.read_source,
        "live", lambda server: server.run("select pg_current_wal_lsn()").strip(),
    )  # fmt: skip


@pytest.fixture
def maria(mariadb_connector: None) -> Side:  # noqa: ARG001  ends the session if something is missing
    """Give MariaDB."""
    return Side(
        MariaDbSql(), mariadb.serve, "create database inv default charset utf8mb4", engine_mariadb.stream,
        lambda server, servers, prefix: engine_mariadb.wait_until_delivered(
            server, servers, f"{prefix}.inv.marks"
        ),
        lambda deployment, server, _engine: test_live_mariadb.Live(deployment, server, deployment.servers),
        source_mariadb.read_source, "maria",
        lambda server: ":".join(server.rows("show master status")[0][:2]),
    )  # fmt: skip


@pytest.fixture
def _any_schema(deployments: Deployments) -> Iterator[None]:
    """Let the registry take every version: the table files decide about changes."""
    client = SchemaRegistryClient({"url": deployments.servers.registry_url})
    before = client.get_compatibility()
    client.set_compatibility(level="NONE")
    yield
    client.set_compatibility(level=before)


@pytest.mark.usefixtures("_any_schema")
@pytest.mark.parametrize("kind", ["postgres", "maria"])
def test_any_table_equals_its_source(
    kind: str,
    request: pytest.FixtureRequest,
    deployments: Deployments,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """After each phase of writes and DDL, by the referee and by `ingest verify`; the connector is killed."""
    side: Side = request.getfixturevalue(kind)
    chance, prefix = random.Random(SEED), f"any{kind}{SEED}"  # noqa: S311  no secret
    tables = [
        RandomTable(side.dialect, random.Random(f"{SEED} {n}"), f"t{n}")  # noqa: S311  same
        for n in range(TABLES)
    ]
    deployment = deployments.recorded(tmp_path, prefix)
    with side.serve() as server:
        server.run(f"{side.setup}; {START}; " + "; ".join(table.create() for table in tables))
        files = {table.name: RandomFile.draw(table, chance) for table in tables}
        life = _Life(side, server, deployment, tables, chance, files)
        with RandomWriter(server, tables, SEED):
            time.sleep(FIRST_S)
        server.run(side.dialect.setup + "; ".join(table.statement(chance, "insert") for table in tables))
        for phase in range(PHASES):
            with life.stream(prefix) as process, life.writers(phase):
                if phase == 0:
                    side.wait(server, deployment.servers, prefix)
                    life.onboard(prefix)
                else:
                    if phase == 1:
                        life.load()
                    life.rebuild()
                life.go_on(alters=phase > 0)
                if chance.random() < 0.5:
                    process.kill()
            with life.stream(prefix) as process:
                side.wait(server, deployment.servers, prefix)
                life.finish()
                live = side.tables(deployment, server, process)
                live.write_settings()
                answers = live.verify_all()
                assert {name: (str(a.error or ""), dict(a.counts)) for name, a in answers.items()} == {
                    name: ("", {}) for name in files
                }, f"phase {phase}"
                assert life.differences() == {}, f"phase {phase}"
                assert [vars(log) for log in caplog.records if "fail" in log.message] == []


@attrs.frozen
class _Life:
    """A database that is written to, and the deployment over its topics."""

    side: Side
    server: Any
    deployment: Deployment
    tables: Sequence[RandomTable]
    chance: random.Random
    files: dict[str, RandomFile]

    def stream(self, prefix: str) -> AbstractContextManager[Any]:
        """Run the connector."""
        return self.side.stream(self.server, self.deployment.servers, self.deployment.root, prefix)

    @contextmanager
    def writers(self, phase: int) -> Iterator[None]:
        """Write in two threads."""
        with ExitStack() as stack:
            for number in (1, 2):
                stack.enter_context(RandomWriter(self.server, self.tables, SEED * 100 + phase * 10 + number))
            yield

    def onboard(self, prefix: str) -> None:
        """Write the table files, and edit them."""
        settings = self.deployment.root / "ingest.toml"
        settings.write_text(f'{settings.read_text()}\n[masking]\nsalt = "{SALT}"\n')
        self.deployment.session.onboard([f"{prefix}.inv.t*"], name="{table}")
        for table in self.tables:
            self.files[table.name].write(self.deployment, table.name)

    def load(self) -> None:
        """Load copies of some tables by JDBC, without the columns that it cannot give exactly."""
        for table in self.chance.sample(self.tables, 5):
            name, file = f"{table.name}_loaded", self.files[table.name]
            if file.target.get("mode") != "history":
                self._load(table, name, file)

    def _load(self, table: RandomTable, name: str, file: RandomFile | None) -> None:
        while file:
            copy_table(self.deployment, table.name, name)
            file.write(self.deployment, name)
            with table.lock, self.deployment.session as session:
                request = LoadRequest("jdbc", self.side.source, position=self.side.position(self.server))
                error = session.load(name, request).error
            if error is None:
                self.files[name] = file
                return
            refused = re.findall(REFUSED, str(error))
            assert refused, f"{name}: {error}"
            file = file.without(refused)
        (self.deployment.tables / f"{name}.toml").unlink()

    def rebuild(self) -> None:
        """Write some tables again, and let others read their topics again."""
        for table in self.chance.sample(self.tables, 3):
            file = self.files[table.name] = self.files[table.name].rebuilt(self.chance)
            file.write(self.deployment, table.name)
            with self.deployment.session as session:
                rebuilt = session.rebuild(table.name, self.chance.choice(("table", "topic")))
            assert rebuilt.error is None, f"{table.name}: {rebuilt.error}"
        for table in self.chance.sample(self.tables, 2):
            with self.deployment.session as session:
                session.move_offsets(table.name, "earliest")

    def go_on(self, *, alters: bool) -> None:
        """Change tables, and run them in slices."""
        for _ in range(LOOKS):
            for table in self.chance.sample(self.tables, 2 if alters else 0):
                with table.lock:
                    self.server.run(self.side.dialect.setup + table.alter())
            self.check(self.deployment.run(max_offsets=self.chance.choice(SLICES)))

    def finish(self) -> None:
        """Run in slices until nothing is left."""
        with self.deployment.session as session:
            report = session.run(max_offsets=self.chance.choice(LAST_SLICES))
            while any(table.outcome == "committed" for table in report.tables):
                self.check(report)
                report = session.run(max_offsets=self.chance.choice(LAST_SLICES))
            self.check(report)

    def check(self, report: Any) -> None:
        """Let no table fail, and no message be rejected."""
        wrong = {table.table: (table.error, table.counts.rejected) for table in report.tables}
        assert not {name: found for name, found in wrong.items() if found != (None, 0)}

    def differences(self) -> dict[str, list[str]]:
        """Return the differences of each table of the lake that has some."""
        found = {}
        for name, file in self.files.items():
            keys = tuple(map(field_name, file.table.keys))
            expected = file.shown(self.side.read(self.server, file.table.name, keys))
            frame = self.deployment.frame(name)
            if "_cdc_deleted" in frame.columns:
                frame = frame.where("not _cdc_deleted")
            if "_cdc_valid_to" in frame.columns:
                frame = frame.where("_cdc_valid_to is null")
            found[name] = differences(expected.rows, read_table(frame, expected.keys, expected.kinds))
        return {name: wrong for name, wrong in found.items() if wrong}
