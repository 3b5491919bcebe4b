"""Messages of other projects' tests become the rows that those projects expect."""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest
from fastavro import json_reader

from ingest.testing.servers import LocalServers
from ingest.testing.wire import framed
from tests.e2e.deployment import Deployment

pytestmark = [pytest.mark.spark, pytest.mark.servers]

CASES: Final = Path(__file__).parent / "foreign"
JSON_CASES: Final = (
    "alltypes-dec",
    "flink-mysql-include-keyless",
    "flink-mysql-payload-first",
    "paimon-alltypes-json",
    "paimon-mongo-27",
    "rw-messy-key",
    "rw-mongo-bare",
)

Message = tuple[bytes | None, bytes | None]


def texts(case: Mapping[str, Any]) -> Iterator[tuple[int, Message]]:
    """Make the messages of a JSON case, with the number of their step."""
    for message in case["messages"]:
        value = message.get("value")
        if "payload" in message:
            parts = {"schema": case["writers"][message["written"]], "payload": message["payload"]}
            order = ("payload", "schema") if case["order"] == "payload-first" else ("schema", "payload")
            separators = (", ", ": ") if case["spaced"] else (",", ":")
            value = json.dumps(
                {part: parts[part] for part in order}, separators=separators, ensure_ascii=False
            )
        key = message.get("key")
        yield message.get("step", 0), (key and key.encode(), value and value.encode())


def frames(case: Mapping[str, Any], servers: LocalServers, topic: str) -> list[Message]:
    """Register an Avro case's schemas, and encode its messages, given in Avro's JSON."""
    schemas = [entry["schema"] for entry in case["schemas"]]
    sides = [entry["subject"] for entry in case["schemas"]]
    ids = [
        servers.register(f"{topic}-{side}", schema, None) for side, schema in zip(sides, schemas, strict=True)
    ]

    def encode(text: str | None, number: int | None) -> bytes | None:
        if text is None or number is None:
            return None
        (value,) = json_reader(StringIO(text), schemas[number])
        return framed(ids[number], schemas[number], value)

    return [
        (encode(message.get("key"), message.get("ks")), encode(message.get("value"), message.get("vs")))
        for message in case["messages"]
    ]


def stored(value: Any) -> Any:
    """Write a stored value as the cases do."""
    match value:
        case bytes() | bytearray():
            return {"b64": base64.b64encode(value).decode()}
        case Decimal():
            return f"{value:f}"
        case datetime():
            return value.isoformat()
        case date():
            return value.isoformat()
        case _:
            return value


def number(value: Any, expected: float) -> Any:
    """Write a decimal as the number that a case expects."""
    return type(expected)(value) if isinstance(value, str) else value


