"""The kind of a value schema, by its parts and its name."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest import avro
from ingest.avro import connect
from ingest.compile.envelope import classify, find_envelope, plain_record, why_foreign
from ingest.errors import SchemaError
from ingest.testing import fields_of, nullable
from tests.compile.sqlserver import ID, Json, envelope

SAMPLES = Path(__file__).parents[1] / "data" / "connect"


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
    """Its envelope has the parts, under any name."""
    assert classify(parsed({**envelope(ID), "name": "x.Heartbeat"})) == "data"


def test_the_parts_of_an_envelope_are_found_by_name() -> None:
    """Their order differs between versions."""
    node = envelope({**ID, "a": "string"})
    node["fields"] = [node["fields"][0], *reversed(node["fields"][1:])]
    result = find_envelope(parsed(node), "v")
    assert [field.name for field in result.row.fields] == ["id", "a"]
    assert result.source_record == "io.debezium.connector.sqlserver.Source"


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
    """It is Debezium's own, under any name."""
    assert find_envelope(parsed(envelope(columns)), "v").is_signal is signal


@pytest.mark.parametrize(
    ("node", "path", "problem"),
    [
        ("string", "$", "is not a record, so not a change event"),
        (record("s.Value", "id"), "$", "s.Value has no after, source, op: it is not a change event"),
        (record("s.Value", "id", "__op"), "$", "it looks flattened"),
        (record("s.Value", "id", "__op", "__ts_ms"), "$", "add.fields = op, source.ts_ms and the source pos"),
        (record("s.Value", "id", "__lsn"), "$", "it looks flattened"),
        (record("s.CloudEvents.Envelope", "id", "source", "specversion", "type", "data"), "$", "CloudEvents"),
        (record("s.Envelope", "before", "after", "source", "op"), "$.source", "is not a record"),
    ],
)
def test_another_record_is_refused_with_the_fields_that_it_lacks(node: Any, path: str, problem: str) -> None:
    """And, if it is a flattened row, with that."""
    with pytest.raises(SchemaError) as caught:
        find_envelope(parsed(node), "s-value v1")
    assert (caught.value.where, caught.value.path) == ("s-value v1", path)
    assert problem in caught.value.problem
    assert path != "$" or why_foreign(parsed(node)) == caught.value.problem


# --- forms ---------------------------------------------------------------------------------------


def flat(*names: str, columns: tuple[str, ...] = ("id", "a")) -> Any:
    """Make a flattened row of text columns with metadata."""
    return record("s.public.t.Value", *columns, *names)


@pytest.mark.parametrize(
    ("names", "dialect"),
    [
        (("__op", "__lsn", "__source_ts_ms"), "postgres"),
        (("__deleted", "__sequence"), "postgres"),
        (("__op", "__commit_lsn", "__change_lsn"), "sqlserver"),
        (("__op", "__scn"), "oracle"),
        (("__op", "__source_file", "__source_pos"), "mysql"),
    ],
)
def test_a_flattened_row_is_known_by_its_metadata(names: tuple[str, ...], dialect: str) -> None:
    """Its connector too: by the fields of the position that `add.fields` took over."""
    result = find_envelope(parsed(flat(*names)), "v")
    assert (result.form, result.dialect and result.dialect.name) == ("flattened", dialect)
    assert [field.name for field in result.row.fields] == ["id", "a"]


def test_metadata_is_found_by_the_names_of_the_source() -> None:
    """`add.fields` may name the block; the source's own time is taken before the connector's."""
    names = ("__ts_ms", "__op", "__source_lsn", "__source_ts_ms", "__source_table", "__transaction_id")
    result = find_envelope(parsed(flat(*names)), "v")
    expected = {name: result.fields[name] for name in ("op", "lsn", "ts_ms")}
    assert expected == {"op": "__op", "lsn": "__source_lsn", "ts_ms": "__source_ts_ms"}
    assert [field.name for field in result.row.fields] == ["id", "a"]


def test_a_column_that_begins_like_metadata_stays_a_column() -> None:
    """A table may have `__`, or `__v`: no field of any source is called so."""
    result = find_envelope(parsed(flat("__op", "__lsn", columns=("id", "__", "__v"))), "v")
    assert [field.name for field in result.row.fields] == ["id", "__", "__v"]


def sample(name: str) -> Any:
    """Read the schema of a document's sample."""
    return json.loads((SAMPLES / f"{name}.json").read_text())


@pytest.mark.parametrize(
    ("name", "form", "dialect", "columns", "unique"),
    [
        ("cdl-value", "cdl", "cdl", ["count1", "id", "time1", "decimalNum"], ["id"]),
        ("cdl-debezium-value", "debezium", "cdl", ["count1", "id", "time1", "decimalNum"], ["id"]),
        ("mongodb-value", "document", "mongodb", [], []),
        ("oracle-value", "debezium", "oracle", ["ID", "FIRST_NAME", "LAST_NAME", "EMAIL"], []),
        ("sqlserver-zh-value", "debezium", "sqlserver", ["id", "first_name", "last_name", "email"], []),
    ],
)
def test_the_documents_events_are_known(
    name: str, form: str, dialect: str, columns: list[str], unique: list[str]
) -> None:
    """By their fields: CDL's second form calls its connector PostgreSQL, and is not."""
    result = find_envelope(connect.parse(sample(name), where=name), name)
    assert (result.form, result.dialect and result.dialect.name) == (form, dialect)
    assert [field.name for field in result.row.fields] == columns
    assert [field.name for field in (result.unique.fields if result.unique else ())] == unique


@pytest.mark.parametrize("name", ["cdl-value", "cdl-debezium-value"])
def test_cdls_heartbeats_are_known_by_the_tables_name(name: str) -> None:
    """In any case; of another product's table of that name nothing is said."""
    for table, kind in (("cdc_cdl.cdc_heartbeat", "heartbeat"), ("CDC_CDL.CDC_HEARTBEAT", "heartbeat")):
        assert classify(connect.parse({**sample(name), "name": table}, where=name)) == kind
    assert classify(connect.parse(sample(name), where=name)) == "data"
    assert classify(parsed({**envelope(ID), "name": "x.cdc_heartbeat"})) == "data"


def test_an_unknown_connector_has_no_dialect() -> None:
    """Its events are events, by a source that is known by name only."""
    result = find_envelope(parsed(envelope(ID, source_record="io.debezium.connector.db2.Source")), "v")
    assert (result.dialect, result.source_record) == (None, "io.debezium.connector.db2.Source")


def test_a_plain_record_is_a_row() -> None:
    """As it is, with metadata; other schemas have no columns."""
    node = {"type": "record", "name": "x.Status", "fields": fields_of({"id": "string", "n": nullable("int")})}
    result = plain_record(parsed(node), "v")
    assert (result.form, [field.name for field in result.row.fields]) == ("record", ["id", "n"])
    with pytest.raises(SchemaError, match="is not a record"):
        plain_record(parsed("string"), "v")


def without_meaning(node: Json) -> Json:
    """Remove the properties that Connect adds to Avro."""
    match node:
        case dict():
            return {k: without_meaning(v) for k, v in node.items() if not k.startswith("connect.")}
        case list():
            return [without_meaning(item) for item in node]
        case _:
            return node


def test_schemas_without_the_meaning_of_their_types_are_refused() -> None:
    """What connect.meta.data=false leaves: every number would be taken for what it is carried as."""
    node = without_meaning(envelope(ID))
    with pytest.raises(SchemaError, match=r"connect\.meta\.data=false") as caught:
        find_envelope(parsed(node), "v")
    assert caught.value.path == "$.source.snapshot"
