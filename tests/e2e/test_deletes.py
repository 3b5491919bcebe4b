"""Soft deletes on the real Hudi: late changes, and table files that switch the mode."""

import re
from collections.abc import Callable
from typing import Any, Final

import pytest

from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, Topic, make_topics
from tests.e2e.tablefiles import copy_table

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS: Final = {"id": "int", "v": nullable("string")}
UNSENT: Final = "__debezium_unavailable_value"
SOFT: Final = ("cow", "mor")
LockHandle = dict[int, tuple[Any, ...]]


def row(number: int, value: str) -> dict[str, Any]:
    """Make a row."""
    return {"id": number, "v": value}


def held(deployment: Deployment, table: str) -> LockHandle:
    """Read the `_cdc_` columns and values of each key."""
    frame = deployment.frame(table)
    names = [name for name in ("_cdc_op", "_cdc_deleted", "v") if name in frame.columns]
    rows = [tuple(name) for name in frame.select("id", *names).collect()]
    values = {name[0]: name[1:] for name in rows}
    assert len(values) == len(rows), f"{table} has a key twice: {rows}"
    return values


def set_delete(deployment: Deployment, table: str, delete: str) -> None:
    """Edit a table file as a user does."""
    path = deployment.tables / f"{table}.toml"
    path.write_text(re.sub(r'^delete = ".*"$', f'delete = "{delete}"', path.read_text(), flags=re.MULTILINE))


def run(deployment: Deployment, topic: Topic, *changes: Change) -> None:
    """Produce changes, and run all tables."""
    topic.send(*changes)
    report = deployment.run()
    assert report.outcome == "done", report.to_json()


def test_deleted_rows_stay_with_the_position_of_the_delete(
    make_deployment: Callable[[], Deployment],
) -> None:
    """On COW and MOR: values stay, late older changes lose, inserts revive rows, replays change nothing.

    Two more tables switch from removing rows to marking them, and back.
    """
    deployment = make_deployment()
    topic = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.cow": COLUMNS})["cow"]
    deployment.onboard()
    for name in ("mor", "turns"):
        copy_table(deployment, "cow", name, type='"mor"')
    for name in SOFT:
        set_delete(deployment, name, "soft")

    run(
        deployment,
        topic,
        *(Change("c", row(number, f"v{number}"), at=number) for number in (1, 2, 3, 4)),
        Change("d", row(2, "v2"), at=10),
    )
    first = {1: ("c", False, "v1"), 2: ("d", True, "v2"), 3: ("c", False, "v3"), 4: ("c", False, "v4")}
    assert {name: held(deployment, name) for name in SOFT} == dict.fromkeys(SOFT, first)
    hard = {1: ("c", "v1"), 3: ("c", "v3"), 4: ("c", "v4")}
    assert held(deployment, "turns") == hard

    set_delete(deployment, "turns", "soft")
    # Values come from the table; an older change of a deleted row arrives late; an unknown key.
    run(
        deployment,
        topic,
        Change("d", row(1, "v1"), at=20),
        Change("u", row(2, "late"), at=5),
        Change("d", row(9, "never seen"), at=21),
    )
    second = {**first, 1: ("d", True, "v1"), 9: ("d", True, None)}
    assert {name: held(deployment, name) for name in SOFT} == dict.fromkeys(SOFT, second)
    turned = {**second, 2: ("u", False, "late")}  # its delete left no trace
    assert held(deployment, "turns") == turned
    (status,) = deployment.session.status(["cow"])
    assert status.rows == 2, "rows that are not deleted"

    # Inserted again, without the deleted row's value; deleted again; another late, older change.
    set_delete(deployment, "turns", "hard")
    run(
        deployment,
        topic,
        Change("c", row(1, UNSENT), at=30),
        Change("d", row(3, "v3"), at=31),
        Change("u", row(9, "late"), at=15),
    )
    third = {**second, 1: ("c", False, None), 3: ("d", True, "v3")}
    assert {name: held(deployment, name) for name in SOFT} == dict.fromkeys(SOFT, third)
    back = {1: ("c", None), 2: ("u", "late"), 4: ("c", "v4")}
    assert held(deployment, "turns") == back

    for name in SOFT:
        deployment.session.move_offsets(name, "earliest")
    assert deployment.run(SOFT).outcome == "done"
    # Read together with late changes, deleted rows have the values of the source's order.
    last = {**third, 2: ("d", True, "late"), 9: ("d", True, "late")}
    assert {name: held(deployment, name) for name in SOFT} == dict.fromkeys(SOFT, last)
