"""Plan and run refuse the same table files, with the same error."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest import Session
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "region": "string", "v": nullable("string"), "n": nullable("int")}
TARGETS: Final = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(("cow", "mor")),
        "partition_by": st.sampled_from(([], ["id"], ["region"], ["v"], ["missing"])),
        "index": st.sampled_from(("bucket", "global_simple")),
        "delete": st.sampled_from(("hard", "soft")),
        "buckets": st.sampled_from((1, 3)),
    },
)
KEYS: Final = st.sampled_from(([], ["id"], ["id", "region"], ["v"], ["missing"]))
OPTIONS: Final = st.sampled_from(
    (
        {},
        {"hoodie.table.name": "other"},
        {"hoodie.index.type": "SIMPLE"},
        {"hoodie.clean.trigger.max.commits": "ten"},
        {"hoodie.cleaner.policy": "SOMETIMES"},
        {"hoodie.clean.trigger.max.commits": "5"},
    )
)
COLUMN: Final = st.sampled_from(({}, {"exclude": True}, {"rename": "w"}, {"type": "decimal(9,2)"}))
_LAKES: Final = count(1)


def table_file(topic: str, target: dict[str, Any], key: list[str], options: Any, column: Any) -> str:
    """Write a table file; TOML takes JSON's texts, numbers and lists."""
    lines = [f'table = "t"\ntopic = "{topic}"\ndialect = "sqlserver"', "[subjects]"]
    lines += [f'{side} = "{topic}-{side}"' for side in ("key", "value")]
    parts = {"key": {"columns": key} if key else {}, "target": target, "hudi": options, "columns.v": column}
    for name, values in parts.items():
        lines += [
            f"[{name}]",
            *(f"{json.dumps(option)} = {json.dumps(value)}" for option, value in values.items()),
        ]
    return "\n".join(lines) + "\n"


def compare(deployment: Deployment, lake: Path) -> None:
    """Plan and run the table in a lake; both pass or both fail, for the same reason."""
    overrides = {"lake.path": str(lake)}
    with Session.open(
        deployment.root / "ingest.toml", overrides=overrides, spark=deployment.spark
    ) as session:
        (planned,) = session.plan()
        (outcome,) = session.run().tables
    assert str(planned.error) == str(outcome.error)
    verdicts = {"commit": "committed", "idle": "idle", "fail": "failed", "temporary": "temporary"}
    assert verdicts[planned.verdict] == outcome.outcome


def test_a_run_does_as_its_plan_says(make_deployment: Callable[[], Deployment]) -> None:
    """For a new table, and for one whose table file changed after its first commit."""
    deployment = make_deployment()
    topic = f"{deployment.prefix}.testDB.dbo.t"
    topics = make_topics(deployment.servers, {topic: COLUMNS})
    rows = [{"id": n, "region": "a", "v": "x", "n": n} for n in range(3)]
    topics["t"].send(*(Change("c", row, at=n + 1) for n, row in enumerate(rows)))
    deployment.tables.mkdir()
    path = deployment.tables / "t.toml"

    @settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(TARGETS, KEYS, OPTIONS, COLUMN, st.sampled_from(("new", "changed")))
    def agree(target: dict[str, Any], key: list[str], options: Any, column: Any, changed: str) -> None:
        lake = deployment.root / f"lake{next(_LAKES)}"
        if changed == "changed":
            path.write_text(table_file(topic, {}, [], {}, {}))
            overrides = {"lake.path": str(lake)}
            with Session.open(
                deployment.root / "ingest.toml", overrides=overrides, spark=deployment.spark
            ) as session:
                assert session.run(max_offsets=2).exit_code == 0
        path.write_text(table_file(topic, target, key, options, column))
        compare(deployment, lake)

    agree()


def test_a_key_of_another_type_without_messages_stops_neither(
    make_deployment: Callable[[], Deployment],
) -> None:
    """With nothing waiting a run is idle, and so is the plan; its warning names the next problem."""
    deployment = make_deployment()
    topic = f"{deployment.prefix}.testDB.dbo.t"
    topics = make_topics(deployment.servers, {topic: COLUMNS})
    deployment.onboard()
    topics["t"].send(Change("c", {"id": 1, "region": "a", "v": "x", "n": 1}, at=1))
    assert deployment.run().exit_code == 0
    key = {"type": "record", "name": "Key", "namespace": topic, "fields": [{"name": "id", "type": "bytes"}]}
    topics["t"].servers.register(f"{topic}-key", key, "NONE")

    compare(deployment, deployment.root / "lake")
