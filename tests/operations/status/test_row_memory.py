"""Remembered numbers of rows equal a new count, whatever happens to the table in between."""

import json
import random
import shutil

import attrs
import pytest

from ingest import Session
from ingest.api.session import silent
from ingest.hudi.lake_files import LakeFiles
from ingest.hudi.offline_table import OfflineTable
from ingest.hudi.storage.folder import UnclearFilesError
from ingest.names import Instant
from ingest.operations.status.row_memory import count_rows
from ingest.run.work.context import Context
from ingest.spark.driver import Driver
from ingest.spark.hadoop_settings import LOCAL
from tests.lakes import MadeDeployment, MadeTable


class UncountedTable(OfflineTable):
    """A table whose rows only Spark counts."""

    def count_rows(self, as_of: Instant | None = None) -> int:
        """Leave the count to Spark."""
        raise UnclearFilesError(f"{self.path}: as of {as_of}")


@attrs.define(eq=False)
class CommittedTable(OfflineTable):
    """A table that another writer commits to after its rows are counted."""

    made: MadeTable

    def count_rows(self, as_of: Instant | None = None) -> int:
        """Count, then commit."""
        rows = OfflineTable.count_rows(self, as_of)
        self.made.commit(9)
        return rows


def run_of(deployment: MadeDeployment) -> Context:
    """Return the context of a command that cannot start Spark."""
    overrides = {"spark.master": "no-such-master"}
    session = Session.open(deployment.root / "ingest.toml", overrides=overrides)
    files, driver = LakeFiles(session.settings.lake, LOCAL), Driver(session.settings, None)
    return Context("r", session.settings, files, driver, lambda: session.registry, None, silent)


def count(run: Context, made: MadeTable, stored: OfflineTable | None = None) -> int:
    """Count the rows of a table, or of a handle on it, as `ingest status` does."""
    stored = stored or run.files.table(made.table)
    return count_rows(run, made.table, stored, stored)


def change(made: MadeTable, kind: str) -> MadeTable:
    """Change the table: commit, move offsets back, clean, restore to an older state, or make it again."""
    files = sorted(made.folder.glob("*.parquet"), key=lambda file: file.stem.rpartition("_")[2])
    match kind:
        case "clean":
            made.clean(made.instants[-1])
        case "restore" if len(files) > 1:
            (action,) = made.folder.glob(f".hoodie/timeline/{made.instants.pop()}_*.commit")
            action.unlink()
            files[-1].unlink()
        case "again":
            shutil.rmtree(made.folder)
            again = MadeTable(made.folder, made.table, made.now)
            again.commit(7)
            return again
        case _:
            made.commit(random.Random(made.commits).randrange(500))  # noqa: S311  rows, no secret
    return made


@pytest.mark.parametrize("seed", range(20))
def test_remembered_rows_equal_a_new_count(deployment: MadeDeployment, seed: int) -> None:
    """After any commits, cleans, restores and another table at the same path, and twice without any."""
    rng, made = random.Random(seed), deployment.table("t")  # noqa: S311  changes, no secret
    made.commit(8)
    run = run_of(deployment)
    for kind in rng.choices(["commit", "clean", "restore", "again", "nothing"], k=12):
        if kind != "nothing":
            made = change(made, kind)
        expected = run.files.table(made.table).count_rows()
        assert [count(run, made) for _ in range(2)] == [expected] * 2


def test_rows_that_spark_has_counted_are_known_without_it_until_a_commit(deployment: MadeDeployment) -> None:
    """Only files without logs count without Spark."""
    made = deployment.table("t")
    made.commit(8)
    run = run_of(deployment)
    uncounted = UncountedTable(run.files.table(made.table).path, LOCAL)
    with pytest.raises(UnclearFilesError):
        count(run, made, uncounted)
    assert count(run, made) == 8
    assert count(run, made, uncounted) == 8
    made.commit(9)
    with pytest.raises(UnclearFilesError):
        count(run, made, UncountedTable(uncounted.path, LOCAL))


def test_a_count_during_another_commit_is_not_remembered(deployment: MadeDeployment) -> None:
    """Spark may have counted the rows of either state."""
    made = deployment.table("t")
    made.commit(8)
    run = run_of(deployment)
    after = run.files.table(made.table)
    rows = count_rows(run, made.table, CommittedTable(after.path, LOCAL, made), after)
    assert (rows, count(run, made)) == (8, 9)


@pytest.mark.parametrize("text", ["", "[]", '{"rows": 7}', '{"state": "s"}', "\0"])
def test_a_damaged_memory_is_a_new_count(deployment: MadeDeployment, text: str) -> None:
    """The file is written again."""
    made = deployment.table("t")
    made.commit(8)
    run = run_of(deployment)
    file = run.settings.state_dir / "rows" / "t.json"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert count(run, made) == 8
    assert json.loads(file.read_text())["rows"] == 8
