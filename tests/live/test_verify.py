"""`ingest verify` against a real PostgreSQL: it finds each planted fault, and accuses nothing else."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.errors import SourceRefusedError, SourceUnreachableError, UsageError
from ingest.hudi.table import HudiTable
from ingest.local.ports import choose_port
from ingest.local.servers import Addresses
from ingest.verify.result import TableVerification
from ingest.verify.task import Request
from tests.e2e.deployment import Deployment
from tests.live.database import Database, serve
from tests.live.engine import JARS, PREFIX, stream, wait_until_delivered
from tests.live.source import START, TABLES
from tests.live.writer import CompiledWriter

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]

FAULTY = Path(__file__).with_name("faults.sql")
LOADED = (*(table for table in TABLES if table != "late"), "texts", "typed")
SOURCE = """
[sources.live]
url = "jdbc:postgresql://127.0.0.1:{port}/{database}"
user = "{user}"
driver = "{driver}"
wait_s = 4.0
signal_table = "inv.debezium_signal"
chunk_rows = 100
"""
FAULTS = {
    "i2": "i2 + 1",
    "i4": "null",
    "i8": "i8 - 1",
    "f4": "cast(1.5000001 as float)",
    "f8": "0.10000000000000002D",
    "num": "'123.457'",
    "num2": "cast(num2 + 0.01 as decimal(12,2))",
    "num10": "cast(num10 + 0.0000000001 as decimal(38,10))",
    "num45": "'12.126'",
    "mon": "mon + 0.01",
    "bo": "not bo",
    "ch": "rtrim(ch)",
    "vc": "lower(vc)",
    "tx": "rtrim(tx)",
    "em": "cast(null as string)",
    "nu": "''",
    "ci": "lower(ci)",
    "by": "X'00fe'",
    "da": "date_add(da, 1)",
    "ti": "'12:34:56.789013'",
    "ti3": "'12:34:56.790'",
    "tz": "'11:51:30.12379Z'",
    "ts": "ts + interval 1 microsecond",
    "ts3": "ts3 + interval 1 millisecond",
    "tstz": "tstz + interval 1 hour",
    "iv": "iv + 1",
    "js": """'{"a": 2}'""",
    "jb": """'{"a":1}'""",
    "uu": "'6f5a1a0e-2b2f-4bd5-8b1a-0123456789ac'",
    "xm": "'<b/>'",
    "ine": "'192.168.0.1'",
    "b1": "not b1",
    "b8": "X'AB'",
    "vb": "X'07'",
    "r4": "'[1,11)'",
    "ta": "array('a', 'n', null)",
    "la": "array(1L, 2L, 3L)",
    "na": "array(cast(1.11 as decimal(10,2)))",
    "en": "'sad'",
    "pt": "named_struct('x', 1.5D, 'y', -2.0000000000000004D, 'wkb', pt.wkb, 'srid', pt.srid)",
    "lt": "'a.B'",
    "oi": "oi + 1",
}
"""A fault for each type, by column: the stored value, changed as little as possible."""
LOST_BY_DEBEZIUM = {"all_types": {"da": 1, "ta": 1}}
"""A snapshot drops the era of a date BC; an array of arrays arrives as Java names."""


@attrs.frozen
class Live:
    """A database, and the tables made of it."""

    database: Database
    deployment: Deployment

    def verify(self, table: str, **request: Any) -> TableVerification:
        """Verify one table."""
        with self.deployment.session as session:
            (answer,) = session.verify([table], Request(**request)).tables
        return answer

    def plant(self, table: str, change: Callable[[DataFrame], DataFrame]) -> None:
        """Replace the rows of a table in the lake."""
        with self.deployment.session as session:
            (config,) = session.tables([table])
            stored = HudiTable(session.spark, session.settings.lake.table_path(table))
            last = stored.checkpoint()
            assert last is not None
            keys = ("order_id", "line_no") if table == "order_lines" else ("id",)
            entry = attrs.evolve(last, run_id=str(uuid.uuid4()), note="a planted fault", counters={})
            stored.commit(change(stored.rows()).localCheckpoint(), config, keys, "overwrite", entry)

    def write_settings(self, user: str = "postgres", port: int = 0, database: str = "postgres") -> None:
        """Write the settings, with a source that may be wrong."""
        path = self.deployment.root / "ingest.toml"
        (driver,) = (JARS / "lib").glob("postgresql-*.jar")
        before = path.read_text().partition("\n[sources")[0]
        values = {"port": port or self.database.port, "database": database, "user": user, "driver": driver}
        path.write_text(before + SOURCE.format(**values))


@pytest.fixture(scope="module")
def live(
    binaries: Path, servers: Addresses, outer_spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    """Load every table once; the connector keeps streaming."""
    folder = tmp_path_factory.mktemp("verify")
    deployment = Deployment(folder, servers, outer_spark, PREFIX)
    with serve(binaries) as database:
        database.run(START.read_text())
        database.run(FAULTY.read_text())
        result = Live(database, deployment)
        result.write_settings()
        with stream(database, servers, folder):
            wait_until_delivered(database)
            deployment.session.onboard([f"*{PREFIX}*"], name="{table}")
            deployment.run()
            yield result


@pytest.mark.parametrize("table", LOADED)
def test_a_true_copy_is_equal(table: str, live: Live) -> None:
    """Every type of the database, by checksums: only the connector's own losses differ."""
    answer = live.verify(table)
    assert answer.error is None
    assert answer.columns == LOST_BY_DEBEZIUM.get(table, {})
    assert set(answer.counts) <= {"different"}
    assert answer.source_rows == answer.table_rows > 0
    assert dict(answer.uncompared) == (
        {"hs": "hstore and string have no common form"} if table == "all_types" else {}
    )


