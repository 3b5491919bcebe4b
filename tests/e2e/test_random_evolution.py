"""Random chains of compatible changes, by several versions at once: the table equals the referee's."""

import random
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

import attrs
import pytest

from ingest.local.servers import Addresses
from ingest.testing import Columns, Message, Row, decimal, nullable
from tests.e2e.changes import record
from tests.e2e.deployment import Deployment
from tests.e2e.events import Topic, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]

LADDERS: Final[Mapping[str, list[tuple[Any, Callable[[int], Any]]]]] = {
    "whole": [
        (nullable("int"), lambda n: n),
        (nullable("long"), lambda n: n << 40),
        (nullable(decimal(20, 0)), lambda n: Decimal(n) * 10**18),
        (nullable(decimal(24, 3)), lambda n: Decimal(n).scaleb(-3)),
    ],
    "exact": [
        (nullable(decimal(5, 1)), lambda n: Decimal(n).scaleb(-1)),
        (nullable(decimal(9, 2)), lambda n: Decimal(n).scaleb(-2)),
        (nullable(decimal(20, 2)), lambda n: Decimal(n).scaleb(15)),
    ],
    "real": [(nullable("float"), lambda n: n / 4), (nullable("double"), lambda n: n / 1024)],
    "text": [(nullable("string"), str)],
    "struct": [
        (nullable(record("S", a="int")), lambda n: {"a": n}),
        (nullable(record("S", a="int", b="string")), lambda n: {"a": n, "b": str(n)}),
        (nullable(record("S", a="long", b="string")), lambda n: {"a": n << 40, "b": str(n)}),
    ],
    "list": [
        (nullable({"type": "array", "items": "int"}), lambda n: [n]),
        (nullable({"type": "array", "items": "long"}), lambda n: [n << 40, n]),
    ],
}
"""Types that become wider step by step, with the value of a number in each.

A struct stands once in a schema, since its record has a name.
"""
SEEDS: Final = range(4)
EVENTS: Final = 40
VERSIONS: Final = 5


@attrs.define
class Life:
    """A source table that changes during writes, and its final rows."""

    choose: random.Random
    topic: Topic
    columns: dict[str, tuple[str, int]]
    """The ladder of each column, and the step on it."""
    shapes: dict[int, dict[str, tuple[str, int]]] = attrs.Factory(dict)
    rows: dict[int, Row] = attrs.Factory(dict)
    used: set[str] = attrs.Factory(set)
    messages: list[Message] = attrs.Factory(list)

    @property
    def schema(self) -> Columns:
        """The columns' types."""
        return {"id": "int", **{n: LADDERS[kind][step][0] for n, (kind, step) in self.columns.items()}}

    def live(self) -> None:
        """Write with all versions, newer ones more often; change the schema in between."""
        self.shapes[self.topic.last_id] = dict(self.columns)
        for number in range(EVENTS):
            if number and number % (EVENTS // VERSIONS) == 0:
                self.change()
                self.topic.version(self.schema)
                self.shapes[self.topic.last_id] = dict(self.columns)
            self.happen(number)
        self.topic.produce(self.messages)

    def change(self) -> None:
        """Widen, add or drop columns; a returning column is at least as wide as before."""
        for _ in range(self.choose.randint(1, 3)):
            name, (kind, step) = self.choose.choice(list(self.columns.items()))
            match self.choose.choice(["widen", "widen", "add", "drop"]):
                case "widen" if step + 1 < len(LADDERS[kind]):
                    self.columns[name] = (kind, step + 1)
                case "drop" if len(self.columns) > 1:
                    del self.columns[name]
                case "add":
                    kind = self.choose.choice([ladder for ladder in LADDERS if ladder != "struct"])
                    self.columns[f"{kind}_{self.topic.last_id}_{len(self.columns)}"] = (kind, 0)

    def happen(self, number: int) -> None:
        """Change a row, with one of the versions."""
        schema_id = self.choose.choice([*self.shapes, *list(self.shapes)[-2:], self.topic.last_id])
        key = self.choose.randint(1, 6)
        values = {
            name: LADDERS[kind][step][1](number) for name, (kind, step) in self.shapes[schema_id].items()
        }
        row = {"id": key, **values}
        self.used |= row.keys()
        if key in self.rows and self.choose.random() < 0.2:
            del self.rows[key]
            self.messages += self.topic.delete(row, schema_id=schema_id)
            return
        build = self.topic.update if key in self.rows else self.topic.create
        self.rows[key] = row
        self.messages += build(row, schema_id=schema_id)


@pytest.fixture(scope="module")
def lives(shared_deployment: Deployment, servers: Addresses) -> tuple[Deployment, dict[str, Life]]:
    """Run every source's life and its table in slices, with a plan before each run."""
    deployment = shared_deployment
    lives = {}
    for seed in SEEDS:
        choose = random.Random(seed)  # noqa: S311  no secret
        columns = {kind: (kind, 0) for kind in ("struct", *choose.sample([*LADDERS][:-2], 3))}
        life = Life(choose, None, columns)  # type: ignore[arg-type]  # made in the next line, of its schema
        (life.topic,) = make_topics(servers, {f"rnd.db.dbo.seed{seed}": life.schema}).values()
        life.live()
        lives[f"seed{seed}"] = life
    deployment.onboard(["rnd.db.dbo.*"])
    for seed in range(1, len(SEEDS), 2):
        path = deployment.tables / f"seed{seed}.toml"
        path.write_text(path.read_text().replace('type = "cow"', 'type = "mor"'))
    for max_offsets in (13, 17, None):
        plans = {plan.table: plan for plan in deployment.plan(max_offsets=max_offsets)}
        for done in deployment.run(max_offsets=max_offsets).tables:
            assert done.error is None
            assert plans[done.table].changes == done.schema_changes
            assert plans[done.table].counts == done.counts
    return deployment, lives


@pytest.mark.parametrize("seed", SEEDS)
def test_the_table_equals_the_source(lives: tuple[Deployment, dict[str, Life]], seed: int) -> None:
    """Every cell, in the widest type written; columns that a row's version lacked are null."""
    deployment, sources = lives
    life = sources[f"seed{seed}"]
    frame = deployment.frame(f"seed{seed}")
    records = [row.asDict(recursive=True) for row in frame.collect()]
    own = [{name: value for name, value in row.items() if not name.startswith("_")} for row in records]
    assert {name for name in frame.columns if not name.startswith("_")} == life.used
    assert sorted(row["id"] for row in own) == sorted(life.rows)
    for row in own:
        expected = life.rows[row["id"]]
        assert {name: cell(value, expected.get(name)) for name, value in row.items()} == {
            name: expected.get(name) for name in row
        }


def cell(actual: Any, expected: Any) -> Any:
    """Return a struct as its version wrote it: missing fields are null."""
    if not isinstance(actual, dict) or not isinstance(expected, dict):
        return actual
    assert all(actual[name] is None for name in actual.keys() - expected.keys())
    return {name: actual[name] for name in expected}