def rows(deployment: Deployment, table: str, expected: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Read the columns that are expected; `name~` is compared as JSON."""
    names = [name.removesuffix("~") for name in expected[0]] if expected else ["_cdc_op"]
    given = expected[0] if expected else {}
    as_numbers = {name: value for name, value in given.items() if type(value) in (int, float)}
    results = []
    for row in deployment.frame(table).select(*names).collect():
        values = {name: stored(row[name]) for name in names}
        values |= {name: number(values[name], expected) for name, expected in as_numbers.items()}
        results.append(
            {
                name: json.loads(values[name[:-1]]) if name.endswith("~") else values[name]
                for name in expected[0]
            }
            if expected
            else values
        )
    return results


def by_value(case: Mapping[str, Any], expected: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write the whole numbers of document keys by value, as the tables do for every spelling of one key."""
    if "doc~" not in str(case["expect"]):
        return expected
    keys = [json.loads(row["id"]) for row in expected]
    return [
        {**row, "id": key["$numberLong"]} if "$numberLong" in key else row
        for row, key in zip(expected, keys, strict=True)
    ]


def by_text(values: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort rows."""
    return sorted(values, key=lambda row: json.dumps(row, sort_keys=True))


NUMBER = re.compile(r"-?\d+(\.\d+)?")


def same(actual: Any, expected: Any) -> bool:
    """Compare values; text of a number by its value: a decimal as text keeps the zeros of its scale."""
    texts = isinstance(actual, str) and isinstance(expected, str)
    if texts and NUMBER.fullmatch(actual) and NUMBER.fullmatch(expected):
        return Decimal(actual) == Decimal(expected)
    return bool(actual == expected)


def differences(actual: list[dict[str, Any]], expected: list[dict[str, Any]]) -> list[Any]:
    """Return the cells that differ, or both lists if their lengths do."""
    if len(actual) != len(expected):
        return [actual, expected]
    pairs = zip(actual, expected, strict=True)
    return [(name, a.get(name), e[name]) for a, e in pairs for name in e if not same(a.get(name), e[name])]


@pytest.mark.parametrize("name", JSON_CASES)
def test_json_of_other_projects_becomes_their_rows(
    name: str, tmp_path: Path, make_deployment: Callable[[], Deployment]
) -> None:
    """Onboarded with a schema where messages hold none, and with key columns where they have no keys."""
    case = json.loads((CASES / f"{name}.json").read_text())
    deployment = make_deployment()
    topic = f"{deployment.prefix}.{name}"
    servers = LocalServers(deployment.servers)
    servers.make_topic(topic)
    messages = list(texts(case))
    steps = sorted({step for step, _ in messages})
    options: dict[str, Any] = {"key": case.get("key_columns", ())}
    if "schema" in case:
        options["schema"] = tmp_path / "schema.json"
        options["schema"].write_text(json.dumps(case["schema"]))

    for step in steps:
        servers.produce(topic, [message for number, message in messages if number == step], 0, {})
        if step == steps[0]:
            (onboarded,) = deployment.session.onboard(
                [topic], name="foreign", format=case["format"], **options
            )
            assert onboarded.state == "new", onboarded.reason
        (outcome,) = deployment.run().tables

        assert (outcome.error, outcome.counts.rejected) == (None, 0)
        if "steps" in case["expect"]:
            expected = by_value(case, case["expect"]["steps"][step])
            assert differences(by_text(rows(deployment, "foreign", expected)), by_text(expected)) == []
    if "rows" in case["expect"]:
        expected = by_value(case, case["expect"]["rows"])
        assert differences(by_text(rows(deployment, "foreign", expected)), by_text(expected)) == []
    if "see" in case["expect"]:
        assert deployment.frame("foreign").count() == case["expect"]["see"]


def test_events_without_any_schema_are_onboarded_by_a_guess(
    make_deployment: Callable[[], Deployment],
) -> None:
    """The guess lies next to the table file, which says so; whoever corrects it is not overwritten."""
    case = json.loads((CASES / "flink-mysql-payload-first.json").read_text())
    deployment = make_deployment()
    topic = f"{deployment.prefix}.guessed"
    servers = LocalServers(deployment.servers)
    servers.make_topic(topic)
    messages = [
        (key, json.dumps(json.loads(value)["payload"]).encode()) for _, (key, value) in texts(case) if value
    ]
    servers.produce(topic, messages, 0, {})

    (onboarded,) = deployment.session.onboard([topic], name="foreign", format="debezium-json")
    assert (onboarded.state, onboarded.key_columns) == ("new", ("id",))
    assert "the types are guessed from 16 messages" in " ".join(onboarded.caveats)
    schema = deployment.tables / "foreign.schema.json"
    corrected = schema.read_text() + "\n"
    schema.write_text(corrected)
    (again,) = deployment.session.onboard([topic], name="foreign", format="debezium-json")
    (outcome,) = deployment.run().tables

    assert (again.state, schema.read_text()) == ("unchanged", corrected)
    assert (outcome.error, outcome.counts.rejected) == (None, 0)
    expected = case["expect"]["rows"]
    assert by_text(rows(deployment, "foreign", expected)) == by_text(expected)


def test_a_compacted_topics_tombstone_alone_deletes_its_row(
    make_deployment: Callable[[], Deployment],
) -> None:
    """RisingWave's compacted topic has lost the delete event, and keeps its tombstone."""
    case = json.loads((CASES / "rw-avro-compact.json").read_text())
    deployment = make_deployment()
    topic = f"{deployment.prefix}.compact"
    servers = LocalServers(deployment.servers)
    servers.make_topic(topic)
    servers.produce(topic, frames(case, servers, topic), 0, {})
    (onboarded,) = deployment.session.onboard([topic], name="foreign")
    assert onboarded.state == "new", onboarded.reason

    (outcome,) = deployment.run().tables

    assert (outcome.error, outcome.counts.rejected) == (None, 0)
    expected = case["expect"]["rows"]
    assert by_text(rows(deployment, "foreign", expected)) == by_text(expected)
