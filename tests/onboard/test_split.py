"""The tables of one topic become a file each: their names, keys and subjects, and those that are left out."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ingest import avro
from ingest.compile.payload import WriterSchema
from ingest.errors import TableFileError, UsageError
from ingest.names import SchemaId, Topic
from ingest.onboard.outcome import Onboarded, OnboardOptions
from ingest.onboard.split import check_options, onboard_tables, refuse_clashes
from ingest.onboard.split_table import Splitting
from ingest.onboard.write import write_table
from ingest.registry import FolderRegistry
from ingest.run.batch.schemas import fetch_versions
from ingest.run.batch.topic_tables import SourceTable, TopicTables
from ingest.tables import read
from ingest.testing import CONNECTORS, envelope_schema, fields_of, key_schema, nullable
from tests.onboard.test_onboard import Folder

SHOP = Topic("shop")
ORDERS = {"id": "int", "note": nullable("string")}
PEOPLE = {"region": "string", "id": "int", "born": nullable("int")}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Make a registry with the values of two tables as versions of the topic's subject."""
    result = Folder(tmp_path)
    for version, columns in enumerate((ORDERS, PEOPLE), 1):
        result.register({"shop-value": envelope_schema("shop", columns, CONNECTORS["postgres"])}, version)
    return result


def keys_of(*columns: str, number: int = 900) -> WriterSchema:
    """Make the schema of message keys, as `by_id` returns it."""
    schema = key_schema(SHOP, dict.fromkeys(columns, "int"))
    return WriterSchema(SchemaId(number), "key", avro.parse(json.dumps(schema)))


def source_table(
    folder: Folder, name: str, version: int, *keys: WriterSchema, subject: str = "shop-value"
) -> SourceTable:
    """Make a table as its messages show it."""
    values = fetch_versions(FolderRegistry(folder.root / "registry"), subject)  # type: ignore[arg-type]
    return SourceTable(name, 10, keys, (values[version - 1],))


def split(
    folder: Folder, content: Sequence[SourceTable] | TopicTables, **options: Any
) -> dict[str, Onboarded]:
    """Onboard and write the tables of a topic; return the results by their names in the source."""
    registry = FolderRegistry(folder.root / "registry")
    choices = OnboardOptions(name="{table}", split=True, **options)
    splitting = Splitting.begin(folder.settings, registry, choices, [SHOP])
    tables = content if isinstance(content, TopicTables) else TopicTables(tuple(content))
    results = onboard_tables(splitting, SHOP, tables)
    refuse_clashes(results)
    written = (
        result if result.state == "unchanged" else write_table(folder.settings, result, dry_run=False)
        for result in results
    )
    return {result.source_table: result for result in written}


def test_each_table_gets_a_file_with_its_own_key_and_schemas(folder: Folder) -> None:
    """The router's field in the keys is not a column, and the columns are those of the table's own events."""
    orders = source_table(folder, "s.inv.orders", 1, keys_of("id", "__dbz__physicalTableIdentifier"))
    people = source_table(folder, 's.inv."odd.people"', 2, keys_of("region", "id"))

    result = split(folder, [orders, people])

    assert {name: item.state for name, item in result.items()} == {
        "s.inv.orders": "new", 's.inv."odd.people"': "new",
    }  # fmt: skip
    assert sorted(folder.files) == ["orders.toml", "people.toml"]
    table = read(folder.settings.tables_dir / "orders.toml")
    assert (table.topic, table.source_table, table.key.columns) == (SHOP, "s.inv.orders", ("id",))
    assert (table.subjects.value, table.subjects.key) == ("shop-value", None)
    other = read(folder.settings.tables_dir / "people.toml")
    assert (other.source_table, other.key.columns) == ('s.inv."odd.people"', ("region", "id"))
    assert (result["s.inv.orders"].columns, result["s.inv.orders"].messages) == (2, 10)


def test_the_subject_may_be_that_of_the_table_without_a_router(folder: Folder) -> None:
    """A router that keeps the records' names (`RegexRouter`): by topic and by record."""
    value = envelope_schema("s.inv.boxes", {"id": "int"}, CONNECTORS["postgres"])
    folder.register({"s.inv.boxes.Envelope": value})
    boxes = source_table(folder, "s.inv.boxes", 1, keys_of("id"), subject="s.inv.boxes.Envelope")

    table = split(folder, [boxes])["s.inv.boxes"].table

    assert table is not None
    assert table.subjects.value == "s.inv.boxes.Envelope"


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ([], "its messages have no key"),
        ([keys_of("id"), keys_of("id", "note", number=901)], "different keys, (id) and (id, note)"),
        ([keys_of("id", "shard")], "its keys have shard, not a column of its rows"),
    ],
)
def test_a_table_without_a_certain_key_fails_until_it_is_named(
    folder: Folder, keys: list[WriterSchema], problem: str
) -> None:
    """The others become files; with --key or --append this one does too."""
    orders = source_table(folder, "s.inv.orders", 1, *keys)
    people = source_table(folder, "s.inv.people", 2, keys_of("region", "id"))

    result = split(folder, [orders, people])

    assert (result["s.inv.orders"].state, result["s.inv.people"].state) == ("failed", "new")
    assert problem in result["s.inv.orders"].reason
    assert "--key" in result["s.inv.orders"].reason
    assert list(folder.files) == ["people.toml"]
    again = split(folder, [orders, people], key=("id",))
    assert (again["s.inv.orders"].state, again["s.inv.people"].state) == ("new", "unchanged")
    assert again["s.inv.orders"].key_columns == ("id",)
    (folder.settings.tables_dir / "orders.toml").unlink()
    appended = split(folder, [orders, people], append=True)["s.inv.orders"].table
    assert appended is not None
    assert (appended.target.mode, appended.key.columns) == ("append", ())


