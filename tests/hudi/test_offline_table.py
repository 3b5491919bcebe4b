"""A table read from its files, without a JVM, answers as Hudi does, or leaves the answer to Hudi."""

import random
import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from ingest.errors import IngestError, UsageError
from ingest.hudi import options
from ingest.hudi.offline_table import OfflineTable
from ingest.hudi.options import hudi_options, options_digest
from ingest.hudi.storage.folder import UnclearFilesError
from ingest.hudi.stored_table import StoredTable
from ingest.hudi.timeline.properties import OLDEST, parse_properties
from ingest.names import Partition
from ingest.spark.hadoop_settings import LOCAL, LOCAL_FS, hadoop_settings
from ingest.tables import TableConfig
from tests.hudi.checks import check_files
from tests.hudi.conftest import VERSION, entry_of, timeline_of
from tests.hudi.timeline.test_damage import DAMAGES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hudi.conftest import Lake

pytestmark = pytest.mark.spark
DDL = "id int not null, v int"
OFFSET = rb'(\{\\?"0\\?": )1'
"""The first digit of an offset, as Avro and JSON have it."""


def answers(stored: StoredTable, table: TableConfig, names: Collection[str] | None = None) -> dict[str, Any]:
    """Return a reader's answers about a table, or some of them; errors are answers, unclear files are not."""
    last_ms = lambda: (entry := stored.checkpoint()) and entry.committed_ms  # noqa: E731
    questions: dict[str, Callable[[], Any]] = {
        "checkpoint": stored.checkpoint,
        "committed_ms": last_ms,
        "file": lambda: stored.check_config(table),
        "options": lambda: stored.check_options(table),
        "storage": stored.check_files,
        "rows": stored.count_rows,
        "commits": stored.commits,
        "archive": stored.has_archive,
    }
    found: dict[str, Any] = {}
    for name, ask in questions.items():
        if names is not None and name not in names:
            continue
        try:
            found[name] = ask()
        except IngestError as error:
            found[name] = str(error)
        except (UnclearFilesError, OSError):
            continue
    return found


def clear_answers(lake: "Lake", table: TableConfig) -> set[str]:
    """Hold both readers to the same answers; return those that the files give."""
    from_files = answers(OfflineTable(lake.path(table), lake.hadoop), table)
    assert from_files == answers(lake.open(table), table, from_files)
    compare_states(lake, table)
    return set(from_files)


def compare_states(lake: "Lake", table: TableConfig) -> None:
    """Hold the row counts of the last states to each other; a state that is cleaned has none."""
    files, stored = OfflineTable(lake.path(table), lake.hadoop), lake.open(table)
    try:
        instants = [commit.instant for commit in files.commits()[1:3]]
    except (UnclearFilesError, IngestError, OSError):
        return
    for instant in instants:
        try:
            rows: int | str = files.count_rows(instant)
        except UnclearFilesError as error:
            rows = str(error)
        if isinstance(rows, int):
            assert rows == stored.count_rows(instant)
        elif "are cleaned" in rows:
            with pytest.raises(UsageError, match=r"cleaned.*\[target\] retain_commits"):
                stored.count_rows(instant)


def records(stored: StoredTable) -> dict[str, Any]:
    """Return all accounts, all commits with their files, the sizes in storage."""
    assert stored.timeline is not None
    stored.timeline.check_actions()
    commits = stored.commits(archived=True)
    return {"accounts": stored.history(), "commits": commits, "sizes": data_sizes(stored)}


def data_sizes(stored: StoredTable) -> dict[str, int]:
    """Return the sizes of the files that hold rows; Hadoop hides checksums."""
    files = stored.timeline.folder.data_files() if stored.timeline else ()
    return {file.path: file.size for file in files if not file.path.endswith(".crc")}


