"""Rows by a condition: those that enter and leave it, against a referee in plain Python."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from ingest import Session
from ingest.errors import DecodeError, EvolutionError, TableChangedError, TableFileError
from ingest.testing import Messages, Topic, nullable
from ingest.testing.deployment import Deployment
from tests.e2e.deployment import Deployments
from tests.long_files import write_out

pytestmark = [pytest.mark.spark, pytest.mark.servers]

MISSING: Final = "__debezium_unavailable_value"
COLUMNS: Final = {"id": "int", "region": nullable("string"), "n": nullable("int"), "select": nullable("int")}
WHERE: Final = "region in ('EU', 'UK') and n % 3 != 0 -- of Europe"
Row = dict[str, Any]
Lake = Callable[..., Session]


def is_inside(row: Row) -> bool:
    """Decide the condition as Python does; SQL's null is not true."""
    return row["region"] in ("EU", "UK") and row["n"] is not None and row["n"] % 3 != 0


def random_changes(topic: Topic, seed: int, count: int) -> tuple[list[Messages], dict[int, Row]]:
    """Make changes of few keys, some late; return them with the rows that the source has in the end."""
    chance = random.Random(seed)  # noqa: S311  a test's
    rows: dict[int, tuple[tuple[int, int], Row | None]] = {}
    changes: list[Messages] = []
    for at in range(1, count + 1):
        key = chance.randrange(24)
        row = {
            "id": key,
            "region": chance.choice(("EU", "US", "UK", None)),
            "n": chance.randrange(8),
            "select": at,
        }
        row["n"] = None if row["n"] == 7 else row["n"]
        position = at if chance.random() > 0.2 else max(1, at - chance.randrange(12))
        is_delete = chance.random() < 0.15
        place = {"pos": 100 * position, "row": at}
        changes.append(
            topic.delete(row, at=place, tombstone=False) if is_delete else topic.update(row, at=place)
        )
        if key not in rows or (position, at) > rows[key][0]:
            rows[key] = ((position, at), None if is_delete else row)
    return changes, {key: row for key, (_, row) in rows.items() if row is not None and is_inside(row)}


def make(root: Path, deployments: Deployments, name: str, connector: str, **target: str) -> Deployment:
    """Onboard a topic, and set a condition as a user does."""
    deployment = deployments.plain(root)
    columns = {**COLUMNS, "big": nullable("string")} if connector == "postgres" else COLUMNS
    deployment.topic(f"{name}.inv.rows", columns, connector=connector)
    deployment.onboard(name="t")
    write_out(deployment.tables)
    file = deployment.tables / "t.toml"
    text = file.read_text()
    for key, value in target.items():
        before = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
        text = text.replace(before, f'{key} = "{value}"')
    file.write_text(f'{text}\n[rows]\nwhere = "{WHERE}"\n')
    return deployment


def rows_in(deployment: Deployment, lake: Path) -> dict[int, Row]:
    """Read the rows that readers see, with plain Spark."""
    frame = deployment.spark.read.format("hudi").load(str(lake / "t"))
    visible = frame.where("not _cdc_deleted") if "_cdc_deleted" in frame.columns else frame
    rows = [{name: row[name] for name in COLUMNS} for row in visible.collect()]
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row for row in rows}


def run_in(
    deployment: Deployment, lake: Path, slices: Sequence[int | None], *, again: bool = False
) -> list[Any]:
    """Run in slices, in a lake of its own; `again` then reads every slice a second time."""
    with Session.open(
        deployment.root / "ingest.toml", overrides={"lake.path": str(lake)}, spark=deployment.spark
    ) as session:
        reports = [session.run(max_offsets=size).tables[0] for size in slices]
        if again:
            session.move_offsets("t", "earliest")
            reports.append(session.run().tables[0])
    assert [report.error for report in reports if report.error] == []
    return reports


@pytest.mark.parametrize(
    ("kind", "delete"), [pytest.param("cow", "hard", marks=pytest.mark.pairs), ("mor", "soft")]
)
def test_rows_enter_and_leave(kind: str, delete: str, tmp_path: Path, deployments: Deployments) -> None:
    """Once, in slices, repeated: the rows are the source's for which the condition is true."""
    deployment = make(tmp_path, deployments, f"w{kind}", "mysql", type=kind, delete=delete)
    topic = deployment.topics[f"w{kind}.inv.rows"]
    changes, expected = random_changes(topic, 7, 120)
    topic.send(*changes)

    (once,) = run_in(deployment, tmp_path / "once", [None])
    sliced = [45, 40, None] if delete == "soft" else [None]
    repeated = run_in(deployment, tmp_path / "slices", sliced, again=True)

    assert len(expected) > 1
    assert rows_in(deployment, tmp_path / "once") == expected
    assert rows_in(deployment, tmp_path / "slices") == expected
    assert once.counts.ignored["filtered"] > 0
    for report in (once, *repeated):
        assert report.counts.read == sum(
            (
                report.counts.upserted,
                report.counts.deleted,
                report.counts.superseded,
                *report.counts.ignored.values(),
            )
        )
    if delete == "hard":
        raw = deployments.spark.read.format("hudi").load(str(tmp_path / "once" / "t"))
        assert raw.count() == len(expected)