@pytest.mark.parametrize("mode", ["counts", "keys", "full"])
def test_the_other_modes_agree(mode: str, live: Live) -> None:
    """A composite key, and texts as keys, in each mode."""
    for table in ("order_lines", "texts"):
        answer = live.verify(table, mode=mode)
        assert (answer.outcome, answer.error) == ("equal", None)
        assert answer.source_rows == answer.table_rows


@pytest.fixture(scope="module")
def faulty(live: Live) -> TableVerification:
    """Plant a fault of each type, drop a row, double one, add one; verify in the default mode."""

    def change(rows: DataFrame) -> DataFrame:
        for number, (column, fault) in enumerate(FAULTS.items(), start=1):
            value = F.expr(f"if(id = {number}, cast({fault} as {dict(rows.dtypes)[column]}), `{column}`)")
            rows = rows.withColumn(column, value)
        extra = rows.where("id = 60").withColumn("id", F.lit(99))
        return rows.where("id != 59").unionByName(rows.where("id = 58")).unionByName(extra)

    live.plant("typed", change)
    return live.verify("typed", first=100, shows_values=True)


def test_a_fault_of_each_type_is_found(faulty: TableVerification) -> None:
    """The key and the column of each, and nothing else; the doubled, missing and extra rows too."""
    assert faulty.error is None
    assert faulty.outcome == "different"
    differing = {int(row.key["id"]): (row.difference, row.columns) for row in faulty.rows}
    expected: dict[int, tuple[str, tuple[str, ...]]] = {
        number: ("different", (column,)) for number, column in enumerate(FAULTS, start=1)
    }
    assert differing == expected | {58: ("doubled", ()), 59: ("missing", ()), 99: ("extra", ())}
    assert dict(faulty.columns) == dict.fromkeys(FAULTS, 1)
    assert faulty.counts == {"different": len(FAULTS), "doubled": 1, "missing": 1, "extra": 1}


def test_values_show_only_on_request(faulty: TableVerification, live: Live) -> None:
    """Both values of the column that differs; without the option neither."""
    row = next(row for row in faulty.rows if row.columns == ("vc",))
    assert (row.source, row.table) == ({"vc": "Ab"}, {"vc": "ab"})
    assert all(row.source is None for row in live.verify("typed").rows)


