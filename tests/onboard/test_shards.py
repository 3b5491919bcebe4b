"""Topics that become one table: what the file says, and which topics cannot be joined."""

from pathlib import Path

import pytest

from ingest.errors import TableFileError
from ingest.masking import Masking
from ingest.tables import feeds, read
from ingest.testing import nullable
from tests.compile.sqlserver import envelope, key
from tests.onboard.test_onboard import ROW, Folder, table_of

SHARDS = ("shard1.inv.orders", "shard2.inv.orders")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Make a registry of two shards."""
    made = Folder(tmp_path)
    for topic in SHARDS:
        made.add(topic, table_of())
    return made


def test_topics_of_one_name_become_a_pattern(folder: Folder) -> None:
    """The pattern matches these topics and no others; each topic has its own subjects."""
    folder.add("shard1.inv.items", table_of())
    result = folder.onboard("shard*.inv.*", name="{table}", merge=True)

    assert {topic: item.state for topic, item in result.items()} == {
        ",".join(SHARDS): "new",
        "shard1.inv.items": "new",
    }
    table = read(folder.settings.tables_dir / "orders.toml")
    assert table.topics == ("shard*.inv.orders",)
    assert table.key.columns == ("id",)
    assert (table.subjects.key, table.subjects.value) == ("{topic}-key", "{topic}-value")
    assert read(folder.settings.tables_dir / "items.toml").topics == ("shard*.inv.items",)
    again = folder.onboard("shard*.inv.*", name="{table}", merge=True)
    assert {item.state for item in again.values()} == {"unchanged"}


def test_named_topics_are_listed(folder: Folder) -> None:
    """Without a pattern that fits, the file has the names; a feed has one topic and its subjects."""
    folder.onboard(*SHARDS, name="{table}", merge=True)

    table = read(folder.settings.tables_dir / "orders.toml")
    assert table.topics == SHARDS
    first, _ = feeds(table, Masking())
    assert (first.topic, first.source, first.subjects.value) == (SHARDS[0], SHARDS[0], f"{SHARDS[0]}-value")


def test_topics_that_differ_are_not_joined(folder: Folder) -> None:
    """Another key fails, with both topics; without --merge one name for two tables is refused."""
    for topic in folder.onboard("shard*", name="{table}").values():
        assert topic.state == "failed"
        assert "or make them one table, with --merge" in topic.reason
    folder.add(SHARDS[1], {"key": key({"no": "int"}), "value": envelope({**ROW, "no": "int"})}, version=2)

    (result,) = folder.onboard("shard*", name="{table}", merge=True).values()

    assert result.state == "failed"
    assert result.reason == (
        "topics of table orders differ in key: id of shard1.inv.orders, no of shard2.inv.orders"
    )
    assert not (folder.settings.tables_dir / "orders.toml").exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('topic = "a"\ntopics = ["b"]', "topics: is given next to topic"),
        ("", "topic: is missing"),
        ("topics = []", "topic: is missing"),
        ('topics = ["a", "a"]', "topics: names the topic 'a' twice"),
        ('topics = ["a b"]', "topics: found 'a b'; allowed: letters, digits"),
        ('topic = "a"\n[shards]\nkeys = "unique"', "shards: is only for a table of several topics"),
        ('topics = ["a"]\nschema_changes = "b"', "schema_changes: names one topic"),
        ('topics = ["a"]\n[shards]\nkeys = "one"', "shards.keys: found 'one' (text); allowed: 'by_topic'"),
    ],
)
def test_contradictions_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    """A file has a topic or several, and settings of several only with these."""
    path = tmp_path / "t.toml"
    path.write_text(f'table = "t"\ndialect = "sqlserver"\n{text}\n[subjects]\nvalue = "v"\n')
    with pytest.raises(TableFileError) as caught:
        read(path)
    assert problem in str(caught.value)


def test_columns_may_differ(folder: Folder) -> None:
    """The table has the columns of all topics, as over versions."""
    folder.add(SHARDS[1], table_of({**ROW, "city": nullable("string")}), version=2)
    (result,) = folder.onboard("shard*", name="{table}", merge=True).values()
    assert (result.state, result.columns) == ("new", 3)
