"""Masks and new names of a table that exists, kills around the exchange, little disk, compacted topics."""

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.hudi.upkeep import rebuild as rebuilding
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, Topic, make_topics
from tests.e2e.tablefiles import add_text, copy_table
from tests.e2e.test_rebuild import edit, rebuild
from tests.e2e.test_tombstones import WAIT_S, compacted, messages

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "region": "string", "card": nullable("string")}
FIRST = [
    Change("c", {"id": n, "region": f"r{n % 2}", "card": f"4929-0000-{n:04}"}, at=n) for n in range(1, 6)
]
LATER = [Change("u", {"id": 2, "region": "r0", "card": "4929-0000-2222"}, at=20)]


def begin(make_deployment: Callable[[], Deployment], *tables: str) -> tuple[Deployment, Topic]:
    """Make tables over one topic, and run them once."""
    deployment = make_deployment()
    (topic,) = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.cards": COLUMNS}).values()
    deployment.onboard()
    for table in tables:
        copy_table(deployment, "cards", table)
    (deployment.tables / "cards.toml").unlink()
    topic.send(*FIRST)
    assert deployment.run().exit_code == 0
    return deployment, topic


def cards(deployment: Deployment, table: str, column: str = "card") -> list[tuple[int, str]]:
    """Return key and card of each row."""
    return sorted((row["id"], row[column]) for row in deployment.frame(table).collect())


def test_masks_and_new_names_of_a_table_that_exists(make_deployment: Callable[[], Deployment]) -> None:
    """A mask needs the topic, and no file of the new version has a value in clear; a name needs the table."""
    deployment, topic = begin(make_deployment, "masked", "renamed")
    add_text(deployment, "masked", '[columns.card]\nmask = "last4"')
    add_text(deployment, "renamed", '[columns.card]\nrename = "number"')
    for table, source in (("masked", "topic"), ("renamed", "table")):
        (plan,) = deployment.plan([table])
        assert plan.rebuild is not None
        assert plan.rebuild.needed_source == source
        assert plan.verdict == "fail"
    assert "does not have the values of the source any more" in str(rebuild(deployment, "masked").error)
    before = set((deployment.root / "lake" / "masked").glob("*.parquet"))
    for table, source in (("masked", "topic"), ("renamed", "table")):
        assert rebuild(deployment, table, source).error is None
    new = set((deployment.root / "lake" / "masked").glob("*.parquet")) - before
    assert new
    assert not any(b"4929" in path.read_bytes() for path in new)

    topic.send(*LATER)
    assert deployment.run().exit_code == 0
    expected = [(n, f"4929-0000-{n:04}") for n in range(1, 6)]
    expected[1] = (2, "4929-0000-2222")
    assert cards(deployment, "renamed", "number") == expected
    assert "card" not in deployment.frame("renamed").columns
    assert cards(deployment, "masked") == [(n, f"****{text[-4:]}") for n, text in expected]


def test_a_copy_that_a_killed_rebuild_left_is_removed(make_deployment: Callable[[], Deployment]) -> None:
    """By maintenance, and by the next rebuild; a kill on either side of the exchange leaves all rows."""
    deployment, _ = begin(make_deployment, "parted")
    copy, rows = deployment.root / "lake" / "_rebuild" / "parted", cards(deployment, "parted")
    edit(deployment, "parted", partition_by='["region"]', index='"global_simple"')

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rebuilding, "exchange", killed)
        assert "killed" in str(rebuild(deployment, "parted").error)
    assert (copy / ".hoodie").is_dir()
    assert cards(deployment, "parted") == rows
    with deployment.session as session:
        assert session.maintain().exit_code == 0
    assert not copy.exists()
    assert rebuild(deployment, "parted").error is None
    shutil.copytree(deployment.root / "lake" / "parted", copy)  # killed after the exchange: the old table
    assert cards(deployment, "parted") == rows
    edit(deployment, "parted", partition_by="[]")
    assert rebuild(deployment, "parted").error is None
    assert not copy.exists()
    assert cards(deployment, "parted") == rows


def killed(first: Path, second: Path) -> None:
    """Fail as a file system that cannot exchange two folders."""
    raise OSError(5, "killed", str(first), None, str(second))


def test_too_little_disk_is_told_before_anything_is_written(
    make_deployment: Callable[[], Deployment],
) -> None:
    """By the plan, and by the command."""
    deployment, _ = begin(make_deployment, "large")
    lake = deployment.root / "lake"
    edit(deployment, "large", buckets="5")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ingest.operations.rebuild.rebuild_plan.ROOM", 1e12)
        before = sorted(str(path) for path in (lake / "large").rglob("*"))
        (plan,) = deployment.plan(["large"])
        assert plan.rebuild is not None
        assert re.match(r"it needs [\d,.]+ MB of disk, and [\d,.]+ MB are free", plan.rebuild.problem)
        result = rebuild(deployment, "large")
    assert "Free disk space; nothing was written" in str(result.error)
    assert sorted(str(path) for path in (lake / "large").rglob("*")) == before


@pytest.mark.pairs
def test_a_compacted_topic_gives_all_rows_or_is_refused(make_deployment: Callable[[], Deployment]) -> None:
    """The cleaner keeps the newest message of each key; a row whose message it took cannot be read again."""
    deployment = make_deployment()
    name = f"{deployment.prefix}.testDB.dbo.compact"
    topic = Topic.begin(name, COLUMNS, compacted(deployment, name))
    deployment.onboard([name])
    topic.send(*FIRST, *LATER)
    run_after_cleaning(deployment, topic)
    expected = [(n, f"4929-0000-{n:04}") for n in range(1, 6)]
    expected[1] = (2, "4929-0000-2222")
    assert cards(deployment, "compact") == expected
    edit(deployment, "compact", buckets="5")
    assert rebuild(deployment, "compact", "topic").error is None
    assert cards(deployment, "compact") == expected

    topic.send(Change("u", {"id": 2, "region": "r0", "card": "older"}, at=10))
    run_after_cleaning(deployment, topic)
    assert cards(deployment, "compact") == expected  # an older change loses
    edit(deployment, "compact", buckets="7")
    refused = str(rebuild(deployment, "compact", "topic").error)
    assert "1 rows of the table come from messages that the topic does not give any more" in refused
    assert cards(deployment, "compact") == expected


def run_after_cleaning(deployment: Deployment, topic: Topic) -> None:
    """Run once, wait until the cleaner has left one message of row 2, and run again."""
    assert deployment.run().exit_code == 0
    end, key = time.monotonic() + WAIT_S, topic.key_bytes({"id": 2})
    while sum(message.key() == key for message in messages(deployment, topic)) != 1:
        assert time.monotonic() < end, f"the broker has not compacted {topic.name}"
        topic.send(Change("u", FIRST[4].row, at=40))  # a segment is closed by the next message
        time.sleep(0.5)
    assert deployment.run().exit_code == 0
