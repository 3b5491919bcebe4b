"""Writers of a table: each refuses damage and a lost lock, completes a killed rewrite, outlives a catalog."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from structlog.testing import capture_logs

from ingest import Session
from ingest.adopt.adopt import adopt_table
from ingest.adopt.load import load_table
from ingest.adopt.request import AdoptRequest, LoadRequest
from ingest.api.session import silent
from ingest.errors import IcebergUnreachableError, IngestError, LakeError, TableLockedError
from ingest.hudi.lake_files import LakeFiles
from ingest.operations.maintain import maintain_tables
from ingest.operations.offsets import move_offsets
from ingest.operations.rebuild.rebuild import rebuild_table
from ingest.operations.rejects.rejects import purge
from ingest.operations.rejects.replay import replay
from ingest.run.task import run_tables
from ingest.run.work.context import Context
from ingest.sources.forms import Form
from ingest.sources.layout import ComparedColumn, Layout
from ingest.sources.origin import Origin
from ingest.spark.driver import Driver
from ingest.spark.hadoop_settings import LOCAL
from ingest.tables import TableConfig
from ingest.verify.repair import delete_extra
from tests.e2e.deployment import Deployments
from tests.e2e.other_writers import V2, write_as_streamer
from tests.e2e.tablefiles import add_catalog
from tests.e2e.test_rebuild import edit
from tests.e2e.test_rejects import NO_DATE, Place, change, make_place
from tests.hudi.conftest import timeline_of

pytestmark = [pytest.mark.spark, pytest.mark.servers]

CATALOG: Final = "writers"
OF_A_STREAMER: Final = "`ID` int, region string, name string, `on` int, _event_lsn bigint"


@attrs.frozen
class Lake:
    """The table `t` and its rejects in a folder of one test; a change and a bad record wait in its topic."""

    place: Place

    @property
    def root(self) -> Path:
        """The folder of the deployment."""
        return self.place.deployment.root

    @property
    def data(self) -> Path:
        """The folder of the table."""
        return self.root / "lake" / "t"

    @property
    def rejects(self) -> Path:
        """The folder of its rejects table."""
        return self.root / "lake" / "_rejects" / "t"

    @property
    def lock(self) -> Path:
        """The file of the table's lock."""
        return self.root / "lake" / "_locks" / "t" / "lock"

    def run(self, database: str = "") -> Context:
        """Begin a run, with a catalog if a database is named.

        The session of the tests has a catalog in memory, which the driver of a deployment with a database
        refuses.  So the driver is that of the deployment without one.
        """
        session = self.place.deployment.session
        overrides = {"lake.database": database} if database else {}
        settings = Session.open(self.root / "ingest.toml", overrides=overrides).settings
        files = LakeFiles(settings.lake, LOCAL)
        return Context(
            "writer",
            settings,
            files,
            Driver(session.settings, session.spark),
            lambda: session.registry,
            None,
            silent,
            raises_signal=False,
        )

    def table(self) -> TableConfig:
        """Read the table file."""
        return self.place.deployment.session.table("t")


def run_once(lake: Lake, run: Context) -> Any:
    """Apply the waiting change, and reject the bad record."""
    return run_tables(run, [lake.table()]).tables[0]


def replay_rejects(lake: Lake, run: Context) -> Any:
    """Apply the reject that the table file now allows."""
    return replay(run, lake.table())


def set_offsets(lake: Lake, run: Context) -> Any:
    """Move the offsets back."""
    return move_offsets(run, lake.table(), "earliest")


def purge_rejects(lake: Lake, run: Context) -> Any:
    """Delete the reject."""
    assert purge(run, lake.table()) == 1


def delete_extra_row(lake: Lake, run: Context) -> Any:
    """Delete the row 2, as it was written by offset 1."""
    key = ComparedColumn("id", "id", "int", Form("integer"))
    extra = run.spark.createDataFrame([("2", 100_000)], "k0 string, t_v bigint")
    origin = Origin("sqlserver", "p", "testDB", "dbo", "t")
    assert delete_extra(run, run.feeds(lake.table())[0], Layout((key,), (), {}), extra, origin) == 1


def rebuild(lake: Lake, run: Context) -> Any:
    """Rebuild the table with other buckets."""
    edit(lake.place.deployment, "t", buckets="3")
    return rebuild_table(run, lake.table(), "table", dry_run=False)


