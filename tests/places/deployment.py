"""A deployment whose lake lies in another storage, and the state that its table should have."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

import attrs
from pyspark.sql import SparkSession

from ingest import Session
from ingest.jars.artifacts import spark_jars
from ingest.local.servers import Addresses
from ingest.operations.verify_files import FilesCheck
from ingest.report.outcome import RunReport
from ingest.testing import nullable
from tests.e2e.deployment import LIGHT_JVM
from tests.e2e.events import Change, Topic, make_topics
from tests.long_files import write_out

COLUMNS: Final = {"id": "int", "v": nullable("string")}
_NUMBERS: Final = count(1)


@attrs.define
class Place:
    """One table `orders` in a lake, and the rows of its source."""

    root: Path
    servers: Addresses
    spark: SparkSession
    lake: str
    conf: Mapping[str, str]
    """The settings of the storage, as a user writes them."""
    lock: str = "none"
    rows: dict[int, str] = attrs.Factory(dict)
    _at: int = 0
    _topic: Topic | None = None

    @property
    def path(self) -> str:
        """The table's path."""
        return f"{self.lake}/orders"

    @property
    def topic(self) -> Topic:
        """The table's topic."""
        assert self._topic is not None
        return self._topic

    def create(self, table_type: str, *, target: str = "", hudi: str = "") -> None:
        """Write the settings and the table file, and create the topic."""
        conf = "".join(f'"{key}" = "{value}"\n' for key, value in self.conf.items())
        (self.root / "ingest.toml").write_text(
            f'[registry]\nurl = "{self.servers.registry_url}"\n'
            f'[kafka]\nbootstrap_servers = "{self.servers.bootstrap_servers}"\n'
            f'[lake]\npath = "{self.lake}"\nlock = "{self.lock}"\n{LIGHT_JVM}{conf}'
        )
        name = f"place{next(_NUMBERS)}_{os.getpid()}.testDB.dbo.orders"
        (self._topic,) = make_topics(self.servers, {name: COLUMNS}).values()
        with self.session as session:
            session.onboard([name], name="{table}")
        write_out(self.root / "tables")
        file = self.root / "tables" / "orders.toml"
        text = file.read_text().replace('type = "cow"', f'type = "{table_type}"')
        text = text.replace("max_share = 0.01", "max_share = 1.0")
        for line in target.splitlines():
            key = line.partition(" = ")[0]
            text = re.sub(rf"^{key} = .*$", lambda _, line=line: line, text, flags=re.MULTILINE)
        file.write_text(text.replace("[hudi]\n", f"[hudi]\n{hudi}"))

    @property
    def session(self) -> Session:
        """The deployment, on the suite's Spark session."""
        return Session.open(self.root / "ingest.toml", spark=self.spark)

    def change(self) -> None:
        """Append an insert of two rows, an update, and a delete to the topic, and to the rows."""
        self._at += 1
        new, old = self._at * 2, (self._at - 1) * 2
        changes = [Change("c", {"id": new + n, "v": f"new {self._at}"}, at=self._at * 10 + n) for n in (0, 1)]
        if self._at > 1:
            changes.append(Change("u", {"id": old, "v": f"changed {self._at}"}, at=self._at * 10 + 2))
            changes.append(Change("d", {"id": old + 1, "v": self.rows[old + 1]}, at=self._at * 10 + 3))
        self.topic.send(*changes)
        for change in changes:
            if change.op == "d":
                del self.rows[change.row["id"]]
            else:
                self.rows[change.row["id"]] = change.row["v"]

    def run(self) -> RunReport:
        """Run once, in this process."""
        with self.session as session:
            return session.run()

    def check(self) -> None:
        """Compare the table with the rows of its source, and its files with each other."""
        self.spark.catalog.clearCache()
        df = self.spark.read.format("hudi").load(self.path)
        assert sorted((row["id"], row["v"]) for row in df.collect()) == sorted(self.rows.items())
        (check,) = self.checked()
        assert check.outcome == "sound", check

    def checked(self) -> tuple[FilesCheck, ...]:
        """Check the table by itself."""
        with self.session as session:
            return session.verify_files()

    def start(self, jars: Path, *command: str) -> "subprocess.Popen[str]":
        """Start a command in a process of its own, with the jars of a folder."""
        return subprocess.Popen(
            [sys.executable, "-m", "ingest", *command], cwd=self.root, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"INGEST_SPARK_JARS": str(jars), "INGEST_SPARK_CLASS_ARCHIVE": "false"},
        )  # fmt: skip


def jar_folder(folder: Path, more: list[Path]) -> Path:
    """Fill a folder with links to the jars of a Spark job and of a storage."""
    folder.mkdir()
    for jar in [*spark_jars(), *more]:
        (folder / jar.name).symlink_to(jar.resolve())
    return folder


def outcome(report: RunReport) -> Any:
    """Return the outcome of the only table, with its error."""
    (table,) = report.tables
    return table.outcome, table.error
