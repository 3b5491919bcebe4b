"""How a plan reads."""

import attrs
import pytest

from ingest.cli.plan import show_plan
from ingest.compile.diff import SchemaChange
from ingest.errors import (
    BrokerUnreachableError,
    EvolutionError,
    IngestError,
    UnexpectedError,
    UsageError,
)
from ingest.kafka.ranges import OffsetRange, TopicRanges
from ingest.names import Partition, SchemaId, Subject, Topic
from ingest.operations.plan import exit_code, with_missing_files
from ingest.operations.table_plan import ColumnChange, PlanOutcome, TablePlan, VersionPlan
from ingest.operations.versions import planned
from ingest.order.batch_counts import BatchCounts
from ingest.tables import Key, Subjects, TableConfig

TOPIC = Topic("srv.dbo.orders")
TABLE = TableConfig(name="orders", topic=TOPIC, dialect="sqlserver", subjects=Subjects(value=Subject("v")))
RANGES = TopicRanges(TOPIC, (OffsetRange(TOPIC, Partition(0), 5, 1_209),))
CHANGES = (
    SchemaChange("column-added", "phone", "string"),
    SchemaChange("decimal-widened", "amount", "decimal(19,2)", "decimal(9,2)"),
    SchemaChange("column-dropped", "fax", was="string"),
    SchemaChange("column-changed", "note", "binary", "string"),
)


def shown(plan: TablePlan, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Print a plan, and return its lines."""
    show_plan(plan)
    return capsys.readouterr().out.rstrip("\n").splitlines()


def test_a_plan_reads_from_the_table_to_the_column(capsys: pytest.CaptureFixture[str]) -> None:
    """The table's own change first; then each version, its differences and policies; then the counts."""
    version = VersionPlan(3, SchemaId(12), waiting=True, changes=planned(TABLE, CHANGES), level="BACKWARD")
    error = EvolutionError("orders", "note", "column-changed", "binary", "string", "v v3 (id 12)")
    plan = TablePlan(
        "orders", TOPIC, "fail", ranges=RANGES, counts=BatchCounts(900, 40), versions=(version,), error=error,
        columns=(
            ColumnChange("amount", "decimal(21,4)", "decimal(9,2)"),
            ColumnChange("note_v2", "binary"),
        ),
    )  # fmt: skip
    dropped = "      - fax     column-dropped   string"
    assert shown(plan, capsys) == [
        "! orders: 1,204 offsets waiting",
        "    the table changes:",
        "      ~ amount   decimal(9,2) -> decimal(21,4)",
        "      + note_v2  binary",
        "    version 3 (id 12): records waiting",
        "      + phone   column-added     string                         evolve: added; null in older rows",
        "      ~ amount  decimal-widened  decimal(9,2) -> decimal(19,2)  evolve: widened; older rows keep",
        "                                                                their values",
        f"{dropped}                         evolve: stays in the table; null in",
        "                                                                new rows",
        "      ! note    column-changed   string -> binary               fail: the run stops, nothing is",
        "                                                                written",
        "    900 to upsert, 40 to delete",
        "    would fail: table orders, column note: v v3 (id 12): column-changed is not allowed: string",
        "      becomes binary. Nothing was written.",
    ]


def test_a_plan_shows_unused_versions_and_rejected_records(capsys: pytest.CaptureFixture[str]) -> None:
    """Also a version that the registry's level would refuse today, or that was deleted."""
    unused = VersionPlan(4, SchemaId(13), waiting=False, level="BACKWARD", refusal="READER_FIELD_MISSING")
    deleted = VersionPlan(5, SchemaId(14), waiting=True, deleted=True)
    reason = "column-added phone string, and [evolution] says reject"
    plan = TablePlan(
        "orders", TOPIC, "commit", ranges=RANGES, versions=(unused, deleted),
        counts=BatchCounts(1, 0, rejected=3), refused={SchemaId(14): reason}, rewrites=("amount",),
        makes_index=True,
    )  # fmt: skip
    assert shown(plan, capsys) == [
        "~ orders: 1,204 offsets waiting",
        "    version 4 (id 13): registered, not used yet, BACKWARD refuses it",
        "    version 5 (id 14): records waiting, deleted",
        "    records of schema id 14 are rejected: column-added phone string, and [evolution] says reject",
        "    the whole table is rewritten, for amount",
        "    the whole table is read, for its record index",
        "    1 to upsert, 0 to delete, 3 rejected",
    ]


def test_a_plan_of_nothing_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing waits, and no version is new."""
    assert shown(TablePlan("orders", TOPIC, "idle"), capsys) == ["  orders: nothing waiting"]


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        ([None, None], 0),
        ([None, BrokerUnreachableError("b:1", "refused")], 75),
        ([BrokerUnreachableError("b:1", "refused"), UnexpectedError("table a", "odd")], 1),
        ([UsageError("no such thing"), UnexpectedError("table a", "odd")], 1),
    ],
)
def test_the_exit_code_is_that_of_a_permanent_failure(errors: list[IngestError | None], code: int) -> None:
    """As for a run: a temporary error decides only without permanent ones."""
    assert exit_code([TablePlan("t", TOPIC, "fail", error=error) for error in errors]) == code


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ((), 0),
        (("idle",), 0),
        (("idle", "commit"), 3),
        (("commit", "fail"), 1),
        (("commit", "temporary"), 75),
    ],
)
def test_the_detailed_exit_code_tells_work_from_none(verdicts: tuple[PlanOutcome, ...], code: int) -> None:
    """3, unless a table would fail: 2 means wrong usage."""
    errors: dict[str, IngestError] = {
        "fail": UnexpectedError("t", "x"), "temporary": BrokerUnreachableError("b:1", "x")
    }  # fmt: skip
    plans = [TablePlan("t", TOPIC, verdict, error=errors.get(verdict)) for verdict in verdicts]
    assert exit_code(plans, detailed=True) == code
    assert exit_code(plans) == (0 if code == 3 else code)


def test_a_plan_names_the_tables_without_a_file_and_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Those of the topic that a file takes are not among them, however it spells their names."""
    orders = attrs.evolve(TABLE, source_table="srv.db.dbo.orders", key=Key(("id",)))
    people = attrs.evolve(orders, name="people", source_table='srv."db".dbo.people')
    elsewhere = attrs.evolve(orders, name="boxes", topic=Topic("x"), source_table="srv.db.dbo.boxes")
    counts = BatchCounts(1, other_tables={"srv.db.dbo.people": 2, "srv.db.dbo.boxes": 3})
    plan = TablePlan("orders", TOPIC, "commit", ranges=RANGES, counts=counts)

    (warned,) = with_missing_files([plan], lambda: (orders, people, elsewhere))

    assert warned.without_file == ("srv.db.dbo.boxes",)
    assert warned.to_json()["tables_without_file"] == ["srv.db.dbo.boxes"]
    line = f"    without a table file: srv.db.dbo.boxes: `ingest onboard {TOPIC} --split`"
    assert line in shown(warned, capsys)
    (whole,) = with_missing_files([plan], lambda: (people, attrs.evolve(elsewhere, topic=TOPIC)))
    assert whole.without_file == ()
    assert "tables_without_file" not in whole.to_json()