@attrs.define
class History:
    """A table, and the things that can happen to it."""

    lake: "Lake"
    table: TableConfig
    saved: str = ""

    def commit(self) -> None:
        """Commit a few changes, one of them a delete."""
        run = self.lake.runs + 1
        rows = [("u", f"{run:04}", key, run) for key in range(run % 5 + 1)]
        self.lake.commit(self.table, self.lake.changes(DDL, *rows, ("d", f"{run:04}", 7, None)))

    def commit_of_another_writer(self) -> None:
        """Commit without an account."""
        options = hudi_options(self.table, ["id"], "upsert") | self.lake.SERVICES
        rows = self.lake.changes(DDL, ("u", "9", 90, 1))
        rows.write.format("hudi").options(**options).mode("append").save(self.lake.path(self.table))

    def move(self) -> None:
        """Move the offsets back."""
        moved = attrs.evolve(
            entry_of(1), kind="set-offsets", note="back, ä", next_offsets={Partition(0): self.lake.runs}
        )
        stored = self.lake.open(self.table)
        stored.commit(stored.no_rows(), self.table, ["id"], "upsert", moved)

    def rewrite(self) -> None:
        """Replace all files, as a rewrite does."""
        stored = self.lake.open(self.table)
        checkpoint = stored.checkpoint()
        assert checkpoint is not None
        stored.commit(
            stored.rows(), self.table, ["id"], "overwrite", attrs.evolve(checkpoint, run_id="rewrite")
        )

    def roll_back(self) -> None:
        """Roll the newest commit back."""
        timeline = timeline_of(self.lake.path(self.table))
        newest = max(file.name for file in timeline.glob("*.*commit"))[:17]
        self.lake.roll_back(self.table, newest)

    def save(self) -> None:
        """Set a savepoint at the newest commit."""
        checkpoint = self.lake.open(self.table).checkpoint()
        assert checkpoint is not None
        self.saved = str(checkpoint.instant)
        self.call(f"create_savepoint(table => '{self.name}', commit_time => '{self.saved}')")

    def restore(self) -> None:
        """Restore the savepoint, and drop it."""
        self.call(f"rollback_to_savepoint(table => '{self.name}', instant_time => '{self.saved}')")
        self.call(f"delete_savepoint(table => '{self.name}', instant_time => '{self.saved}')")

    def die_in_a_commit(self) -> None:
        """Leave a commit that began, with a data file of it."""
        home = Path(self.lake.path(self.table))
        instant = "20991231235959999"
        action = "deltacommit" if self.table.target.type == "mor" else "commit"
        for state in (f"{action}.requested", f"{action}.inflight" if action == "deltacommit" else "inflight"):
            (timeline_of(home) / f"{instant}.{state}").touch()
        (home / f"00000000-dead-0000-0000-000000000000-0_0-1-2_{instant}.parquet").write_bytes(b"PAR1")
        clear_answers(self.lake, self.table)
        for file in home.rglob(f"*{instant}*"):
            file.unlink()

    def call(self, procedure: str) -> None:
        """Call a procedure of Hudi's."""
        spark = self.lake.spark
        spark.sql(
            f"create table if not exists {self.name} using hudi location '{self.lake.path(self.table)}'"
        )
        self.lake.call(self.table, procedure)
        spark.sql(f"drop table {self.name}")

    @property
    def name(self) -> str:
        """Return the table's name in the session's catalog."""
        return self.table.name


