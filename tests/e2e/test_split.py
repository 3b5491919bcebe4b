"""One topic of several tables: each table has its own rows, and no value of another one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from ingest.local.topics import connect
from ingest.onboard.outcome import Onboarded
from ingest.report.outcome import TableOutcome
from ingest.testing import Columns, Topic
from tests.e2e.deployment import Deployment
from tests.e2e.routed import make_routed, write_file
from tests.e2e.test_rebuild import rebuild

pytestmark = [pytest.mark.spark, pytest.mark.servers]

Make = Callable[[], Deployment]
TEXT: Final = ["null", "string"]
ORDERS: Final[Columns] = {"id": "int", "note": TEXT}
PEOPLE: Final[Columns] = {"id": "int", "note": ["null", "long"], "born": ["null", "int"]}


def make_topic(deployment: Deployment, connector: str = "postgres") -> dict[str, Topic]:
    """Make a topic of four tables, two of the same structure."""
    server, topic = deployment.prefix, f"{deployment.prefix}.shop"
    tables = {"orders": ORDERS, "people": PEOPLE, "archive": ORDERS, "boxes": {"box": "string"}}
    routed = make_routed(deployment, topic, {f"{server}.inv.{t}": c for t, c in tables.items()}, connector)
    return {name.rpartition(".")[2]: table for name, table in routed.items()}


def make_shop(deployment: Deployment, connector: str = "postgres") -> dict[str, Topic]:
    """Make a topic of four tables, and table files for two of them."""
    shop = make_topic(deployment, connector)
    for name in ("orders", "people"):
        topic, source_table = f"{deployment.prefix}.shop", f"{deployment.prefix}.inv.{name}"
        write_file(deployment, topic, source_table, connector, ["id"])
    return shop


def onboard(deployment: Deployment, *topics: str) -> dict[str, Onboarded]:
    """Write the files of the tables of topics; return the results by table, or topic without one."""
    with deployment.session as session:
        results = session.onboard(topics, name="{table}", split=True)
    return {result.source_table.rpartition(".")[2] or result.topic: result for result in results}


def rows(deployment: Deployment, table: str, *columns: str) -> set[tuple[Any, ...]]:
    """Return the rows of a table; each key is there once."""
    found = [tuple(row) for row in deployment.frame(table).select(*columns).collect()]
    assert len({row[0] for row in found}) == len(found)
    return set(found)


def run(deployment: Deployment, max_offsets: int | None = None) -> dict[str, TableOutcome]:
    """Run all tables; return the outcomes, each of which accounts for all messages."""
    outcomes = deployment.run(max_offsets=max_offsets).tables
    assert {outcome.error for outcome in outcomes} == {None}
    for outcome in outcomes:
        ranges = outcome.ranges
        assert outcome.counts.read == (ranges.span if ranges else 0)
    return {outcome.table: outcome for outcome in outcomes}


CASES = [
    ("postgres", None),
    pytest.param("postgres", 3, marks=pytest.mark.pairs),
    pytest.param("mysql", None, marks=pytest.mark.pairs),
    pytest.param("mysql", 5, marks=pytest.mark.pairs),
]


@pytest.mark.parametrize(("connector", "max_offsets"), CASES)
def test_tables_of_one_topic_hold_exactly_their_rows(
    make_deployment: Make, connector: str, max_offsets: int | None
) -> None:
    """Tables with the same keys do not mix: not by changes, deletes, key changes, new columns or replays."""
    deployment = make_deployment()
    shop = make_shop(deployment, connector)
    orders, people, archive, boxes = (shop[name] for name in ("orders", "people", "archive", "boxes"))
    boxes.send(boxes.create({"box": "a"}), boxes.create({"box": "b"}))
    for number in (1, 2, 3):
        orders.send(orders.create({"id": number, "note": f"o{number}"}))
        people.send(people.create({"id": number, "note": number * 10, "born": 1970}))
        archive.send(archive.create({"id": number, "note": "wrong"}, at=900 + number))
    deployment.run_until_idle(max_offsets=max_offsets)
    assert rows(deployment, "orders", "id", "note") == {(1, "o1"), (2, "o2"), (3, "o3")}
    assert rows(deployment, "people", "id", "note") == {(1, 10), (2, 20), (3, 30)}

    wide: Columns = {**PEOPLE, "city": TEXT}
    people.version(wide, compatibility="NONE")
    people.send(people.update({"id": 1, "note": 11, "born": 1970, "city": "Bath"}, before=None))
    orders.send(orders.delete({"id": 1, "note": "o1"}), archive.delete({"id": 2, "note": "wrong"}))
    orders.send(orders.change_key({"id": 3, "note": "o3"}, {"id": 4, "note": "o4"}))
    people.send(people.delete({"id": 3, "note": 30, "born": 1970, "city": None}))
    deployment.run_until_idle(max_offsets=max_offsets)

    expected = {(2, "o2"), (4, "o4")}, {(1, 11, "Bath"), (2, 20, None)}
    assert rows(deployment, "orders", "id", "note") == expected[0]
    assert rows(deployment, "people", "id", "note", "city") == expected[1]
    assert "city" not in deployment.frame("orders").columns
    for name in ("orders", "people"):
        deployment.session.move_offsets(name, "earliest")
    replayed = run(deployment)
    assert rows(deployment, "orders", "id", "note") == expected[0]
    assert rows(deployment, "people", "id", "note", "city") == expected[1]
    counts = replayed["orders"].counts
    assert counts.ignored == {"other-table": 2 + 3 + 3 + 1 + 2, "tombstone": 4}
    assert (counts.upserted, counts.deleted) == (2, 2)


def test_onboarding_writes_a_file_for_each_table_of_a_topic(make_deployment: Make) -> None:
    """The messages name them; a later table gets its file from a second time, and an edited file stays."""
    deployment = make_deployment()
    shop, topic = make_topic(deployment), f"{deployment.prefix}.shop"
    orders, people, boxes = shop["orders"], shop["people"], shop["boxes"]
    orders.send(orders.create({"id": 1, "note": "o"}), orders.delete({"id": 1, "note": "o"}))
    orders.send(orders.create({"id": 2, "note": "o"}))
    people.send(people.create({"id": 1, "note": 1, "born": 1970}))
    people.produce([(None, b"no event")])

    first = onboard(deployment, topic)

    assert {name: (item.state, item.key_columns) for name, item in first.items()} == {
        "orders": ("new", ("id",)), "people": ("new", ("id",)),
    }  # fmt: skip
    assert first["orders"].messages == 3
    assert "messages that name no readable table, which each table rejects: 1" in " ".join(
        first["orders"].caveats
    )
    path = deployment.tables / "people.toml"
    edited = f"{_with_rejects(path)}# ours\n"
    path.write_text(edited)
    boxes.send(boxes.create({"box": "a"}))
    (plan,) = deployment.plan(["people"])
    (outcome,) = deployment.run(["people"]).tables
    assert plan.without_file == outcome.without_file == (f"{deployment.prefix}.inv.boxes",)
    assert outcome.counts.rejected == 1

    second = onboard(deployment, topic)

    assert {name: item.state for name, item in second.items()} == {
        "orders": "unchanged", "people": "unchanged", "boxes": "new",
    }  # fmt: skip
    assert path.read_text() == edited
    assert len(list(deployment.tables.glob("*"))) == 3
    for name in ("orders", "boxes"):
        other = deployment.tables / f"{name}.toml"
        other.write_text(_with_rejects(other))
    assert {outcome.counts.rejected for outcome in run(deployment).values()} == {0, 1}
    assert rows(deployment, "orders", "id", "note") == {(2, "o")}
    assert rows(deployment, "people", "id", "note", "born") == {(1, 1, 1970)}
    assert rows(deployment, "boxes", "box") == {("a",)}


def _with_rejects(path: Path) -> str:
    """Return the text of a table file, with any number of rejects allowed."""
    text = path.read_text()
    assert "[rejects]" not in text
    return f"{text}\n[rejects]\nmax_share = 1.0\n"


FOREIGN = {"json": b'{"op": "c"}', "guid": b"\1" + bytes(30), "glue": b"\3\0" + bytes(30)}


@pytest.mark.pairs
def test_onboarding_refuses_topics_of_other_formats(make_deployment: Make) -> None:
    """JSON and other framings: no file is written, and the answer says why."""
    deployment = make_deployment()
    for name, value in FOREIGN.items():
        deployment.topic(f"{deployment.prefix}.{name}", ORDERS).produce([(None, value)])
    mongodb = deployment.topic(f"{deployment.prefix}.mongodb", connector="mongodb")
    mongodb.send(mongodb.create({"_id": 1}))

    results = onboard(deployment, f"{deployment.prefix}.*")

    reasons = {name.rpartition(".")[2]: item.reason for name, item in results.items()}
    assert {item.state for item in results.values()} == {"failed"}
    assert "not one is a change event in Avro" in reasons["json"]
    assert "framings confluent-guid: a topic of several needs 'confluent'" in reasons["guid"]
    assert "framings glue" in reasons["glue"]
    assert "events of MongoDB in the form 'document'" in reasons["mongodb"]
    assert not deployment.tables.exists()


def test_a_table_that_the_topic_lacks_is_refused_with_those_that_it_has(make_deployment: Make) -> None:
    """A wrong name would be an empty table with exit code 0: `plan` and `run` fail, and name the others."""
    deployment = make_deployment()
    shop = make_shop(deployment)
    shop["people"].send(shop["people"].create({"id": 1, "note": 1, "born": 2}))
    server, topic = deployment.prefix, f"{deployment.prefix}.shop"
    write_file(deployment, topic, f"{server}.inv.order", "postgres", ["id"])

    (plan,) = deployment.plan(["order"])
    (outcome,) = deployment.run(["order"]).tables

    problem = f"topic {topic} has no change of '{server}.inv.order', only of {server}.inv.people"
    assert (plan.verdict, outcome.outcome) == ("fail", "failed")
    assert problem in str(plan.error)
    assert problem in str(outcome.error)
    assert not (deployment.root / "lake" / "order").exists()
    shop["boxes"].send(shop["boxes"].create({"box": "a"}))
    (planned,) = deployment.plan(["people"])
    assert (planned.verdict, planned.counts.upserted) == ("commit", 1)
    assert planned.to_json()["other_tables"] == {f"{server}.inv.boxes": 1}


def test_the_source_table_is_fixed(make_deployment: Make) -> None:
    """Another name in the file, or none, would mix the rows of two tables: it is refused."""
    deployment = make_deployment()
    shop = make_shop(deployment)
    for name in ("orders", "archive"):
        shop[name].send(shop[name].create({"id": 1, "note": name}))
    run_one = deployment.run(["orders"])
    assert [table.outcome for table in run_one.tables] == ["committed"]
    path = deployment.tables / "orders.toml"
    text = path.read_text()

    for line in (f"source_table = '{deployment.prefix}.inv.archive'", ""):
        path.write_text(text.replace(f"source_table = '{deployment.prefix}.inv.orders'", line))
        (outcome,) = deployment.run(["orders"]).tables
        assert outcome.outcome == "failed"
        assert "orders.toml: source_table: found" in str(outcome.error)
        assert deployment.plan(["orders"])[0].verdict == "fail"
    assert rows(deployment, "orders", "id", "note") == {(1, "orders")}


@pytest.mark.pairs
def test_unreadable_messages_are_rejected_by_each_table(make_deployment: Make) -> None:
    """Bytes that name no table are rejects, and no schema of another table is compiled for their sake."""
    deployment = make_deployment()
    shop = make_shop(deployment)
    orders, people = shop["orders"], shop["people"]
    orders.send(orders.create({"id": 1, "note": "a"}))
    (message,) = people.create({"id": 1, "note": 5, "born": 2})
    people.produce([(message[0], (message[1] or b"")[:-3]), (message[0], b"\0\x7f\x7f\x7f\x7f")])
    path = deployment.tables / "orders.toml"
    path.write_text(path.read_text() + "[rejects]\nmax_share = 1.0\n")

    (outcome,) = deployment.run(["orders"]).tables

    assert outcome.error is None
    assert (outcome.counts.rejected, outcome.counts.upserted, outcome.counts.read) == (2, 1, 3)
    assert "born" not in deployment.frame("orders").columns


def test_a_mask_of_one_table_comes_from_the_topic(make_deployment: Make) -> None:
    """A rebuild reads the topic for this table only; a topic that is compacted since gives no rows."""
    deployment = make_deployment()
    shop = make_shop(deployment)
    orders, people = shop["orders"], shop["people"]
    orders.send(orders.create({"id": 1, "note": "4929-0001"}), orders.create({"id": 2, "note": "4929-0002"}))
    people.send(people.create({"id": 1, "note": 10, "born": 1970}), people.delete({"id": 1, "note": 10}))
    orders.send(orders.delete({"id": 2, "note": "4929-0002"}))
    run(deployment)
    path = deployment.tables / "orders.toml"
    path.write_text(path.read_text() + '[columns.note]\nmask = "last4"\n')
    (plan,) = deployment.plan(["orders"])
    assert plan.rebuild is not None
    assert plan.rebuild.command == "ingest rebuild orders --from topic"

    compact(deployment, orders.name)
    assert f"topic {orders.name} is compacted" in str(rebuild(deployment, "orders", "topic").error)
    assert rows(deployment, "orders", "id", "note") == {(1, "4929-0001")}
    compact(deployment, orders.name, policy="delete")
    assert rebuild(deployment, "orders", "topic").error is None
    assert rows(deployment, "orders", "id", "note") == {(1, "****0001")}
    orders.send(orders.create({"id": 3, "note": "4929-0003"}))
    run(deployment)
    assert rows(deployment, "orders", "id", "note") == {(1, "****0001"), (3, "****0003")}


def test_a_compacted_topic_is_refused(make_deployment: Make) -> None:
    """Kafka may keep only the tombstone of a delete there, and a tombstone names no table."""
    deployment = make_deployment()
    shop = make_shop(deployment)
    orders = shop["orders"]
    orders.send(orders.create({"id": 1, "note": "a"}))
    compact(deployment, orders.name)

    (outcome,) = deployment.run(["orders"]).tables

    assert outcome.outcome == "failed"
    assert f"topic {orders.name} is compacted" in str(outcome.error)
    result = onboard(deployment, orders.name)[orders.name]
    assert (result.state, f"topic {orders.name} is compacted" in result.reason) == ("failed", True)


def compact(deployment: Deployment, topic: str, policy: str = "compact,delete") -> None:
    """Set the cleanup policy of a topic."""
    admin = connect(deployment.servers.bootstrap_servers)
    entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result()
