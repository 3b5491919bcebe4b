"""What a value schema is, by its parts and its name."""

import json
from typing import Any

import pytest

from ingest import avro
from ingest.compile.envelope import classify, find_envelope, why_foreign
from ingest.errors import SchemaError
from tests.compile.sqlserver import ID, envelope


def parsed(node: Any) -> avro.Schema:
    """Parse JSON."""
    return avro.parse(json.dumps(node))


def record(name: str, *fields: str) -> Any:
    """Make a record of text fields."""
    return {"type": "record", "name": name, "fields": [{"name": f, "type": "string"} for f in fields]}


@pytest.mark.parametrize(
    ("node", "kind"),
    [
        (envelope(ID), "data"),
        (record("io.debezium.connector.common.Heartbeat", "ts_ms"), "heartbeat"),
        (record("io.debezium.connector.common.TransactionMetadataValue", "status"), "transaction"),
        (record("io.debezium.connector.common.TransactionMetadataKey", "id"), "transaction"),
        (record("io.debezium.connector.sqlserver.SchemaChangeValue", "ddl"), "schema-change"),
        (record("io.debezium.connector.sqlserver.SchemaChangeKey", "databaseName"), "schema-change"),
        (record("io.debezium.connector.postgresql.MessageValue", "op"), "message"),
        (record("io.debezium.connector.common.Notification", "id"), "notification"),
        (record("srv.dbo.t.Value", "id", "__op"), "foreign"),
        (record("Heartbeat", "x"), "foreign"),
        ("string", "foreign"),
    ],
)
def test_a_schema_is_classified_by_its_parts_then_its_name(node: Any, kind: str) -> None:
    """A table may be called anything: an envelope is known by its four parts."""
    assert classify(parsed(node)) == kind


def test_a_table_called_heartbeat_is_data() -> None:
    """Its envelope has the parts, whatever the name."""
    assert classify(parsed({**envelope(ID), "name": "x.Heartbeat"})) == "data"


def test_the_parts_of_an_envelope_are_found_by_name() -> None:
    """Their order differs between versions."""
    node = envelope({**ID, "a": "string"})
    node["fields"] = [node["fields"][0], *reversed(node["fields"][1:])]
    found = find_envelope(parsed(node), "v")
    assert [field.name for field in found.row.fields] == ["id", "a"]
    assert found.source_record == "io.debezium.connector.sqlserver.Source"


@pytest.mark.parametrize(
    ("columns", "signal"),
    [
        ({"id": "string", "type": "string", "data": ["null", "string"]}, True),
        ({"id": "int", "type": "string", "data": "string"}, False),
        ({"id": "string", "type": "string"}, False),
    ],
)
def test_a_signal_table_is_known_by_its_three_columns_of_text(
    columns: dict[str, Any], *, signal: bool
) -> None:
    """It is Debezium's own, whatever its name."""
    assert find_envelope(parsed(envelope(columns)), "v").is_signal is signal


@pytest.mark.parametrize(
    ("node", "path", "problem"),
    [
        ("string", "$", "is no record, so no change event"),
        (record("s.Value", "id"), "$", "s.Value has no before, after, source, op: it is no change event"),
        (record("s.Value", "id", "__op"), "$", "it looks flattened"),
        (record("s.Envelope", "before", "after", "source", "op"), "$.after", "is no record"),
    ],
)
def test_what_is_no_envelope_is_refused_with_what_it_lacks(node: Any, path: str, problem: str) -> None:
    """And, if it is a flattened row, with that."""
    with pytest.raises(SchemaError) as caught:
        find_envelope(parsed(node), "s-value v1")
    assert (caught.value.where, caught.value.path) == ("s-value v1", path)
    assert problem in caught.value.problem
    assert path != "$" or why_foreign(parsed(node)) == caught.value.problem
