"""Rejects take effect with the commit of their offsets; a replayed reject keeps its position in the order."""

from pathlib import Path
from typing import Final

import attrs
import pytest

from ingest.errors import LakeUnreachableError, UsageError
from ingest.testing import nullable, semantic
from tests.e2e.deployment import Deployment, Deployments
from tests.e2e.events import Change, Topic, make_topics
from tests.e2e.referee import read_table
from tests.e2e.tablefiles import allow_rejects

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS: Final = {
    "id": "int",
    "name": nullable("string"),
    "on": nullable(semantic("int", "io.debezium.time.Date")),
}
NO_DATE: Final = 2**31 - 1
"""Days since 1970 that no date can be: the year is beyond 9999."""


def change(op: str, key: int, at: int, *, on: int = 0) -> Change:
    """Return a change of a row; its name is its position in the log."""
    row = {"id": key, "name": f"at {at}", "on": on}
    return Change(op, row, at=at)


@attrs.frozen
class Place:
    """A table with rejects, and its topic."""

    deployment: Deployment
    topic: Topic

    @property
    def file(self) -> Path:
        """The table file."""
        return self.deployment.root / "tables" / "t.toml"

    def edit(self, before: str, after: str) -> None:
        """Edit the table file as a user does."""
        text = self.file.read_text()
        assert before in text
        self.file.write_text(text.replace(before, after))

    def run(self) -> str:
        """Run once; return the outcome."""
        (outcome,) = self.deployment.run().tables
        return outcome.outcome

    def names(self) -> dict[int, str]:
        """Read the table's rows: names by id."""
        return {key[0]: row["name"] for key, row in read_table(self.deployment.frame("t"), ["id"]).items()}

    def kept(self) -> dict[int, str | None]:
        """Read the rejects table with plain Spark: resolutions by offset."""
        rows = self.deployment.frame("_rejects/t").select("offset", "resolved").collect()
        return {row.offset: row.resolved for row in rows}

    def open(self) -> list[int]:
        """Return the offsets of the open rejects."""
        return [reject.offset for reject in self.deployment.session.rejects("t").records]


def make_place(root: Path, deployments: Deployments, prefix: str) -> Place:
    """Create a deployment of one table."""
    deployment = deployments.recorded(root, prefix)
    topics = make_topics(deployments.servers, {f"{prefix}.testDB.dbo.t": COLUMNS})
    deployment.onboard()
    allow_rejects(deployment)
    return Place(deployment, topics["t"])


def test_rejects_of_a_run_that_died_are_void(tmp_path: Path, deployments: Deployments) -> None:
    """The next write fails, so they have no effect.  The next run writes its own; the others disappear.

    A move back reads them again: readable records become resolved, the others stay one reject each.
    """
    table = make_place(tmp_path, deployments, "void")
    table.topic.send(change("c", 1, 1), change("c", 2, 2, on=NO_DATE), change("c", 3, 3))
    table.topic.produce([(None, b"\7")])
    obstacle = tmp_path / "lake" / "t" / ".hoodie" / "timeline"
    obstacle.parent.mkdir(parents=True)
    obstacle.write_text("")  # where the write needs a folder

    assert table.run() == "failed"
    assert table.kept() == {1: None, 3: None}
    assert table.open() == []

    obstacle.unlink()
    table.edit('out_of_range = "fail"', 'out_of_range = "null"')
    assert table.run() == "committed"
    assert table.kept() == {3: None}
    assert table.open() == [3]
    assert table.names() == {1: "at 1", 2: "at 2", 3: "at 3"}

    table.edit('out_of_range = "null"', 'out_of_range = "fail"')
    table.deployment.session.move_offsets("t", "earliest")
    assert table.open() == []
    assert table.run() == "committed"
    assert table.open() == [1, 3]

    table.edit('out_of_range = "fail"', 'out_of_range = "null"')
    table.deployment.session.move_offsets("t", "earliest")
    assert table.run() == "committed"
    assert table.kept() == {1: "reread", 3: None}
    assert table.run() == "idle"


