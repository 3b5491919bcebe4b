"""Tables that do without a JVM, next to tables on a storage that hangs."""

import threading
from contextlib import ExitStack
from pathlib import Path

import attrs
import pytest

from ingest import Session
from ingest.api.session import silent
from ingest.errors import IngestError
from ingest.hudi.lake_files import LakeFiles
from ingest.names import Instant
from ingest.run.work import by_files
from ingest.run.work.context import Context
from ingest.spark.driver import Driver
from ingest.spark.hadoop_settings import LOCAL
from ingest.tables import TableConfig
from tests.e2e.test_fleet import hanging
from tests.lakes import MadeDeployment
from tests.patience import PATIENCE_S

HANGING = tuple(f"a{number:02}" for number in range(2 * by_files.THREADS + 1))


@attrs.frozen
class NewestCommit:
    """Reads the instant of a table's newest commit (a `TableTask`)."""

    has_answered: threading.Event = attrs.Factory(threading.Event)

    def by_files(self, run: Context, table: TableConfig) -> Instant | None:
        """Read the timeline."""
        return run.files.table(table).newest_instant()

    def with_spark(self, run: Context, table: TableConfig) -> Instant | None:
        """Refuse it."""
        raise NotImplementedError

    def finish(
        self, _: Context, __: TableConfig, result: Instant | IngestError | None, ___: float, /
    ) -> Instant | None:
        """Note the answer."""
        assert not isinstance(result, IngestError)
        self.has_answered.set()
        return result


def test_tables_of_a_storage_that_hangs_hold_up_none_behind_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than tables begin at a time; they are given up later."""
    monkeypatch.setattr(by_files, "PATIENCE_S", float(PATIENCE_S))
    deployment, task = MadeDeployment(tmp_path / "deployment"), NewestCommit()
    made = [deployment.table(name) for name in (*HANGING, "sound")]
    instants = {table.table.name: Instant(table.commit(1)) for table in made}
    session = Session.open(deployment.root / "ingest.toml")
    files, driver = LakeFiles(session.settings.lake, LOCAL), Driver(session.settings, None)
    run = Context("r", session.settings, files, driver, lambda: session.registry, None, silent)
    found = dict[str, Instant | None]()

    def work() -> None:
        found.update(by_files.answer_by_files(run, task, session.tables()))

    thread = threading.Thread(target=work)
    with ExitStack() as stack:
        for name in reversed(HANGING):  # released in the order in which they begin
            stack.enter_context(hanging(deployment.root / "lake" / name))
        thread.start()
        assert task.has_answered.wait(PATIENCE_S / 10)
    thread.join()
    assert found == instants
    assert not run.hanging


@attrs.frozen
class AtWork:
    """Counts the tables at work at a time (a `TableTask`).  With `barrier`, each waits for others."""

    barrier: threading.Barrier | None = None
    at_work: set[str] = attrs.Factory(set)
    most: list[int] = attrs.Factory(list)

    def by_files(self, _: Context, table: TableConfig) -> str:
        """Work on a table."""
        self.at_work.add(table.name)
        self.most.append(len(self.at_work))
        if self.barrier:
            self.barrier.wait(PATIENCE_S)
        self.at_work.remove(table.name)
        return table.name

    def with_spark(self, run: Context, table: TableConfig) -> str:
        """Refuse it."""
        raise NotImplementedError

    def finish(self, _: Context, table: TableConfig, result: str | IngestError, __: float) -> str:
        """Return the name."""
        assert result == table.name
        return table.name


@pytest.mark.parametrize("waits", [False, True])
def test_tables_that_wait_for_their_storage_are_read_side_by_side(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    waits: bool,  # noqa: FBT001
) -> None:
    """Others one after the other: threads at work wait for each other."""
    monkeypatch.setattr(by_files, "WAITS_S", by_files.WAITS_S if waits else float(PATIENCE_S))
    deployment, names = (
        MadeDeployment(tmp_path / "deployment"),
        [f"t{n}" for n in range(2 * by_files.THREADS)],
    )
    for name in names:
        deployment.table(name)
    session = Session.open(deployment.root / "ingest.toml")
    files, driver = LakeFiles(session.settings.lake, LOCAL), Driver(session.settings, None)
    run = Context("r", session.settings, files, driver, lambda: session.registry, None, silent)
    task = AtWork(threading.Barrier(by_files.THREADS) if waits else None)
    assert sorted(by_files.answer_by_files(run, task, session.tables())) == sorted(names)
    assert max(task.most) >= by_files.THREADS if waits else max(task.most) == 1