def test_a_file_that_takes_a_table_stays_whatever_its_name(folder: Folder) -> None:
    """Renamed, with the name written in another way, and edited: only the new table gets a file."""
    orders = source_table(folder, "s.inv.orders", 1, keys_of("id"))
    split(folder, [orders])
    text = folder.files["orders.toml"].replace('table = "orders"', 'table = "my_orders"')
    text = text.replace('"s.inv.orders"', "'s.\"inv\".orders'") + "\n# ours\n"
    (folder.settings.tables_dir / "orders.toml").unlink()
    (folder.settings.tables_dir / "my_orders.toml").write_text(text)

    people = source_table(folder, "s.inv.people", 2, keys_of("id"))
    result = split(folder, [orders, people])

    assert {name: item.state for name, item in result.items()} == {
        "s.inv.orders": "unchanged", "s.inv.people": "new",
    }  # fmt: skip
    assert sorted(folder.files) == ["my_orders.toml", "people.toml"]
    assert folder.files["my_orders.toml"] == text


def test_names_that_clash_are_refused(folder: Folder) -> None:
    """Two tables of one name write nothing; that of another table's file fails, and the file stays."""
    first = source_table(folder, "s.inv.orders", 1, keys_of("id"))
    second = source_table(folder, "s.old.orders", 1, keys_of("id"))
    with pytest.raises(UsageError, match=r"s\.inv\.orders and .*s\.old\.orders would all become"):
        split(folder, [first, second])
    assert not (folder.root / "tables").exists()

    split(folder, [first])
    before = folder.files
    result = split(folder, [second])["s.old.orders"]

    assert result.state == "failed"
    assert "'orders' is the name of another table" in result.reason
    assert folder.files == before


def test_a_broken_file_stops_the_command(folder: Folder) -> None:
    """One of the tables may be in it."""
    (folder.root / "tables").mkdir()
    (folder.root / "tables" / "x.toml").write_text("table = 1\n")

    with pytest.raises(TableFileError, match=r"x\.toml"):
        split(folder, [source_table(folder, "s.inv.orders", 1, keys_of("id"))])


def test_unreadable_messages_and_a_plain_file_are_caveats(folder: Folder) -> None:
    """Each new file says so: those messages may be of any table, that file takes all of them."""
    (folder.root / "tables").mkdir()
    plain = 'table = "all"\ntopic = "shop"\ndialect = "postgres"\n[subjects]\nvalue = "shop-value"\n'
    (folder.root / "tables" / "all.toml").write_text(plain)
    orders = source_table(folder, "s.inv.orders", 1, keys_of("id"))

    caveats = " | ".join(split(folder, TopicTables((orders,), unreadable=3))["s.inv.orders"].caveats)

    assert "messages that name no readable table, which each table rejects: 3" in caveats
    assert "table all without source_table takes the changes of all tables" in caveats
    assert caveats.split(" | ")[0] in folder.files["orders.toml"]


UNNAMED = {
    "MongoDB": envelope_schema("shop", {}, CONNECTORS["mongodb"]),
    "looks flattened": {
        "type": "record", "name": "Flat", "fields": fields_of({"id": "int", "__op": "string"}),
    },
}  # fmt: skip


@pytest.mark.parametrize("problem", UNNAMED)
def test_events_that_do_not_name_a_table_are_refused(folder: Folder, problem: str) -> None:
    """By the connector, or the form; alone and next to tables."""
    folder.register({"other-value": UNNAMED[problem]})
    registry = FolderRegistry(folder.root / "registry")
    unnamed = fetch_versions(registry, "other-value")  # type: ignore[arg-type]

    result = split(folder, TopicTables((), unnamed))[""]

    assert result.state == "failed"
    assert problem in result.reason
    both = split(folder, TopicTables((source_table(folder, "s.inv.orders", 1, keys_of("id")),), unnamed))
    assert (both[""].state, both["s.inv.orders"].state) == ("failed", "new")


def test_a_topic_without_tables_says_why(folder: Folder) -> None:
    """Bytes that are not events fail; heartbeats and tombstones are no changes yet."""
    beat = {"type": "record", "name": "Heartbeat", "namespace": "io.debezium.connector.common",
            "fields": fields_of({"ts_ms": "long"})}  # fmt: skip
    folder.register({"beats-value": beat})
    beats = fetch_versions(FolderRegistry(folder.root / "registry"), "beats-value")  # type: ignore[arg-type]

    results = [split(folder, TopicTables((), *rest))[""] for rest in (((), 7), (beats,), ())]

    assert [result.state for result in results] == ["failed", "left out", "left out"]
    assert "7 messages, and not one is a change event in Avro" in results[0].reason
    assert "heartbeats" in results[1].reason
    assert "without changes" in results[2].reason


@pytest.mark.parametrize(
    "options", [{"format": "debezium-json"}, {"merge": True}, {"schema": Path("x.avsc")}], ids=str
)
def test_options_of_topics_of_one_table_are_refused(options: dict[str, Any]) -> None:
    """Before a broker or Spark is asked."""
    with pytest.raises(UsageError, match="--split"):
        check_options(OnboardOptions(split=True, **options))