def test_a_run_completes_a_rewrite_of_properties_that_was_killed(
    tmp_path: Path, deployments: Deployments
) -> None:
    """Hudi had created the new file, of the table or of its rejects; `status` asks to try again."""
    table = make_place(tmp_path, deployments, "properties")
    for at, path in enumerate(("t", "_rejects/t"), start=1):
        table.topic.send(change("c", at, at))
        table.topic.produce([(None, b"\7")])
        assert table.run() == "committed"
        home = tmp_path / "lake" / path / ".hoodie"
        (home / "hoodie.properties").rename(home / "hoodie.properties.backup")
        (home / ".hoodie.properties.crc").unlink(missing_ok=True)
        (home / "hoodie.properties").touch()
    (status,) = table.deployment.session.status()
    assert isinstance(status.error, LakeUnreachableError)
    table.topic.send(change("c", 3, 3))
    table.topic.produce([(None, b"\7")])

    assert table.run() == "committed"
    assert table.names() == {1: "at 1", 2: "at 2", 3: "at 3"}
    assert table.kept() == {1: None, 3: None, 5: None}


def test_a_replayed_change_keeps_its_position(tmp_path: Path, deployments: Deployments) -> None:
    """A newer row wins, and a bad record stays a reject; a purge removes all."""
    table = make_place(tmp_path, deployments, "replay")
    table.topic.send(change("c", 1, 1), change("c", 2, 2), change("c", 3, 3))
    table.topic.send(change("u", 1, 4, on=NO_DATE), change("u", 2, 5, on=NO_DATE), change("u", 1, 6))
    table.topic.produce([(b"\7", table.topic.value_bytes(change("c", 4, 7)))])
    assert table.run() == "committed"
    assert table.names() == {1: "at 6", 2: "at 2", 3: "at 3"}
    session = table.deployment.session
    assert session.reject("t", 0, 6).key == b"\7"
    with pytest.raises(UsageError, match="t-0-5 is not a reject of table t"):
        session.reject("t", 0, 5)

    table.edit('out_of_range = "fail"', 'out_of_range = "null"')
    done = session.replay("t")

    assert (done.resolved, done.counts.rejected, done.counts.upserted) == (2, 1, 2)
    assert table.names() == {1: "at 6", 2: "at 5", 3: "at 3"}
    assert table.kept() == {3: "replayed", 4: "replayed", 6: None}
    assert (table.run(), table.open()) == ("idle", [6])
    assert session.purge("t", dry_run=True) == 3
    assert session.purge("t", resolved=True) == 2
    assert table.kept() == {6: None}
    assert session.purge("t", older_than_days=1) == 0
    assert session.purge("t") == 1
    assert (table.kept(), session.rejects("t").records) == ({}, ())


def test_a_restore_to_a_savepoint_reopens_the_rejects_replayed_since(
    tmp_path: Path, deployments: Deployments
) -> None:
    """Hudi's `rollback_to_savepoint` takes the replayed rows back; another replay applies them again."""
    table = make_place(tmp_path, deployments, "restore")
    table.topic.send(change("c", 1, 1), change("c", 2, 2), change("u", 1, 3, on=NO_DATE))
    assert table.run() == "committed"
    session = table.deployment.session
    (status,) = session.status(["t"])
    assert status.last is not None
    deployments.spark.sql(f"create table savepointed using hudi location '{tmp_path}/lake/t'")
    try:
        deployments.spark.sql(
            f"call create_savepoint(table => 'savepointed', commit_time => '{status.last.instant}')"
        )
        table.edit('out_of_range = "fail"', 'out_of_range = "null"')
        table.topic.send(change("c", 3, 4))
        assert table.run() == "committed"
        assert session.replay("t").resolved == 1
        assert (table.names(), table.open()) == ({1: "at 3", 2: "at 2", 3: "at 4"}, [])

        instant = f"instant_time => '{status.last.instant}'"
        deployments.spark.sql(f"call rollback_to_savepoint(table => 'savepointed', {instant})")
    finally:
        deployments.spark.sql("drop table savepointed")

    assert (table.names(), table.open()) == ({1: "at 1", 2: "at 2"}, [2])
    assert [status.rejects for status in session.status(["t"])] == [1]
    assert table.run() == "committed"
    assert session.replay("t").resolved == 1
    assert (table.names(), table.open()) == ({1: "at 3", 2: "at 2", 3: "at 4"}, [])
    assert table.run() == "idle"