def test_a_row_that_enters_has_all_its_values(tmp_path: Path, deployments: Deployments) -> None:
    """A soft-delete table completes it from the row that was outside; others refuse what they cannot."""
    deployment = make(tmp_path, deployments, "wpart", "postgres", delete="soft")
    topic = deployment.topics["wpart.inv.rows"]
    row = {"id": 1, "region": "US", "n": 1, "select": 0, "big": "large"}
    back = {**row, "region": "EU", "big": MISSING}
    topic.send(topic.create(row))
    deployment.run()
    assert deployment.frame("t").where("not _cdc_deleted").count() == 0
    topic.send(topic.update(back))
    deployment.run()
    (entered,) = deployment.frame("t").where("not _cdc_deleted").collect()
    assert (entered.region, entered.big) == ("EU", "large")

    file = deployment.tables / "t.toml"
    file.write_text(
        file.read_text().replace('delete = "soft"', 'delete = "hard"').replace('table = "t"', 'table = "u"')
    )
    (first,) = deployment.run(["u"], max_offsets=1).tables
    assert first.outcome == "committed"
    (planned,), (outcome,) = deployment.plan(), deployment.run().tables
    assert isinstance(planned.error, DecodeError)
    assert "leaves out big, which did not change, and the table has no values" in str(outcome.error)
    topic.send(topic.read({**back, "big": "larger"}, snapshot="incremental"))
    assert deployment.run().tables[0].outcome == "committed"
    assert [kept.big for kept in deployment.frame("u").collect()] == ["larger"]
    topic.send(topic.update({**back, "region": "US", "big": "larger"}))
    assert deployment.run().tables[0].counts.ignored == {"filtered": 1}
    topic.send(topic.update({**back, "region": MISSING, "big": "huge"}))
    assert "leaves out region" in str(deployment.run().tables[0].error)
    assert deployment.frame("u").count() == 0


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("n >", "Spark cannot read it"),
        ("nn > 1", "nn"),
        ("n > 1) or (n < 9", "Spark cannot read it"),
        ("sum(n) > 1", "has an aggregate"),
        ("n > (select 1)", "has a subquery"),
        ("exists (select 1)", "has a subquery"),
        ("row_number() over (order by n) = 1", "has an aggregate, a window"),
        ("explode(array(true, false))", "has an aggregate"),
        ("rand() > 0.5", "is not deterministic: rand"),
        ("current_date() > date'2026-01-01'", "depends on the run"),
        ("current_user() = 'me'", "depends on the run"),
        ("assert_true(n > 1) is null", "raises errors"),
        ("n", "is a int, and a condition is a boolean"),
        ("_cdc_offset > 3", "_cdc_offset"),
        ("struct(*) is null", "names all columns"),
    ],
)
def test_a_condition_that_is_not_one_of_the_row_is_refused(
    where: str, problem: str, refused: Callable[[str], str]
) -> None:
    """By plan and run alike; nothing is written."""
    assert problem in refused(where)


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory, deployments: Deployments) -> Callable[[str], str]:
    """Return a function that plans and runs a table with a condition, and returns the error of both."""
    root = tmp_path_factory.mktemp("refused")
    deployment = make(root, deployments, "wbad", "mysql")
    topic = deployment.topics["wbad.inv.rows"]
    topic.send(topic.create({"id": 1, "region": "EU", "n": 1, "select": 0}))
    file = deployment.tables / "t.toml"
    text = file.read_text()

    def run(where: str) -> str:
        file.write_text(text.replace(WHERE, where))
        (planned,), (outcome,) = deployment.plan(), deployment.run().tables
        assert str(planned.error) == str(outcome.error)
        assert isinstance(planned.error, TableFileError)
        assert not (root / "lake" / "t").exists()
        return str(planned.error)

    return run


def test_a_changed_condition_and_a_dropped_column_are_refused(
    tmp_path: Path, deployments: Deployments
) -> None:
    """Stored rows were chosen by the old condition; a version without its column would remove them all."""
    deployment = make(tmp_path, deployments, "wchg", "mysql")
    topic = deployment.topics["wchg.inv.rows"]
    topic.send(topic.create({"id": 1, "region": "EU", "n": 1, "select": 0}))
    assert deployment.run().tables[0].error is None
    topic.send(topic.create({"id": 2, "region": "EU", "n": 1, "select": 0}))
    file = deployment.tables / "t.toml"
    text = file.read_text()
    for other in (text.replace(WHERE, "n > 0"), text.replace(f'[rows]\nwhere = "{WHERE}"\n', "")):
        file.write_text(other)
        (planned,), (outcome,) = deployment.plan(), deployment.run().tables
        assert isinstance(planned.error, TableChangedError)
        assert outcome.outcome == "failed"
    file.write_text(text)
    topic.version({"id": "int", "region": nullable("string")})
    topic.send(topic.create({"id": 3, "region": "EU"}))
    (planned,), (outcome,) = deployment.plan(), deployment.run().tables
    assert isinstance(planned.error, EvolutionError)
    assert "column n" in str(planned.error)
    assert "`rows.where` of the table file reads it" in str(outcome.error)
    assert [row.id for row in deployment.frame("t").collect()] == [1]
