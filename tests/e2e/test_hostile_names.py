"""Names of any kind, in a source's messages: each ends as the right column, or as a refusal with its path."""

import json
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from confluent_kafka import Producer
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ingest import avro
from ingest.errors import SchemaError
from ingest.sql.names import folded
from ingest.testing.servers import LocalServers
from tests.decode.wide import json_event, json_schema
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics
from tests.e2e.tablefiles import allow_rejects

pytestmark = [pytest.mark.spark, pytest.mark.servers]

HOSTILE = (
    *("it's", "`", "a``b", "{c}", "{out}", "{", "$", "${env:HOME}", "${spark.app.name}"),
    *(";--", "/* */", "\\", "\\'", '"', "a.b", "a b", "current_date", "null", "select", "x" * 10_000, "9"),
    *("a\nb", "\r", "\t", "\x01", "\x1b[2J", "é", "名", "😀", "\u202e", "Größe", "schema", "payload", "ß"),
)
_NUMBERS = count(1)
NAMES = st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=6, unique_by=folded).map(tuple)


def produce(deployment: Deployment, columns: dict[str, Any], row: dict[str, Any]) -> str:
    """Write one event with its schema to a topic of its own; columns are text, or structs of text."""
    topic = f"{deployment.prefix}.s.hostile{next(_NUMBERS)}"
    schema = json_schema(0)
    for image in schema["fields"][:2]:
        image["fields"] = [*image["fields"], *({**kind, "field": name} for name, kind in columns.items())]
    event = json_event({"id": 1, **row})
    LocalServers(deployment.servers).make_topic(topic)
    producer = Producer({"bootstrap.servers": deployment.servers.bootstrap_servers})
    key = json.dumps({"schema": ID_SCHEMA, "payload": {"id": 1}}, separators=(",", ":"))
    value = json.dumps({"schema": schema, "payload": event}, separators=(",", ":"))
    producer.produce(topic, value.encode(), key.encode())
    assert producer.flush(30) == 0
    return topic


ID_SCHEMA = {
    "type": "struct", "name": "s.Key", "optional": False,
    "fields": [{"type": "int32", "optional": False, "field": "id"}],
}  # fmt: skip
TEXT = {"type": "string", "optional": True}


def failure(deployment: Deployment, topic: str) -> str:
    """Onboard a topic that cannot be a table, and see that plan and run refuse it with the same words."""
    (onboarded,) = deployment.session.onboard([topic], name="{table}", format="debezium-json")
    assert onboarded.state == "failed"
    table = topic.rpartition(".")[2]
    (plan,) = deployment.plan([table])
    (outcome,) = deployment.run([table]).tables
    assert isinstance(outcome.error, SchemaError)
    assert str(outcome.error) == str(plan.error)
    assert outcome.error.path.startswith("$.after.")
    return outcome.error.path


def edit(deployment: Deployment, table: str, columns: dict[str, dict[str, Any]]) -> None:
    """Add rules of columns to a table file, as a person would."""
    path = deployment.tables / f"{table}.toml"
    document = tomlkit.parse(path.read_text(encoding="utf-8"))
    document["columns"] = columns
    path.write_text(tomlkit.dumps(document), encoding="utf-8")


def check(deployment: Deployment, names: Sequence[str]) -> None:
    """Take a table with columns of these names from onboarding to its rows."""
    names = [name for name in names if folded(name) != "id" and not name.startswith(("_cdc", "_hoodie"))]
    row = {name: f"value of {name[:20]}" for name in names}
    topic = produce(deployment, dict.fromkeys(names, TEXT), row)
    table = topic.rpartition(".")[2]
    targets = {name: name if avro.is_name(name) else f"renamed_{n}" for n, name in enumerate(names)}
    renamed = {name: {"rename": target} for name, target in targets.items() if target != name}
    if renamed:
        assert failure(deployment, topic).removeprefix("$.after.") in renamed
        edit(deployment, table, renamed)
    else:
        deployment.session.onboard([topic], name="{table}", format="debezium-json")

    (plan,) = deployment.plan([table])
    (outcome,) = deployment.run([table]).tables

    assert (plan.verdict, outcome.error) == ("commit", None)
    (stored,) = deployment.frame(table).collect()
    assert {name: stored[targets[name]] for name in names} == row


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(HOSTILE)
@given(NAMES)
def test_any_name_becomes_a_column_or_is_refused_until_it_is_renamed(
    make_deployment: Callable[[], Deployment], names: tuple[str, ...]
) -> None:
    """From the message to the row, through every maker of SQL on the way."""
    check(make_deployment(), names)


@pytest.mark.parametrize("name", ["it's", "{c}", "`", "${env:HOME}", "a\nb", "Größe"])
def test_a_nested_name_is_a_field_or_a_refusal(make_deployment: Callable[[], Deployment], name: str) -> None:
    """A field cannot be renamed; its column can be excluded."""
    deployment = make_deployment()
    inner = {"type": "int64", "optional": True, "name": "io.debezium.time.MicroTimestamp", "field": name}
    nested = {"type": "struct", "optional": True, "name": "s.Nested", "fields": [inner]}
    topic = produce(deployment, {"s": nested, "t": TEXT}, {"s": {name: 1_000_000}, "t": "x"})
    table = topic.rpartition(".")[2]
    if avro.is_name(name):
        deployment.session.onboard([topic], name="{table}", format="debezium-json")
    else:
        assert failure(deployment, topic) == f"$.after.s.{name}"
        edit(deployment, table, {"s": {"exclude": True}})

    (outcome,) = deployment.run([table]).tables

    assert outcome.error is None
    (stored,) = deployment.frame(table).collect()
    assert stored["t"] == "x"
    if avro.is_name(name):
        assert stored["s"][name].isoformat() == "1970-01-01T00:00:01"


def test_defaults_that_look_like_variables_are_texts(make_deployment: Callable[[], Deployment]) -> None:
    """Spark's `${x}` in a registered or an embedded schema's default is neither an error nor a value."""
    deployment = make_deployment()
    defaults = {"v": "Dear ${user}", "w": "${env:HOME}", "x": "${spark.app.name}"}
    rows = [dict.fromkeys(defaults, "own"), dict(defaults)]
    columns = {name: {"type": "string", "connect.default": text} for name, text in defaults.items()}
    name = f"{deployment.prefix}.testDB.dbo.defaults"
    topic = make_topics(deployment.servers, {name: {"id": "int", **columns}})["defaults"]
    topic.send(*(Change("c", {"id": n, **row}, at=n) for n, row in enumerate(rows)))
    topic.produce([(topic.key_bytes({"id": 9}), b"\0\0\0\0")])
    deployment.onboard([name])
    allow_rejects(deployment, "defaults")
    typed = {column: TEXT | {"default": text} for column, text in defaults.items()}
    embedded = produce(deployment, typed, {"v": "own"})
    deployment.session.onboard([embedded], name="embedded", format="debezium-json")

    report = deployment.run()

    assert report.outcome == "done", report.to_json()
    assert {table.table: table.counts.rejected for table in report.tables} == {"defaults": 1, "embedded": 0}
    stored = deployment.frame("defaults").orderBy("id").select(*defaults).collect()
    assert [row.asDict() for row in stored] == rows
    (row,) = deployment.frame("embedded").select(*defaults).collect()
    assert row.v == "own"
    assert {row.w, row.x} <= {None, defaults["w"], defaults["x"]}
    (reject,) = deployment.frame("_rejects/defaults").collect()
    assert str(Path.home()) not in str(reject)
