"""Tables that begin with the rows of a live MariaDB, read by JDBC, equal it after later changes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from ingest.adopt.plan import Takeover
from ingest.adopt.request import LoadRequest
from ingest.local.servers import Addresses
from tests.e2e.deployment import Deployments
from tests.e2e.tablefiles import add_text, copy_table
from tests.live.engine_mariadb import driver, stream, wait_until_delivered
from tests.live.mariadb import PASSWORD, USER, MariaDb, serve
from tests.live.source_mariadb import START
from tests.live.tables import LiveTables

pytestmark = [
    pytest.mark.live,
    pytest.mark.spark,
    pytest.mark.servers,
    pytest.mark.usefixtures("mariadb_connector"),
]

PREFIX = "mariaload"
FAULTY = Path(__file__).with_name("faults_mariadb.sql")
ZERO = """
use inv;
set sql_mode = '';
create table zero (id int primary key, da date);
insert into zero values (1, '2024-02-29'), (2, '0000-00-00');
"""
SOURCE = """
[sources.maria]
url = "jdbc:mariadb://127.0.0.1:{port}/inv"
user = "{user}"
password = "{password}"
driver = "{driver}"
wait_s = 4.0
chunk_rows = 100
"""
PLAIN = ("Weird_Table", "customers", "order_lines", "scratch", "texts", "widepk")
"""A text key, a key of two columns, names that are quoted, generated values."""
WITHOUT_TEXT = {"typed": {"b8", "b64"}, "all_types": {"b8", "b64", "fl", "f5", "db", "se", "po"}}
CHANGES = (
    """
    use inv;
    update customers set balance = balance + 1 where id % 3 = 0;
    delete from customers where id = 1;
    insert into order_lines (order_id, line_no, sku, qty) values (77, 1, 'after', 5);
    delete from texts where k = 'Z';
    update texts set k = 'new' where k = 'B';
    """,
    """
    use inv;
    insert into customers (id, first_name) values (1, 'again');
    delete from order_lines where order_id = 3;
    update `Weird Table` set `select` = 7 where `the key` = 1;
    truncate scratch;
    insert into scratch values (1, 'first'), (901, null);
    update widepk set n = n + 1;
    update typed set dt6 = '2024-02-29 12:34:56.000001', bu = 1, ts = '2038-01-19 03:14:07' where id = 5;
    """,
)


@attrs.frozen
class Loading(LiveTables):
    """A database whose connector streams, and the files of its tables."""

    database: MariaDb
    servers: Addresses

    def write_settings(self, **values: Any) -> None:
        """Write the source."""
        usual = {"port": self.database.port, "user": USER, "password": PASSWORD, "driver": driver()}
        self.write_source(SOURCE.format(**usual | values))

    def position(self) -> str:
        """Return the end of the binlog as a person reads it."""
        file, offset = self.database.rows("show master status")[0][:2]
        return f"{file}:{offset}"

    def load(self, table: str, position: str, *nulls: str) -> Takeover:
        """Load a table under another name."""
        with self.deployment.session as session:
            return session.load(table, LoadRequest("jdbc", "maria", position=position, nulls=nulls))

    def change(self, statements: str) -> None:
        """Write to the source, and wait for the connector."""
        self.database.run(statements)
        wait_until_delivered(self.database, self.servers, f"{PREFIX}.inv.marks")


@pytest.fixture(scope="module")
def loading(deployments: Deployments, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loading]:
    """Onboard the tables, and run none."""
    folder = tmp_path_factory.mktemp("mariaload")
    with serve() as database:
        for text in (START.read_text(), FAULTY.read_text(), ZERO):
            database.run(text)
        result = Loading(deployments.recorded(folder, PREFIX), database, deployments.servers)
        result.write_settings()
        with stream(database, deployments.servers, folder, PREFIX):
            result.change("select 1")
            with result.deployment.session as session:
                session.onboard([f"{PREFIX}.inv.*"], name="{table}")
            for table in (*PLAIN, *WITHOUT_TEXT, "zero"):
                copy_table(result.deployment, table, f"{table}_loaded")
            copy_table(result.deployment, "typed", "typed_empty")
            yield result


@pytest.mark.parametrize("table", WITHOUT_TEXT)
def test_a_column_without_an_exact_text_is_refused_by_name(table: str, loading: Loading) -> None:
    """The first few of many, and no other."""
    refused = str(loading.load(f"{table}_loaded", loading.position()).error)
    named = {line.split()[0] for line in refused.split("column ")[1:]}
    expected = WITHOUT_TEXT[table]
    assert named <= expected
    assert named == expected or f"and {len(expected) - len(named)} more" in refused


def test_a_column_without_an_exact_text_is_left_null_if_told_to(loading: Loading) -> None:
    """As the error says; a name that the table lacks is an error."""
    refused = loading.load("typed_empty", loading.position(), "b8", "b65")
    assert "--null b65: is not a column of the table" in str(refused.error)
    assert loading.load("typed_empty", loading.position(), "b8", "b64", "vc").error is None
    rows = loading.deployment.frame("typed_empty")
    assert rows.where("b8 is null and b64 is null and vc = 'Ab'").count() == rows.count() == 60


def test_a_date_that_the_table_cannot_hold_stops_the_load(loading: Loading) -> None:
    """Events have null for it; nothing is written."""
    refused = loading.load("zero_loaded", loading.position())
    assert "da" in str(refused.error)
    assert "a value that the table cannot hold" in str(refused.error)
    assert not (loading.deployment.root / "lake" / "zero_loaded").exists()


def test_a_gtid_is_no_position(loading: Loading) -> None:
    """The error says what one looks like: events are ordered by file and offset."""
    refused = loading.load("customers_loaded", "0-1-53")
    assert "Write it such as mysql-bin.000003:154" in str(refused.error)


def test_tables_loaded_by_jdbc_equal_their_source(loading: Loading) -> None:
    """Read from a position before the first changes, while the rows have these already."""
    position = loading.position()
    loading.change(CHANGES[0])
    add_text(
        loading.deployment, "typed_loaded",
        "".join(f"[columns.{name}]\nexclude = true\n" for name in sorted(WITHOUT_TEXT["typed"])),
    )  # fmt: skip
    names = [f"{table}_loaded" for table in (*PLAIN, "typed")]
    assert [str(loading.load(name, position).error) for name in names] == ["None"] * len(names)
    loading.change(CHANGES[1])
    answers = loading.verify_all(*names)
    assert {name: (answer.outcome, answer.error) for name, answer in answers.items()} == dict.fromkeys(
        names, ("equal", None)
    )
    assert set(answers["typed_loaded"].uncompared) == WITHOUT_TEXT["typed"]
    assert answers["typed_loaded"].source_rows == 60
