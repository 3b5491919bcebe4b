"""Columns that the table file computes, against plain Python, and the expressions that are refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from ingest.errors import EvolutionError, TableChangedError, TableFileError
from ingest.testing import nullable
from ingest.testing.deployment import Deployment
from tests.e2e.deployment import Deployments
from tests.long_files import write_out

pytestmark = [pytest.mark.spark, pytest.mark.servers]

MISSING: Final = "__debezium_unavailable_value"
COLUMNS: Final = {
    "id": "int",
    "name": nullable("string"),
    "n": nullable("int"),
    "select": nullable("int"),
    "big": nullable("string"),
}
COMPUTED: Final = """
[columns.length]
sql = "char_length(big) -- of the large text"
[columns.label]
sql = "concat(upper(name), '-', `select`)"
[columns.price]
sql = "cast(n as decimal(9,2)) / 4"
"""


def make(root: Path, deployments: Deployments, name: str, kind: str = "cow") -> Deployment:
    """Onboard a topic of PostgreSQL, and compute columns as a user does."""
    deployment = deployments.plain(root)
    deployment.topic(f"{name}.inv.rows", COLUMNS, connector="postgres")
    deployment.onboard(name="t")
    write_out(deployment.tables)
    file = deployment.tables / "t.toml"
    target = 'type = "mor"' if kind == "mor" else 'type = "cow"'
    text = file.read_text().replace('type = "cow"', target)
    if kind == "mor":
        text = text.replace('delete = "hard"', 'delete = "soft"')
    file.write_text(text + COMPUTED)
    return deployment


def row(number: int, **values: Any) -> dict[str, Any]:
    """Return a row of the source."""
    return {"id": number, "name": f"n{number}", "n": number, "select": 7, "big": "x" * number, **values}


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_columns_are_computed_from_the_complete_row(
    kind: str, tmp_path: Path, deployments: Deployments
) -> None:
    """After completion from the batch and from the table; deleted rows keep what they had."""
    deployment = make(tmp_path, deployments, f"comp{kind}", kind)
    topic = deployment.topics[f"comp{kind}.inv.rows"]
    topic.send(*(topic.create(row(number)) for number in range(1, 5)))
    (plan,) = deployment.plan()
    types = {column.column: column.type for column in plan.columns}
    assert (types["length"], types["label"], types["price"]) == ("int", "string", "decimal(13,6)")
    deployment.run()
    topic.send(topic.update(row(1, n=10, big=MISSING)), topic.update(row(2, name=None)), topic.delete(row(3)))
    for report in (deployment.run(), deployment.run()):
        assert [outcome.error for outcome in report.tables if outcome.error] == []
    rows = {r.id: r for r in deployment.frame("t").collect()}
    if kind == "mor":
        assert (rows[3].length, rows.pop(3).label) == (3, "N3-7")
    values = {
        key: (r.length, r.label, None if r.price is None else float(r.price)) for key, r in rows.items()
    }
    assert values == {1: (1, "N1-7", 2.5), 2: (2, None, 0.5), 4: (4, "N4-7", 1.0)}


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("nn + 1", "nn"),
        ("max(n)", "has an aggregate"),
        ("(select 1)", "has a subquery"),
        ("uuid()", "is not deterministic"),
        ("now()", "depends on the run"),
        ("length + 1", "length"),
        ("raise_error('no')", "raises errors"),
        ("null", "is a void"),
        ("interval 1 day", "is a interval"),
        ("explode(array(1, 2))", "has an aggregate"),
    ],
)
def test_an_expression_that_is_not_one_of_the_row_is_refused(
    sql: str, problem: str, refused: Callable[[str, str], str]
) -> None:
    """By plan and run alike; nothing is written."""
    assert problem in refused("char_length(big) -- of the large text", sql)


def test_a_computed_column_does_not_replace_one_of_the_source(refused: Callable[[str, str], str]) -> None:
    """In any letter case."""
    assert "is a column of the source" in refused("[columns.label]", "[columns.NAME]")


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory, deployments: Deployments) -> Callable[[str, str], str]:
    """Return a function that plans and runs a table with an edited file, and returns the error of both."""
    root = tmp_path_factory.mktemp("refused")
    deployment = make(root, deployments, "compbad")
    topic = deployment.topics["compbad.inv.rows"]
    topic.send(topic.create(row(1)))
    file = deployment.tables / "t.toml"
    text = file.read_text()

    def run(before: str, after: str) -> str:
        assert before in text
        file.write_text(text.replace(before, after))
        (planned,), (outcome,) = deployment.plan(), deployment.run().tables
        assert str(planned.error) == str(outcome.error)
        assert isinstance(planned.error, TableFileError)
        assert not (root / "lake" / "t").exists()
        return str(planned.error)

    return run


def test_a_changed_expression_and_a_dropped_column_are_refused(
    tmp_path: Path, deployments: Deployments
) -> None:
    """Another expression, none, a new one, and a version without a column that one reads."""
    deployment = make(tmp_path, deployments, "compchg")
    topic = deployment.topics["compchg.inv.rows"]
    topic.send(topic.create(row(1)))
    deployment.run()
    topic.send(topic.create(row(2)))
    file = deployment.tables / "t.toml"
    text = file.read_text()
    for before, after in (
        ("upper(name)", "lower(name)"),
        ('[columns.price]\nsql = "cast(n as decimal(9,2)) / 4"\n', ""),
        ("[columns.price]", '[columns.new]\nsql = "n + 1"\n[columns.price]'),
    ):
        assert before in text
        file.write_text(text.replace(before, after))
        (planned,), (outcome,) = deployment.plan(), deployment.run().tables
        assert isinstance(planned.error, TableChangedError), (before, planned.error)
        assert outcome.outcome == "failed"
    file.write_text(text)
    topic.version({name: kind for name, kind in COLUMNS.items() if name != "n"})
    topic.send(topic.create({name: value for name, value in row(3).items() if name != "n"}))
    (planned,) = deployment.plan()
    assert isinstance(planned.error, EvolutionError)
    assert "`columns.price.sql` of the table file reads it" in str(deployment.run().tables[0].error)
    assert deployment.frame("t").count() == 1