@pytest.mark.parametrize("kind", [pytest.param("cow", marks=pytest.mark.pairs), "mor"])
def test_both_readers_agree_through_a_long_history(lake: "Lake", kind: str) -> None:
    """Cleaned, archived, compacted, rolled back, restored, moved, rewritten, with other writers' commits."""
    table = attrs.evolve(lake.table(f"history_{kind}", type=kind, buckets=2), hudi=lake.SHORT_MEMORY)
    files = OfflineTable(lake.path(table), LOCAL)
    assert (files.checkpoint(), lake.open(table).checkpoint()) == (None, None)
    files.check_config(table)
    files.check_files()
    history = History(lake, table)
    happenings = [
        *[history.commit] * 7,
        *[history.commit_of_another_writer] * 2,
        history.move,
        history.rewrite,
        history.die_in_a_commit,
    ]
    random.Random(17).shuffle(happenings)  # noqa: S311  the order is the test's data
    happenings = [history.commit, *happenings[:6], history.roll_back, *happenings[6:], history.commit]
    happenings += [history.save, history.commit, history.move, history.restore, history.commit]
    clear = []
    for happening in happenings:
        happening()
        clear.append(clear_answers(lake, table))
        assert not check_files(lake, table).findings

    if VERSION > OLDEST:  # else the archive is left to Hudi
        assert records(OfflineTable(lake.path(table), LOCAL)) == records(lake.open(table))
    assert sum("checkpoint" in names for names in clear) > len(clear) * 0.8
    assert sum("storage" in names for names in clear) > len(clear) * 0.8
    assert sum("rows" in names for names in clear) > len(clear) * (0.8 if kind == "cow" else 0.1)
    assert lake.open(table).has_archive()
    stored = lake.open(table)
    active, whole = stored.commits(), stored.commits(archived=True)
    assert whole[: len(active)] == active
    assert len(whole) > len(active)
    assert tuple(commit.entry for commit in whole if commit.entry) == stored.history()


def test_an_account_in_the_archive_is_left_to_hudi(lake: "Lake") -> None:
    """Commits of other writers push the last account out of the active timeline."""
    table = attrs.evolve(lake.table("pushed"), hudi=lake.SHORT_MEMORY)
    history = History(lake, table)
    history.commit()
    for _ in range(6):
        history.commit_of_another_writer()

    assert "checkpoint" not in clear_answers(lake, table)
    assert lake.open(table).checkpoint() is not None


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_reported_as_hudi_reports_it_or_left_to_it(lake: "Lake", damage: str) -> None:
    """No damage gives an answer that Hudi would not give."""
    kind, do = DAMAGES[damage]
    table = lake.table("damaged_files", type=kind, buckets=1)
    history = History(lake, table)
    for _ in range(2):
        history.commit()
    do(Path(lake.path(table)))

    clear = clear_answers(lake, table)

    assert ("storage" in clear) == ("file" in damage), clear


def test_a_flipped_digit_in_a_commit_is_damage(lake: "Lake") -> None:
    """The Avro file is still one, but its checksum says that the offset is another."""
    table = lake.table("flipped")
    History(lake, table).commit()
    (commit,) = timeline_of(lake.path(table)).glob("*.commit")
    text = commit.read_bytes()
    assert len(re.findall(OFFSET, text)) > 0
    commit.write_bytes(re.sub(OFFSET, rb"\g<1>7", text))

    assert "checkpoint" not in clear_answers(lake, table)


def test_a_changed_table_file_is_refused_alike(lake: "Lake") -> None:
    """Type, buckets and partitions are compared with properties and ledger."""
    table = lake.table("changed", buckets=2, partition_by=["id"])
    History(lake, table).commit()

    for target in ({"type": "mor"}, {"buckets": 8}, {"partition_by": []}, {"mode": "append"}):
        changed = attrs.evolve(table, target=attrs.evolve(table.target, **target))
        assert "file" in clear_answers(lake, changed)
    assert clear_answers(lake, table) >= {"checkpoint", "file", "options", "storage", "rows"}


def test_options_that_a_run_has_committed_with_are_not_checked_again(lake: "Lake") -> None:
    """Another value is left to Hudi, which refuses it here; so are names of classes."""
    table = attrs.evolve(lake.table("checked"), hudi={"hoodie.clean.commits.retained": "3"})
    entry = attrs.evolve(entry_of(1), checked_options=options_digest(table))
    lake.open(table).commit(lake.changes(DDL, ("c", "1", 1, 1)), table, ["id"], "load", entry)

    assert "options" in clear_answers(lake, table)
    wrong = attrs.evolve(table, hudi={"hoodie.clean.commits.retained": "many"})
    assert "options" not in clear_answers(lake, wrong)
    with pytest.raises(IngestError, match="a whole number"):
        lake.open(wrong).check_options(wrong)
    strategy = attrs.evolve(table, hudi={"hoodie.compaction.strategy": "com.example.Strategy"})
    assert options_digest(strategy) == ""


