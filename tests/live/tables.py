"""The tables made of a live source: run, verified, and made wrong on purpose."""

import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.api.session import silent
from ingest.hudi.table import HudiTable
from ingest.local.servers import Addresses
from ingest.run.work.context import Progress
from ingest.verify.result import TableVerification
from ingest.verify.task import VerifyRequest
from tests.e2e.deployment import Deployment
from tests.e2e.referee import Expected, differences, read_table
from tests.live.engine import read_values

SNAPSHOT_WAIT_S = 60.0


@attrs.frozen
class Ending:
    """The end of a phase: by table, the test's own comparison and that of `ingest verify`."""

    differences: Mapping[str, list[str]]
    answers: Mapping[str, TableVerification]


@attrs.frozen
class LiveTables:
    """A deployment with one source."""

    deployment: Deployment

    KEYS: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The key columns of tables whose key is not `id`."""

    def verify(self, table: str, progress: Progress = silent, **request: Any) -> TableVerification:
        """Verify one table."""
        with self.deployment.session as session:
            (answer,) = session.verify([table], VerifyRequest(**request), progress=progress).tables
        return answer

    def verify_all(self, *tables: str, **request: Any) -> dict[str, TableVerification]:
        """Verify tables, all by default."""
        with self.deployment.session as session:
            return {
                answer.table: answer for answer in session.verify(tables, VerifyRequest(**request)).tables
            }

    def compare(self, tables: Iterable[str], read_source: Callable[[str], Expected]) -> Ending:
        """Compare tables, as far as they are onboarded, by the referee, and all by `ingest verify`."""
        wrong: dict[str, list[str]] = {}
        for table in tables:
            if (self.deployment.tables / f"{table}.toml").exists():
                expected = read_source(table)
                stored = read_table(self.deployment.frame(table), expected.keys, expected.kinds)
                wrong[table] = differences(expected.rows, stored)
        return Ending(wrong, self.verify_all())

    def plant(self, table: str, change: Callable[[DataFrame], DataFrame]) -> None:
        """Replace the rows of a table in the lake."""
        with self.deployment.session as session:
            (config,) = session.tables([table])
            stored = HudiTable(session.spark, session.settings.lake.table_path(table))
            last = stored.checkpoint()
            assert last is not None
            entry = attrs.evolve(last, run_id=str(uuid.uuid4()), note="a planted fault", counters={})
            rows = change(stored.rows()).localCheckpoint()
            stored.commit(rows, config, self.KEYS.get(table, ("id",)), "overwrite", entry)

    def write_source(self, text: str) -> None:
        """Write the source of the settings, instead of the one before."""
        path = self.deployment.root / "ingest.toml"
        path.write_text(path.read_text().partition("\n[sources")[0] + text)

    @contextmanager
    def source(self, **values: Any) -> Iterator[None]:
        """Change the source in the settings for a while."""
        self.write_settings(**values)
        try:
            yield
        finally:
            self.write_settings()

    def write_settings(self, **values: Any) -> None:
        """Write the source, with other values than the usual ones."""
        raise NotImplementedError(values)

    def signal_snapshot(self, *tables: str, signals: str) -> str:
        """Return the statement that a person would run in the source for an incremental snapshot."""
        words = ["signal", "execute-snapshot", *tables, "--signal-table", signals]
        settings = ["--settings", str(self.deployment.root / "ingest.toml")]
        command = [sys.executable, "-m", "ingest", *words, *settings]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def with_faults(rows: DataFrame, faults: Mapping[str, str]) -> DataFrame:
    """Change one column of each row: that of the first fault in row 1, and so on.

    A row is doubled (58), one is lost (59), and one is added (99).
    """
    numbers = {column: number for number, column in enumerate(faults, start=1)}
    changed = rows.select(*(
        F.expr(f"if(id = {numbers[name]}, cast({faults[name]} as {spark_type}), `{name}`)").alias(name)
        if name in faults
        else F.col(f"`{name}`")
        for name, spark_type in rows.dtypes
    ))  # fmt: skip
    extra = changed.where("id = 60").withColumn("id", F.lit(99))
    return changed.where("id != 59").unionByName(changed.where("id = 58")).unionByName(extra)


def check_faults(answer: TableVerification, faults: Mapping[str, str]) -> None:
    """Compare an answer with the faults of `with_faults`: each is named, and nothing else."""
    assert answer.error is None
    assert set(answer.compared) == set(faults)
    differing = {int(row.key["id"]): (row.difference, row.columns) for row in answer.rows}
    expected: dict[int, tuple[str, tuple[str, ...]]] = {
        number: ("different", (column,)) for number, column in enumerate(faults, start=1)
    }
    assert differing == expected | {58: ("doubled", ()), 59: ("missing", ()), 99: ("extra", ())}
    assert dict(answer.columns) == dict.fromkeys(faults, 1)
    assert answer.counts == {"different": len(faults), "doubled": 1, "missing": 1, "extra": 1}


def has_ended_snapshot(notifications: tuple[bytes, ...]) -> bool:
    """Return whether an incremental snapshot has ended, by the strings inside the Avro."""
    return any(b"Incremental Snapshot" in value and b"\x12COMPLETED" in value for value in notifications)


def wait_for_snapshot(servers: Addresses, topic: str) -> None:
    """Wait until a topic of notifications has the end of an incremental snapshot."""
    end = time.monotonic() + SNAPSHOT_WAIT_S
    while not has_ended_snapshot(read_values(servers, topic)):
        assert time.monotonic() < end, "the incremental snapshot did not end"
