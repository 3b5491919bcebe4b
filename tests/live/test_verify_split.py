"""Tables of one PostgreSQL that Debezium's router merges into one topic: each becomes itself again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from pyspark.sql import functions as F

from tests.e2e.deployment import Deployments
from tests.live.database import Database, serve
from tests.live.engine import JARS, SIGNALS, stream, wait_until_delivered
from tests.live.tables import LiveTables

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]

PREFIX = "split"
SHOP = f"{PREFIX}.shop"
ROUTER = rf"""\
transforms=route
transforms.route.type=io.debezium.transforms.ByLogicalTableRouter
transforms.route.topic.regex={PREFIX}\\.inv\\..*
transforms.route.topic.replacement={SHOP}
"""
SOURCE = """
[sources.live]
url = "jdbc:postgresql://127.0.0.1:{port}/postgres"
user = "postgres"
driver = "{driver}"
wait_s = 30.0
signal_table = "{signals}"
chunk_rows = 100
"""
START = """
create schema inv;
create table inv.debezium_signal (id varchar(64) primary key, type varchar(32) not null, data varchar(2048));
create table inv.orders (id int primary key, status text, qty numeric(9,2));
create table inv.people (id int primary key, status int, born date);
insert into inv.orders select i, 'order ' || i, i from generate_series(1, 250) i;
insert into inv.people select i, i, date '1970-01-01' + i from generate_series(1, 120) i;
"""
"""Each person has the key of an order, and a column of its name and of another type."""
CHANGES = """
update inv.orders set status = 'paid' where id % 5 = 0;
delete from inv.people where id <= 20;
delete from inv.orders where id = 30;
alter table inv.people add column city text;
insert into inv.people values (500, 5, '2000-02-29', 'Cork');
"""


@attrs.frozen
class Split(LiveTables):
    """One database, and the tables of its one topic."""

    database: Database

    def write_settings(self, **values: Any) -> None:
        """Write the source."""
        (driver,) = (JARS / "lib").glob("postgresql-*.jar")
        usual = {"port": self.database.port, "driver": driver, "signals": SIGNALS}
        self.write_source(SOURCE.format(**usual | values))


@pytest.fixture(scope="module")
def split(
    binaries: Path, deployments: Deployments, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Split]:
    """Load the tables of a topic once; the connector keeps streaming."""
    for part in ("key", "value"):  # the tables of the topic have schemas that do not fit each other
        SchemaRegistryClient({"url": deployments.servers.registry_url}).set_compatibility(
            f"{SHOP}-{part}", level="NONE"
        )
    with serve(binaries) as database:
        database.run(START)
        with stream(database, deployments.servers, tmp_path_factory.mktemp("engine"), PREFIX, more=ROUTER):
            wait_until_delivered(database)
            folder = tmp_path_factory.mktemp("split")
            result = Split(deployments.recorded(folder, PREFIX), database)
            result.write_settings()
            with result.deployment.session as session:
                session.onboard([SHOP], name="{table}", split=True)
            result.deployment.run(["orders", "people"])
            yield result


def test_each_table_equals_its_source(split: Split) -> None:
    """By checksums, keys, whole rows and counts, before and after changes of both tables."""
    rows = {"orders": 250, "people": 120}
    for mode in ("checksums", "keys", "full", "counts"):
        answers = split.verify_all("orders", "people", mode=mode)
        assert {name: answer.error for name, answer in answers.items()} == dict.fromkeys(rows)
        assert {name: answer.outcome for name, answer in answers.items()} == dict.fromkeys(rows, "equal")
        assert {name: answer.source_rows for name, answer in answers.items()} == rows
    split.database.run(CHANGES)
    wait_until_delivered(split.database)
    answers = split.verify_all("orders", "people")
    assert [(answer.outcome, answer.source_rows) for answer in answers.values()] == [
        ("equal", 249),
        ("equal", 101),
    ]
    again = split.verify("people")
    assert (again.outcome, "city" in again.compared) == ("equal", True)


def test_a_repair_asks_for_the_rows_of_its_table(split: Split) -> None:
    """The snapshot goes through the router, into the same topic."""
    wait_until_delivered(split.database)
    split.deployment.run(["orders", "people"])
    split.plant("orders", lambda rows: rows.withColumn("status", F.expr("if(id = 7, 'wrong', status)")))
    (shown,) = split.verify("orders", repair="print").repair
    assert '"data-collections": ["inv.orders"]' in shown
    repaired = split.verify("orders", repair="execute", lake_wait_s=120.0)
    assert (repaired.error, repaired.outcome) == (None, "equal")
    assert split.verify("people").outcome == "equal"