def maintain(lake: Lake, run: Context) -> Any:
    """Clean the table."""
    return maintain_tables(run, [lake.table()], dry_run=False).tables[0]


def adopt(lake: Lake, run: Context) -> Any:
    """Adopt the table of a streamer in its own place."""
    return adopt_table(run, lake.table(), AdoptRequest())


def load(lake: Lake, run: Context) -> Any:
    """Load an export into the empty table."""
    request = LoadRequest("parquet", str(lake.root / "export"), offsets="earliest")
    return load_table(run, lake.table(), request)


WRITERS: Final[Mapping[str, Callable[[Lake, Context], Any]]] = {
    "run": run_once,
    "replay": replay_rejects,
    "offsets": set_offsets,
    "purge": purge_rejects,
    "delete-extra": delete_extra_row,
    "rebuild": rebuild,
    "maintain": maintain,
    "adopt": adopt,
    "load": load,
}
PRESENT: Final = [name for name in WRITERS if name != "load"]
"""The writers of a table that is there."""
COMMITTING: Final = [name for name in WRITERS if name not in ("purge", "maintain")]
"""The writers that commit rows or an account to the table itself."""


def error_of(lake: Lake, writer: str, run: Context | None = None) -> IngestError | None:
    """Write; return the error, raised or as a result."""
    try:
        result = WRITERS[writer](lake, run or lake.run())
    except IngestError as error:
        return error
    error = getattr(result, "error", None)
    assert error is None or isinstance(error, IngestError)
    return error


def commits(*homes: Path) -> set[Path]:
    """Return the completed actions of tables."""
    return {file for home in homes for file in timeline_of(home).glob("*.*commit")}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, deployments: Deployments) -> Place:
    """Make a table with two rows and a reject that is allowed by now."""
    root = tmp_path_factory.mktemp("writers") / "root"
    root.mkdir()
    place = make_place(root, deployments, "writers")
    place.topic.send(change("c", 1, 1), change("c", 2, 2), change("u", 1, 3, on=NO_DATE))
    assert place.run() == "committed"
    assert place.open() == [2]
    place.edit('out_of_range = "fail"', 'out_of_range = "null"')
    place.topic.send(change("c", 3, 4))
    place.topic.produce([(None, b"\7")])
    return place


@pytest.fixture
def lake(filled: Place, tmp_path: Path, request: pytest.FixtureRequest) -> Lake:
    """Copy the table for a writer; adopting and loading begin with other files."""
    root, spark = tmp_path / "root", filled.deployment.spark
    shutil.copytree(filled.deployment.root, root)
    lake = Lake(Place(attrs.evolve(filled.deployment, root=root), filled.topic))
    writer = request.node.callspec.params["writer"]
    if writer in ("adopt", "load"):
        shutil.rmtree(lake.data)
        shutil.rmtree(lake.rejects)
    if writer == "adopt":
        rows = [{"id": key, "region": "r", "name": "a", "on": 0} for key in (1, 2)]
        metadata = {V2: f"{filled.topic.name},0:2"}
        write_as_streamer(spark, lake.data, rows, metadata=metadata, columns=OF_A_STREAMER)
    if writer == "load":
        rows = [(1, "a", None), (2, "a", None)]
        spark.createDataFrame(rows, "id int, name string, `on` date").write.parquet(str(root / "export"))
    return lake


@contextmanager
def stolen(lake: Lake, is_time: Callable[[], bool]) -> Iterator[None]:
    """Remove the lock file at a moment, as a person may."""
    done = threading.Event()

    def steal() -> None:
        while not done.is_set():
            if is_time():
                lake.lock.unlink()
                return
            time.sleep(0.001)

    thief = threading.Thread(target=steal)
    thief.start()
    try:
        yield
    finally:
        done.set()
        thief.join()


@pytest.mark.parametrize("writer", WRITERS)
def test_a_writer_whose_lock_is_lost_commits_nothing(lake: Lake, writer: str) -> None:
    """Another writer may have it by then."""
    before = commits(lake.data, lake.rejects)

    with stolen(lake, lambda: lake.lock.exists() and "run_id" in lake.lock.read_text()):
        error = error_of(lake, writer)

    assert isinstance(error, TableLockedError), error
    assert "this run's lock was taken over" in str(error)
    assert commits(lake.data, lake.rejects) == before