def test_soft_deleted_rows_are_left_to_spark(lake: "Lake") -> None:
    """A footer does not say how many rows are deleted."""
    table = lake.table("soft", delete="soft")
    ddl = "id int not null, _cdc_deleted boolean"
    lake.commit(table, lake.changes(ddl, ("c", "1", 1, False), ("d", "2", 2, True)))

    assert clear_answers(lake, table) >= {"checkpoint", "storage"}
    assert "rows" not in clear_answers(lake, table)
    assert lake.open(table).count_rows() == 1


def test_names_outside_ascii_come_back(lake: "Lake") -> None:
    """Hudi escapes them in its properties."""
    table = lake.table("names", partition_by=["größe"], index="global_simple")
    rows = lake.changes("`schlüssel` int not null, `größe` string", ("c", "1", 1, "a b/=ä"))
    lake.commit(table, rows, ["schlüssel"])

    assert clear_answers(lake, table) >= {"checkpoint", "file", "rows"}


def test_properties_are_parsed_as_java_writes_them(lake: "Lake") -> None:
    """Every character of a key or a value comes back, as Java's own writer escapes it."""
    jvm: Any = lake.spark._jvm  # noqa: SLF001  pyspark has no public way there
    values = {"a b:c=d#e!f\\g": " leading, trailing \\", "tab\tnew\nline": "😀 ä\r\f", "empty": ""}
    properties, buffer = jvm.java.util.Properties(), jvm.java.io.ByteArrayOutputStream()
    for key, value in values.items():
        properties.setProperty(key, value.removesuffix("\\"))
    properties.store(buffer, "comment")

    assert parse_properties(bytes(buffer.toByteArray())) == {
        key: value.removesuffix("\\") for key, value in values.items()
    }


@pytest.mark.parametrize(
    "path", ["s3a://bucket/t", "hdfs://host/t", "file://host/t", "file:/a%20b", "lake/t"]
)
def test_storage_that_is_not_a_local_disk_is_left_to_hudi(path: str) -> None:
    """Other file systems, and paths whose reading depends on Hadoop."""
    with pytest.raises(UnclearFilesError):
        OfflineTable(path, LOCAL).checkpoint()


def test_a_path_without_a_scheme_may_be_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hadoop's and Spark's own files, and the settings, can name another file system."""
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert hadoop_settings({}).default_fs == LOCAL_FS
    assert hadoop_settings({"spark.hadoop.fs.defaultFS": "hdfs://host"}).default_fs != LOCAL_FS
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert hadoop_settings({}).default_fs == LOCAL_FS
    (tmp_path / "core-site.xml").touch()
    assert hadoop_settings({}).default_fs != LOCAL_FS
    with pytest.raises(UnclearFilesError):
        OfflineTable(str(tmp_path / "t"), hadoop_settings({})).checkpoint()


def test_reading_a_table_imports_no_pyspark() -> None:
    """The reader starts in a moment."""
    check = "import ingest.hudi.offline_table, sys; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_files_of_earlier_versions_are_counted_until_they_are_rewritten(
    lake: "Lake", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their footers do not name Spark, whose default sessions then refuse ancient dates."""
    table = lake.table("t", buckets=1)
    earlier = {key: value for key, value in options.OWNED.items() if key not in options.SPARK_FOOTER}
    with monkeypatch.context() as patch:
        patch.setattr(options, "OWNED", earlier)
        patch.setattr("ingest.hudi.table.merger_options", lambda *_: {})  # they wrote Avro records
        for number in (1, 2):
            lake.commit(table, lake.changes(DDL, ("c", f"{number}", number, 0)))
    assert OfflineTable(lake.path(table), LOCAL).count_old_footers() == 1
    lake.commit(table, lake.changes(DDL, ("c", "3", 3, 0)))
    assert OfflineTable(lake.path(table), LOCAL).count_old_footers() == 0
