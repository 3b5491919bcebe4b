"""`ingest verify` of a table with the rows of two PostgreSQL servers, each behind its own connector."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.errors import SourceUnreachableError
from ingest.local.ports import choose_port
from ingest.verify.result import TableVerification
from tests.e2e.deployment import Deployments
from tests.live.database import Database, serve
from tests.live.engine import JARS, stream, wait_until_delivered
from tests.live.tables import LiveTables

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]

FIRST, SECOND = "first", "second"
"""The prefixes of the connectors."""
SOURCE = """
[sources.{name}]
url = "jdbc:postgresql://127.0.0.1:{port}/postgres"
user = "postgres"
prefix = "{name}"
driver = "{driver}"
wait_s = 30.0
signal_table = "inv.debezium_signal"
chunk_rows = 100
"""
START = """
create schema inv;
create table inv.debezium_signal (id varchar(64) primary key, type varchar(32) not null, data varchar(2048));
create table inv.orders (id int primary key, status text, qty {qty}, {column} text);
insert into inv.orders select i, '{name} ' || i, i, 'x' from generate_series(1, 250) i;
create table inv.parts (id int primary key, v text);
insert into inv.parts select i, 'part ' || i from generate_series({start}, {start} + 19) i;
"""
"""A key is that of two rows in `orders`, and of one row in `parts`."""


@attrs.frozen
class Sharded(LiveTables):
    """Two servers, and the tables that have rows of both."""

    servers: Mapping[str, Database]

    KEYS: ClassVar = dict.fromkeys(("orders", "parts"), ("id", "_cdc_source"))

    def write_settings(self, **values: Any) -> None:
        """Write the sources; a value is the port of the server by that name."""
        (driver,) = (JARS / "lib").glob("postgresql-*.jar")
        ports = {name: server.port for name, server in self.servers.items()} | values
        self.write_source("".join(SOURCE.format(name=n, port=p, driver=driver) for n, p in ports.items()))

    def plant_in(self, shard: str, table: str, change: str, column: str) -> None:
        """Give a column another value in the rows of one shard."""
        value = F.expr(f"if(_cdc_source like '{shard}.%', {change}, {column})")
        self.plant(table, lambda rows: rows.withColumn(column, value))


@pytest.fixture(scope="module")
def sharded(
    binaries: Path, deployments: Deployments, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sharded]:
    """Load tables of two servers once; their connectors keep streaming."""
    starts = {
        FIRST: START.format(name=FIRST, qty="int", column="a", start=1),
        SECOND: START.format(name=SECOND, qty="bigint", column="b", start=101),
    }
    with ExitStack() as stack:
        databases = {name: stack.enter_context(serve(binaries)) for name in starts}
        for name, database in databases.items():
            database.run(starts[name])
            stack.enter_context(stream(database, deployments.servers, tmp_path_factory.mktemp(name), name))
            wait_until_delivered(database)
        folder = tmp_path_factory.mktemp("sharded")
        result = Sharded(deployments.recorded(folder, FIRST), databases)
        result.write_settings()
        with result.deployment.session as session:
            patterns = [f"{name}.inv.{table}" for name in databases for table in ("orders", "parts")]
            session.onboard(patterns, name="{table}", merge=True)
        file = result.deployment.tables / "parts.toml"
        file.write_text(f'{file.read_text()}\n[shards]\nkeys = "unique"\n')
        result.deployment.run()
        yield result


def by_topic(answer: TableVerification) -> dict[str, str]:
    """Return the verdict of each topic."""
    return {topic.topic.partition(".")[0]: topic.outcome for topic in answer.topics}


@pytest.mark.parametrize(
    ("request_", "rows"),
    [
        ({}, 500), ({"mode": "full"}, 500), ({"mode": "keys"}, 500), ({"mode": "counts"}, 500),
        ({"where": "id > 240"}, 20), ({"sample_percent": 50.0}, None), ({"columns": ("qty",)}, 500),
    ],
)  # fmt: skip
def test_each_topic_equals_its_own_source(
    request_: dict[str, Any], rows: int | None, sharded: Sharded
) -> None:
    """Every order of the first server has a key of the second one, and another value."""
    answer = sharded.verify("orders", **request_)
    assert (answer.error, answer.outcome, answer.exit_code) == (None, "equal", 0)
    assert by_topic(answer) == {FIRST: "equal", SECOND: "equal"}
    assert answer.source_rows == answer.table_rows == sum(topic.source_rows for topic in answer.topics)
    assert rows is None or answer.source_rows == rows
    assert [topic.source.partition(":")[0] for topic in answer.topics] == [FIRST, SECOND]


def test_a_column_of_one_topic_is_compared_there_and_named_for_the_other(sharded: Sharded) -> None:
    """Its values in the rows of the other topic have no source."""
    answer = sharded.verify("orders")
    assert [topic.compared for topic in answer.topics] == [("status", "qty", "a"), ("status", "qty", "b")]
    assert answer.compared == ("status", "qty")
    assert answer.uncompared["a"] == "second.inv.orders: no schema of the topic has it"


def test_keys_that_are_unique_across_topics_are_compared_alike(sharded: Sharded) -> None:
    """A fault in one is found, and named with its topic."""
    assert sharded.verify("parts").outcome == "equal"
    sharded.plant_in(SECOND, "parts", "if(id = 105, 'wrong', v)", "v")
    answer = sharded.verify("parts")
    assert by_topic(answer) == {FIRST: "equal", SECOND: "different"}
    assert [dict(row.key) for row in answer.rows] == [{"id": "105", "_cdc_source": "second.inv.parts"}]


def test_a_fault_is_found_in_its_topic_and_the_equal_key_of_the_other_is_not_accused(
    sharded: Sharded,
) -> None:
    """A lost row beside an additional one, of two topics, is no equal number of rows."""

    def change(rows: DataFrame) -> DataFrame:
        changed = rows.withColumn(
            "status", F.expr("if(id = 7 and _cdc_source like 'second.%', 'wrong', status)")
        )
        added = rows.where("id = 60 and _cdc_source like 'second.%'").withColumn("id", F.lit(999))
        return changed.where("not (id = 3 and _cdc_source like 'first.%')").unionByName(added)

    sharded.plant("orders", change)
    answer = sharded.verify("orders")
    assert answer.counts == {"missing": 1, "different": 1, "extra": 1}
    assert [(row.key["id"], row.key["_cdc_source"], row.difference) for row in answer.rows] == [
        ("3", "first.inv.orders", "missing"),
        ("7", "second.inv.orders", "different"),
        ("999", "second.inv.orders", "extra"),
    ]
    assert [topic.counts for topic in answer.topics] == [{"missing": 1}, {"different": 1, "extra": 1}]
    counted = sharded.verify("orders", mode="counts")
    assert (counted.source_rows, counted.table_rows, counted.outcome) == (500, 500, "different")


def test_a_source_that_is_gone_does_not_stop_the_other_comparison(sharded: Sharded) -> None:
    """What is found in the other topic counts more."""
    with sharded.source(first=choose_port()):
        answer = sharded.verify("orders")
        assert by_topic(answer) == {FIRST: "temporary", SECOND: "different"}
        assert isinstance(answer.error, SourceUnreachableError)
        assert (answer.outcome, answer.exit_code) == ("different", 1)
        only_first = sharded.verify("parts", where="id < 105")
    with sharded.source(second=choose_port()):
        only_second = sharded.verify("parts", where="id < 105")
    assert (only_first.outcome, only_first.exit_code) == ("temporary", 75)
    assert by_topic(only_first) == {FIRST: "temporary", SECOND: "equal"}
    assert by_topic(only_second) == {FIRST: "equal", SECOND: "temporary"}


def test_a_repair_asks_the_connector_of_the_topic_that_differs(sharded: Sharded) -> None:
    """Extra rows are deleted in their topic only: the other one has a row of the same key."""
    first = sharded.servers[FIRST]
    first.run("insert into inv.orders values (999, 'first 999', 999, 'x')")
    wait_until_delivered(first)
    shown = sharded.verify("orders", repair="print")
    assert [len(topic.repair) for topic in shown.topics] == [1, 1]
    assert '\\"id\\" = 3' in shown.topics[0].repair[0]
    assert '\\"id\\" = 7' in shown.topics[1].repair[0]

    repaired = sharded.verify("orders", repair="execute", delete_extra=True, lake_wait_s=120.0)
    assert (repaired.error, repaired.outcome, repaired.deleted) == (None, "equal", 1)
    assert [topic.deleted for topic in repaired.topics] == [0, 1]
    rows = sharded.deployment.frame("orders").where("id = 999 or _cdc_op = 'r' and id in (3, 7)")
    found = {(row.id, row["_cdc_source"], row.status) for row in rows.collect()}
    assert (999, "first.inv.orders", "first 999") in found
    assert not any((key, topic) == (999, "second.inv.orders") for key, topic, _ in found)
    assert sharded.verify("orders").outcome == "equal"
    with sharded.deployment.session as session:
        (files,) = session.verify_files(["orders"])
        commits = session.commits("orders").commits
    (deletion,) = [commit.stored.instant for commit in commits if commit.kind == "repair"]
    # Planted faults are commits that do not continue; the deletion does.
    assert [item for item in files.findings if item.problem.startswith(f"commit {deletion},")] == []


def test_rows_of_a_topic_that_the_file_does_not_name_are_reported(sharded: Sharded) -> None:
    """They are not passed over."""
    path = sharded.deployment.tables / "parts.toml"
    text = path.read_text()
    line = next(line for line in text.splitlines() if line.startswith("topics = "))
    path.write_text(text.replace(line, 'topics = ["first.inv.parts"]'))
    answer = sharded.verify("parts")
    path.write_text(text)
    assert (answer.outcome, answer.source_rows) == ("equal", 20)
    assert "does not name are not compared: second.inv.parts" in answer.note