@pytest.mark.parametrize(
    ("writer", "first", "second"), [("run", "rejects", "data"), ("replay", "data", "rejects")]
)
def test_a_lock_that_is_lost_between_two_commits_prevents_the_second(
    lake: Lake, writer: str, first: str, second: str
) -> None:
    """A run's rejects do not count without its commit; a replay that was not noted is done again."""
    folders = {"data": lake.data, "rejects": lake.rejects}
    one, other = commits(folders[first]), commits(folders[second])

    with stolen(lake, lambda: commits(folders[first]) != one):
        error = error_of(lake, writer)

    assert isinstance(error, TableLockedError), error
    assert len(commits(folders[first])) == len(one) + 1
    assert commits(folders[second]) == other
    assert lake.place.open() == [2]


@pytest.mark.parametrize("writer", PRESENT)
def test_a_writer_refuses_a_table_without_a_file(lake: Lake, writer: str) -> None:
    """A further commit would hide that rows are missing."""
    before = commits(lake.data, lake.rejects)
    next(lake.data.rglob("*.parquet")).unlink()

    error = error_of(lake, writer)

    assert isinstance(error, LakeError), error
    assert commits(lake.data, lake.rejects) == before


@pytest.mark.parametrize("writer", ["run", "replay", "purge"])
def test_a_writer_refuses_a_rejects_table_without_a_file(lake: Lake, writer: str) -> None:
    """Rejects would be lost without a trace."""
    before = commits(lake.data, lake.rejects)
    next(lake.rejects.rglob("*.parquet")).unlink()

    error = error_of(lake, writer)

    assert isinstance(error, LakeError), error
    assert commits(lake.data, lake.rejects) == before


@pytest.mark.parametrize("writer", PRESENT)
def test_a_writer_completes_a_rewrite_of_properties_that_was_killed(lake: Lake, writer: str) -> None:
    """Of the table and of its rejects: Hudi had created the new file, and not written it."""
    homes = [folder / ".hoodie" for folder in (lake.data, lake.rejects) if folder.exists()]
    for home in homes:
        (home / "hoodie.properties").rename(home / "hoodie.properties.backup")
        (home / ".hoodie.properties.crc").unlink(missing_ok=True)
        (home / "hoodie.properties").touch()

    assert error_of(lake, writer) is None

    for home in homes:
        assert (home / "hoodie.properties").stat().st_size


@pytest.mark.parametrize("writer", COMMITTING)
def test_a_writer_commits_while_the_catalog_refuses(lake: Lake, writer: str) -> None:
    """A view has the table's name: the log says so, and the commit counts."""
    run = lake.run(CATALOG)
    run.spark.sql(f"create database {CATALOG}")
    run.spark.sql(f"create view {CATALOG}.t as select 1 as one")
    before = commits(lake.data)
    try:
        with capture_logs() as logged:
            assert error_of(lake, writer, run) is None
    finally:
        run.spark.sql(f"drop database {CATALOG} cascade")

    assert commits(lake.data) != before
    assert [item["entry"] for item in logged if "catalog" in item["event"]] == [f"{CATALOG}.t"]


def add_iceberg(lake: Lake) -> None:
    """Ask for an Iceberg table, in a catalog next to the lake."""
    add_catalog(lake.root)
    lake.place.edit("also = []", 'also = ["iceberg"]')


@pytest.mark.parametrize("writer", WRITERS)
def test_a_writer_updates_the_iceberg_table(lake: Lake, writer: str) -> None:
    """Its rows are those of the newest commit, whoever made it."""
    add_iceberg(lake)

    assert error_of(lake, writer) is None

    iceberg = lake.run().iceberg
    present = iceberg.load(lake.table())
    assert present is not None
    rows = lake.place.deployment.spark.read.format("hudi").load(str(lake.data))
    assert present.scan().to_arrow().num_rows == rows.count() > 0
    assert iceberg.differences(lake.table()) == ()


@pytest.mark.parametrize("writer", PRESENT)
def test_a_writer_without_the_iceberg_catalog_lets_hudi_clean_no_file_of_it(lake: Lake, writer: str) -> None:
    """Nothing is committed, but for what replaces the table: its Iceberg table may be why."""
    add_iceberg(lake)
    before = commits(lake.data)
    shutil.rmtree(lake.root / "iceberg")

    assert isinstance(error_of(lake, writer), IcebergUnreachableError)

    assert (commits(lake.data) != before) is (writer in ("rebuild", "adopt"))
