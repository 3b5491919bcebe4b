"""`schema check` beside the run: for each kind of change of key and value, both take it or both stop."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from ingest.errors import SchemaError, UsageError
from ingest.testing import date, decimal, key_schema, nullable, semantic, timestamp
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics
from tests.e2e.tablefiles import set_policies

pytestmark = [pytest.mark.spark, pytest.mark.servers]

Columns = Mapping[str, Any]
FIRST: Final[Columns] = {"id": "int", "code": "string", "n": nullable("int")}
ID: Final[Columns] = {"id": "int"}
ROW: Final[Mapping[str, Any]] = {"id": 2, "code": "b", "n": 2}


@attrs.frozen
class Case:
    """New columns of value and key (None: as they are), and the first row of the new versions."""

    value: Columns | None = None
    key: Columns | None = None
    row: Mapping[str, Any] = ROW
    first: Columns = FIRST
    first_key: Columns = ID
    policies: Mapping[str, str] = attrs.field(factory=dict)
    first_row: Mapping[str, Any] = ROW
    stops: bool = False


CASES: Final[Mapping[str, Case]] = {
    "column_added": Case({**FIRST, "phone": nullable("string")}, row={**ROW, "phone": "1"}),
    "column_dropped": Case({"id": "int", "code": "string"}, row={"id": 2, "code": "b"}),
    "column_widened": Case({**FIRST, "n": nullable("long")}),
    "column_narrowed": Case(FIRST, first={**FIRST, "n": nullable("long")}, stops=True),
    "column_changed": Case({**FIRST, "n": nullable("string")}, row={**ROW, "n": "2"}, stops=True),
    "column_evolved": Case(
        {**FIRST, "n": nullable("string")}, row={**ROW, "n": "2"}, policies={"column-changed": "evolve"}
    ),
    "column_required": Case({**FIRST, "n": "int"}),
    "decimal_widened": Case(
        {**FIRST, "n": nullable(decimal(9, 2))},
        first={**FIRST, "n": nullable(decimal(7, 2))},
        row={**ROW, "n": b"\x01"},
        first_row={**ROW, "n": b"\x01"},
    ),
    "time_finer": Case(
        {**FIRST, "n": nullable(timestamp())}, first={**FIRST, "n": nullable(timestamp("ms"))},
    ),
    "meaning_changed": Case({**FIRST, "n": nullable(date())}, stops=True),
    "enum_changed": Case(
        {**FIRST, "code": semantic("string", "io.debezium.data.Enum", allowed="a,b")},
        first={**FIRST, "code": semantic("string", "io.debezium.data.Enum", allowed="a")},
    ),
    "key_added": Case(key={"id": "int", "code": "string"}, stops=True),
    "key_replaced": Case(key={"code": "string"}, stops=True),
    "key_dropped": Case(key=ID, first_key={"id": "int", "code": "string"}, stops=True),
    "key_ignored": Case(
        key={"id": "int", "code": "string"}, policies={"key-changed": "ignore"}
    ),
    "key_widened": Case({**FIRST, "id": "long"}, {"id": "long"}),
    "key_widened_alone": Case(key={"id": "long"}),
    "key_to_text": Case({**FIRST, "id": "string"}, {"id": "string"}, row={**ROW, "id": "2"}, stops=True),
    "key_to_float": Case({**FIRST, "id": "double"}, {"id": "double"}, row={**ROW, "id": 2.0}, stops=True),
    "both_same": Case(FIRST, ID),
}  # fmt: skip


def test_a_check_says_what_the_run_will_do(make_deployment: Callable[[], Deployment], tmp_path: Path) -> None:
    """A row of the check that says fail decides its exit code."""
    deployment = make_deployment()
    name = "{prefix}.testDB.dbo.{case}"
    topics = {
        case: next(
            iter(
                make_topics(
                    deployment.servers,
                    {name.format(prefix=deployment.prefix, case=case): changed.first},
                    key=changed.first_key,
                ).values()
            )
        )
        for case, changed in CASES.items()
    }
    deployment.onboard([topic.name for topic in topics.values()])
    for case, changed in CASES.items():
        set_policies(deployment, case, changed.policies)
        topics[case].send(Change("c", {**changed.first_row, "id": 1}, at=1))
    assert deployment.run().outcome == "done"

    verdicts, shown = {}, {}
    with deployment.session as session:
        for case, changed in CASES.items():
            topic, files = topics[case], []
            value = changed.value and topic.envelope(changed.value)
            key = changed.key and key_schema(topic.name, changed.key)
            for part, node in (("value", value), ("key", key)):
                files.append(tmp_path / f"{case}-{part}.avsc" if node else None)
                if node:
                    (tmp_path / f"{case}-{part}.avsc").write_text(json.dumps(node))
            report = session.check(case, files[0], key=files[1])
            assert report.stops == session.check(case, files[0], key=files[1], registry_only=True).stops, case
            verdicts[case], shown[case] = report.stops, report.to_json()
    for case, changed in CASES.items():
        if changed.key:
            topics[case].key_version(changed.key)
        if changed.value:
            topics[case].add_version(changed.value)
        topics[case].send(Change("c", dict(changed.row), at=2))
    done = {outcome.table: outcome.outcome == "failed" for outcome in deployment.run().tables}

    expected = {case: changed.stops for case, changed in CASES.items()}
    assert done == expected
    assert verdicts == expected
    for case, stops in expected.items():
        stopping = [row for row in shown[case]["changes"] if row["policy"] == "fail"]
        assert bool(stopping or shown[case]["failures"]) == stops, case


def test_a_check_needs_a_schema_and_a_subject(
    make_deployment: Callable[[], Deployment], tmp_path: Path
) -> None:
    """And a key of a type that cannot be one is refused before a table exists."""
    deployment = make_deployment()
    (topic,) = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.plain": FIRST}).values()
    (other,) = make_topics(
        deployment.servers,
        {f"{deployment.prefix}.testDB.dbo.float": {**FIRST, "id": "double"}},
        key={"id": "double"},
    ).values()
    with deployment.session as session:
        found = {item.topic: item for item in session.onboard([topic.name, other.name], name="{table}")}
        assert (found[topic.name].state, found[other.name].state) == ("new", "failed")
        assert "$.id: double as key: its text differs between Java versions" in found[other.name].reason
        with pytest.raises(UsageError, match="Give FILE, --key FILE, or both"):
            session.check("plain", registry_only=True)
        retyped = tmp_path / "retyped.avsc"
        retyped.write_text(json.dumps(topic.envelope({**FIRST, "id": "string"})))
        assert not session.check("plain", retyped, registry_only=True).passes
        (tmp_path / "bad.avsc").write_text("{")
        with pytest.raises(SchemaError, match="cannot be read as JSON"):
            session.check("plain", key=tmp_path / "bad.avsc", registry_only=True)
        topic.key_version({"id": "int", "code": "string"})
        assert "key-changed: id becomes id, code" in str(session.plan(["plain"])[0].warning)