def test_narrower_questions(faulty: TableVerification, live: Live) -> None:
    """Keys, some columns, a condition and a sample see what they cover."""
    assert faulty.outcome == "different"
    assert live.verify("typed", mode="keys").counts == {"doubled": 1, "missing": 1, "extra": 1}
    assert live.verify("typed", columns=("i4",), where="id < 58").counts == {"different": 1}
    assert live.verify("typed", where="id between 43 and 57").outcome == "equal"
    assert live.verify("typed", mode="counts", following="as-is").outcome == "different"
    assert live.verify("typed", sample_percent=20.0).source_rows < 30


def test_no_row_is_accused_while_it_is_written(live: Live) -> None:
    """Writing goes on all the time: only the planted fault counts."""
    live.database.run("insert into inv.customers (id, first_name) values (1000, 'steady')")
    wait_until_delivered(live.database)
    live.deployment.run(["customers"])
    live.plant("customers", lambda rows: rows.where("id != 1000"))
    with CompiledWriter(live.database, 7):
        customers = live.verify("customers")
        lines = live.verify("order_lines", mode="full")
    assert customers.error is None
    assert customers.counts == {"missing": 1}
    assert [row.key for row in customers.rows] == [{"id": "1000"}]
    assert lines.error is None
    assert lines.counts == {}


def test_a_condition_that_is_not_sql_is_refused(live: Live) -> None:
    """By Spark, before the source is asked, or by the source."""
    assert isinstance(live.verify("scratch", where="id >").error, UsageError)
    assert "does not exist" in str(live.verify("scratch", where="try_add(id, 1) > 1").error)


def test_a_repair_makes_the_table_equal(live: Live) -> None:
    """The connector sends exactly the rows that differ; extra rows go in a commit that says so."""
    live.database.run("insert into inv.scratch select i, 'r ' || i from generate_series(101, 110) i")
    wait_until_delivered(live.database)
    live.deployment.run(["scratch"])

    def change(rows: DataFrame) -> DataFrame:
        changed = rows.where("id not in (103, 104)").withColumn("v", F.expr("if(id = 107, 'wrong', v)"))
        return changed.unionByName(rows.where("id = 110").withColumn("id", F.lit(177)))

    live.plant("scratch", change)
    shown = live.verify("scratch", repair="print")
    assert shown.counts == {"missing": 2, "different": 1, "extra": 1}
    (statement,) = shown.repair
    assert '"inv"."debezium_signal"' in statement
    assert '\\"id\\" BETWEEN 103 AND 104 OR \\"id\\" = 107' in statement

    repaired = live.verify("scratch", repair="execute", delete_extra=True, lake_wait_s=60.0)
    assert (repaired.outcome, repaired.deleted, repaired.error) == ("equal", 1, None)
    with live.deployment.session as session:
        history = session.commits("scratch").commits
    assert "does not have" in str([commit.entry.note for commit in history if commit.kind == "repair"])


def test_a_dropped_column_is_named(live: Live) -> None:
    """Others are compared."""
    live.database.run("alter table inv.texts drop column v; alter table inv.texts add column w int")
    answer = live.verify("texts")
    assert answer.error is None
    assert answer.outcome == "equal"
    assert dict(answer.uncompared) == {
        "v": "is not a column of the source",
        "w": "is not a column of the table",
    }


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"user": "reader"}, SourceRefusedError, "permission denied for table hidden"),
        ({"user": "nobody_here"}, SourceRefusedError, 'role "nobody_here" does not exist'),
        ({"database": "template1"}, UsageError, "postgres.inv.hidden"),
        ({"port": choose_port()}, SourceUnreachableError, "refused"),
    ],
)
def test_a_wrong_source_is_named(
    settings: dict[str, Any], error: type[Exception], text: str, live: Live
) -> None:
    """Nothing is compared, and the error says why."""
    live.write_settings(**settings)
    try:
        answer = live.verify("hidden")
    finally:
        live.write_settings()
    assert isinstance(answer.error, error)
    assert text in str(answer.error)
    assert answer.counts == {}
