"""New schema versions reach the table; what would lose or falsify values stops before it is written."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest.errors import EvolutionError
from ingest.local.servers import Addresses
from ingest.run.report import RunReport
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, Columns, Row, Topic, decimal, make_topics, nullable, semantic
from tests.e2e.referee import Rows, read_table
from tests.e2e.tablefiles import add_text, copy_table

pytestmark = [pytest.mark.spark, pytest.mark.servers]

MILLIS: Final = nullable(semantic("long", "io.debezium.time.Timestamp"))
NANOS: Final = nullable(semantic("long", "io.debezium.time.NanoTimestamp"))
NOON_S: Final = 1_700_000_000
MOMENT: Final = datetime(2023, 11, 14, 22, 13, 20)  # noqa: DTZ001  the wall clock of NOON_S

OLD: Final[Columns] = {
    "id": "int",
    "whole": nullable("int"),
    "grown": nullable(decimal(9, 2)),
    "finer": nullable(decimal(10, 2)),
    "real": nullable("float"),
    "moment": MILLIS,
    "gone": nullable("string"),
}
NEW: Final[Columns] = {
    "id": "int",
    "whole": nullable("long"),
    "grown": nullable(decimal(19, 2)),
    "finer": nullable(decimal(20, 4)),
    "real": nullable("double"),
    "moment": NANOS,
    "added": nullable("string"),
}


def old_row(number: int) -> Row:
    """Make a row of the old version."""
    return {
        "id": number,
        "whole": -number,
        "grown": Decimal("1234567.89"),
        "finer": Decimal("12345678.90"),
        "real": 0.1,
        "moment": NOON_S * 1000 + 7,
        "gone": f"old {number}",
    }


def new_row(number: int) -> Row:
    """Make a row of the new version, with values that the old types cannot hold."""
    return {
        "id": number,
        "whole": 1 << 40,
        "grown": Decimal("12345678901234567.89"),
        "finer": Decimal("1234567890123456.7891"),
        "real": 0.1,
        "moment": NOON_S * 10**9 + 1_234_500,
        "added": f"new {number}",
    }


def as_stored(row: Row) -> Row:
    """Say what the table must hold of a row, once it knows both versions."""
    is_new = "added" in row
    return {
        **row,
        "moment": MOMENT.replace(microsecond=1_234 if is_new else 7_000),
        "gone": row.get("gone"),
        "added": row.get("added"),
    }


@attrs.frozen
class Grown:
    """Three tables over one topic: two met its versions one after the other, one met all at once."""

    deployment: Deployment
    reports: tuple[RunReport, ...]
    topic: Topic


@pytest.fixture(scope="module")
def deployment(
    tmp_path_factory: pytest.TempPathFactory, servers: Addresses, outer_spark: SparkSession
) -> Deployment:
    """Make the deployment that all these tests share."""
    return Deployment(tmp_path_factory.mktemp("evolution"), servers, outer_spark, "evo")


@pytest.fixture(scope="module")
def grown(deployment: Deployment) -> Grown:
    """Run the old version, then both mixed, then the old one alone."""
    topic = make_topics(deployment.servers, {"evo.testDB.dbo.cow": OLD})["cow"]
    deployment.onboard()
    copy_table(deployment, "cow", "mor", type='"mor"')
    old_id = topic.last_id
    topic.send(*(Change("c", old_row(number), at=number) for number in (1, 2, 3, 4)))
    first = deployment.run(["cow", "mor"])
    new_id = topic.add_version(NEW)
    topic.send(Change("u", new_row(2), at=20), Change("c", new_row(5), at=21), schema_id=new_id)
    topic.send(
        Change("u", old_row(3), at=22), Change("u", old_row(5), at=23), Change("d", old_row(4), at=24),
        schema_id=old_id,
    )  # fmt: skip
    second = deployment.run(["cow", "mor"])
    topic.send(Change("c", old_row(6), at=30), schema_id=old_id)
    copy_table(deployment, "cow", "at_once")
    return Grown(deployment, (first, second, deployment.run(["cow", "mor", "at_once"])), topic)


@pytest.mark.parametrize("table", ["cow", "mor", "at_once"])
def test_rows_of_all_versions_read_back_right(grown: Grown, table: str) -> None:
    """Whatever came first: wider values are whole, narrow ones keep their value, absent columns are null."""
    rows = rows_of(grown.deployment, table)

    assert rows == {
        (1,): as_stored(old_row(1)),
        (2,): as_stored(new_row(2)),
        (3,): as_stored(old_row(3)),
        (5,): as_stored(old_row(5)),
        (6,): as_stored(old_row(6)),
    }
    types = dict(grown.deployment.frame(table).dtypes)
    assert {name: types[name] for name in NEW} == {
        "id": "int",
        "whole": "bigint",
        "grown": "decimal(19,2)",
        "finer": "decimal(20,4)",
        "real": "double",
        "moment": "timestamp_ntz",
        "added": "string",
    }


def test_the_report_tells_of_every_change_once(grown: Grown) -> None:
    """In the run that made it, not in the first load, and not when the old version comes again."""
    first, second, third = (one.to_json()["tables"] for one in grown.reports)

    for table in (*first, *third):
        assert table["schema_changes"] == []
    for table in second:
        changes = sorted(table["schema_changes"], key=lambda change: str(change["column"]))
        assert changes == [
            {"kind": "column-added", "column": "added", "type": "string"},
            {"kind": "column-widened", "column": "finer", "type": "decimal(20,4)", "was": "decimal(10,2)"},
            {"kind": "column-widened", "column": "grown", "type": "decimal(19,2)", "was": "decimal(9,2)"},
            {"kind": "column-widened", "column": "real", "type": "double", "was": "float"},
            {"kind": "column-widened", "column": "whole", "type": "bigint", "was": "int"},
        ]
        assert table["schema_ids"] == list(grown.topic.versions)


# --- what must stop ----------------------------------------------------------------------------

CLASHES: Final[Mapping[str, tuple[Any, Any, Any, Any]]] = {
    "int_text": (nullable("int"), 7, nullable("string"), "seven"),
    "text_int": (nullable("string"), "7", nullable("int"), 7),
    "time_text": (MILLIS, NOON_S * 1000, nullable("string"), "noon"),
    "too_wide": (nullable(decimal(38, 0)), Decimal(7), nullable(decimal(38, 9)), Decimal("7.123456789")),
    "shrunk": (nullable(decimal(19, 2)), Decimal("7.00"), nullable(decimal(9, 2)), Decimal("8.00")),
}
"""Type and value of a column in a first and in a second version; the last pair loses nothing."""
STOPPED: Final = [name for name in CLASHES if name != "shrunk"]


@pytest.fixture(scope="module")
def clashed(deployment: Deployment, grown: Grown) -> tuple[Deployment, RunReport]:
    """Run the first versions; then both, in the same tables, and in others that meet both at once."""
    del grown  # its tables are there before these
    names = {f"evo.testDB.dbo.{n}": {"id": "int", "x": kind} for n, (kind, *_) in CLASHES.items()}
    topics = make_topics(deployment.servers, names)
    deployment.onboard()
    for name, (_, first, _, _) in CLASHES.items():
        topics[name].send(Change("c", {"id": 1, "x": first}, at=1))
        copy_table(deployment, name, f"first_{name}")
    assert deployment.run([*CLASHES]).outcome == "done"
    for name, (_, _, kind, second) in CLASHES.items():
        topics[name].add_version({"id": "int", "x": kind})
        topics[name].send(Change("c", {"id": 2, "x": second}, at=2))
    return deployment, deployment.run([*CLASHES, *(f"first_{name}" for name in CLASHES)])


@pytest.mark.parametrize("name", STOPPED)
def test_a_change_that_is_not_safe_stops_before_anything_is_written(
    clashed: tuple[Deployment, RunReport], name: str
) -> None:
    """Against the table, and inside a first batch: the column is named, rows and offsets stay."""
    deployment, report = clashed
    for table in (name, f"first_{name}"):
        (outcome,) = (one for one in report.tables if one.table == table)
        assert isinstance(outcome.error, EvolutionError), outcome.error
        assert (outcome.error.table, outcome.error.column) == (table, "x")
        assert outcome.instant is None
    (status,) = deployment.session.status([name])
    assert status.last is not None
    assert (status.last.next_offsets, status.lag) == ({0: 1}, 1)
    assert rows_of(deployment, name).keys() == {(1,)}
    assert not (deployment.root / "lake" / f"first_{name}").exists()


def test_a_narrower_type_of_the_source_leaves_the_tables_type(clashed: tuple[Deployment, RunReport]) -> None:
    """Its values fit, so nothing is lost and nothing changes."""
    deployment, report = clashed
    (outcome,) = (one for one in report.tables if one.table == "shrunk")

    assert (outcome.outcome, outcome.schema_changes) == ("committed", ())
    for table in ("shrunk", "first_shrunk"):
        assert {key: row["x"] for key, row in rows_of(deployment, table).items()} == {(1,): 7, (2,): 8}
        assert dict(deployment.frame(table).dtypes)["x"] == "decimal(19,2)"


# --- what a person declares --------------------------------------------------------------------


def test_declared_columns_are_stored_as_declared(deployment: Deployment) -> None:
    """A wider type, another name (of the key too), no column at all, all nine digits, microseconds."""
    columns = {
        "id": "int",
        "amount": nullable(decimal(10, 2)),
        "secret": nullable("string"),
        "at": NANOS,
        "clock": nullable(semantic("long", "io.debezium.time.NanoTime")),
        "plain": nullable("int"),
    }
    topic = make_topics(deployment.servers, {"evo.testDB.dbo.declared": columns})["declared"]
    deployment.onboard()
    add_text(
        deployment,
        "declared",
        """
        [columns.id]
        rename = "key_id"
        [columns.amount]
        type = "decimal(20,4)"
        [columns.secret]
        exclude = true
        [columns.at]
        nanos = "string"
        rename = "happened"
        [columns.clock]
        time = "micros"
        """,
    )
    row = {
        "amount": Decimal("1.25"),
        "secret": "s",
        "at": NOON_S * 10**9 + 123_456_700,
        "clock": 5_000_000,
        "plain": 4,
    }
    topic.send(*(Change("c", {"id": number, **row}, at=number) for number in (1, 2)))
    deployment.run(["declared"])
    topic.send(Change("d", {"id": 2, **row}, at=3))

    (outcome,) = deployment.run(["declared"]).tables

    assert outcome.tally.deleted == 1
    assert read_table(deployment.frame("declared"), ["key_id"]) == {
        (1,): {
            "key_id": 1,
            "amount": Decimal("1.2500"),
            "happened": "2023-11-14T22:13:20.123456700",
            "clock": 5_000,
            "plain": 4,
        }
    }
    assert dict(deployment.frame("declared").dtypes)["amount"] == "decimal(20,4)"


def rows_of(deployment: Deployment, table: str) -> Rows:
    """Read a table's rows by key."""
    return read_table(deployment.frame(table), ["id"])
