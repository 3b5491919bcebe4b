"""Connect's JSON schemas: each becomes the same value as its Avro."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest import avro
from ingest.avro import Array, Field, MapOf, Notes, Nullable, Record, Scalar, connect
from ingest.errors import SchemaError
from ingest.local.fixture import RecordedTopic, read_messages, read_recording

FIXTURES = Path(__file__).parents[2] / "registry_fixtures"
SAMPLES = sorted((Path(__file__).parents[1] / "data" / "connect").glob("*.json"))
KC = "org.apache.kafka.connect.data"
DBZ = "io.debezium"


def parse(node: Any) -> avro.Schema:
    """Parse under a name."""
    return connect.parse(node, where="t-value")


def struct(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Make a struct's JSON, of which no field may be null."""
    return {"type": "struct", "fields": list(fields), "optional": False, **more}


def field(name: str, kind: str, **more: Any) -> dict[str, Any]:
    """Make a field's JSON."""
    return {"type": kind, "optional": False, "field": name, **more}


# --- the same as Avro ----------------------------------------------------------------------------


def embedded(topic: RecordedTopic, prefix: tuple[str, str]) -> Iterator[tuple[str, avro.Schema]]:
    """Give every schema that a JSON topic's messages hold, with the subject that Avro would have."""
    name = topic.name.replace(*prefix, 1)
    for message in read_messages(topic):
        for side, payload in (("key", message.key), ("value", message.value)):
            if payload is not None:
                text = json.dumps(json.loads(payload)["schema"]).replace(*prefix)
                yield f"{name}-{side}", connect.parse(json.loads(text), where=name)


@pytest.mark.parametrize(
    ("as_json", "as_avro", "prefix"),
    [("sqlserver-json", "sqlserver", ("sqs", "sqs")), ("postgres-json", "postgres", ("pgj", "pgs"))],
)
def test_recorded_schemas_equal_the_avro_of_the_same_tables(
    as_json: str, as_avro: str, prefix: tuple[str, str]
) -> None:
    """Every topic and every version: the same values, names and notes, with nothing left out."""
    registered: dict[str, set[avro.Schema]] = {}
    for item in read_recording(FIXTURES / as_avro).schemas:
        registered.setdefault(item.subject, set()).add(avro.parse(item.schema))
    results: dict[str, set[avro.Schema]] = {}
    for topic in read_recording(FIXTURES / as_json).topics:
        for subject, schema in embedded(topic, prefix):
            results.setdefault(subject, set()).add(schema)
    assert results == registered


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_the_documents_samples_are_read(sample: Path) -> None:
    """Every schema that is printed in full becomes a record of its name, with every field."""
    node = json.loads(sample.read_text())
    schema = parse(node)
    assert isinstance(schema, Record)
    assert schema.name == node["name"]
    assert [field.name for field in schema.fields] == [item["field"] for item in node["fields"]]


def test_cdl_rows_and_keys_are_records_of_their_names() -> None:
    """`data`, `before` and `unique` have names of one word; the transaction's properties have none."""
    sample = next(path for path in SAMPLES if path.stem == "cdl-value")
    schema = parse(json.loads(sample.read_text()))
    assert isinstance(schema, Record)
    kinds = {field.name: avro.not_null(field.type) for field in schema.fields}
    assert {name: kinds[name].name for name in ("data", "before", "unique")} == {  # type: ignore[union-attr]
        "data": "data", "before": "before", "unique": "unique",
    }  # fmt: skip
    decimal = Scalar("string", Notes("com.xxx.cdc.data.Decimal"))
    assert kinds["data"].field("decimalNum") == Field("decimalNum", Nullable(decimal), default="null")  # type: ignore[union-attr]


# --- every kind of node ----------------------------------------------------------------------------


def decimal(scale: str, precision: str | None = None) -> dict[str, Any]:
    """Make a decimal's JSON."""
    given = {} if precision is None else {"connect.decimal.precision": precision}
    parameters = {"scale": scale, **given}
    return {"type": "bytes", "name": f"{KC}.Decimal", "version": 1, "parameters": parameters}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        *(({"type": kind}, Scalar("int")) for kind in ("int8", "int16", "int32")),
        ({"type": "int64"}, Scalar("long")),
        *(({"type": k}, Scalar(k)) for k in ("boolean", "float", "double", "bytes", "string")),
        ({"type": "string", "optional": False}, Scalar("string")),
        ({"type": "string", "optional": True}, Nullable(Scalar("string"), null_first=True)),
        ({"type": "string", "optional": True, "default": None}, Nullable(Scalar("string"))),
        (
            {"type": "string", "optional": True, "default": ""},
            Nullable(Scalar("string"), null_first=False),
        ),
        (
            {"type": "int64", "name": f"{KC}.Timestamp", "version": 1},
            Scalar("long", Notes(f"{KC}.Timestamp", "timestamp-millis")),
        ),
        ({"type": "int32", "name": f"{KC}.Date"}, Scalar("int", Notes(f"{KC}.Date", "date"))),
        ({"type": "int32", "name": f"{KC}.Time"}, Scalar("int", Notes(f"{KC}.Time", "time-millis"))),
        ({"type": "int64", "name": f"{KC}.Date"}, Scalar("long", Notes(f"{KC}.Date"))),
        (
            {"type": "string", "name": f"{DBZ}.data.Enum", "parameters": {"allowed": "a,b"}, "doc": "d"},
            Scalar("string", Notes(f"{DBZ}.data.Enum", parameters=(("allowed", "a,b"),))),
        ),
        (
            decimal("4", "19"),
            Scalar(
                "bytes",
                Notes(
                    f"{KC}.Decimal", "decimal", 19, 4, (("connect.decimal.precision", "19"), ("scale", "4"))
                ),
            ),
        ),
        (
            decimal("2"),
            Scalar("bytes", Notes(f"{KC}.Decimal", "decimal", 64, 2, (("scale", "2"),))),
        ),
        (
            decimal("-84"),
            Scalar("bytes", Notes(f"{KC}.Decimal", "decimal", 64, -84, (("scale", "-84"),))),
        ),
        (
            {"type": "array", "items": {"type": "int32", "optional": True}},
            Array(Nullable(Scalar("int"))),
        ),
        (
            {"type": "map", "keys": {"type": "string"}, "values": {"type": "float"}},
            MapOf(Scalar("float")),
        ),
        (
            {
                "type": "map",
                "keys": {"type": "int16"},
                "values": {"type": "double"},
            },
            Array(
                Record(
                    "io.confluent.connect.avro.MapEntry",
                    (Field("key", Scalar("int")), Field("value", Scalar("double"))),
                )
            ),
        ),
        (struct(name="a.b.C"), Record("a.b.C", (), Notes("a.b.C"))),
    ],
    ids=str,
)
def test_every_kind_of_node_is_read(node: object, expected: avro.Schema) -> None:
    """Each as the value that `avro.parse` gives for its Avro."""
    assert parse(node) == expected


def test_a_field_has_a_default_where_avro_has_one() -> None:
    """Null is the default of every optional field; a required one has that which it names."""
    node = struct(
        field("a", "int32"),
        field("b", "int32", optional=True),
        field("c", "int32", default=0),
        field("d", "boolean", optional=True, default=False),
        name="R",
    )
    schema = parse(node)
    assert isinstance(schema, Record)
    assert [item.default is not None for item in schema.fields] == [False, True, True, True]


def test_structs_without_names_get_one_each() -> None:
    """Their fields tell them apart: equal ones need no second name, but may have one."""
    node = struct(struct(field("x", "int32"), field="p"), struct(field("y", "int32"), field="q"))
    schema = parse(node)
    assert isinstance(schema, Record)
    names = [schema.name, *(item.type.name for item in schema.fields)]  # type: ignore[union-attr]
    assert len(set(names)) == len(names)
    assert all(name.startswith("io.confluent.connect.avro.ConnectDefault") for name in names)
    assert schema.notes == Notes()


def test_two_structs_of_one_name_stay_apart() -> None:
    """Avro could not write the second; its meaning stays, its record name is its own."""
    node = struct(
        struct(field("x", "int32"), name="n.S", field="p"),
        struct(field("y", "int32"), name="n.S", field="q"),
        struct(field("x", "int32"), name="n.S", field="r"),
        name="n.R",
    )
    schema = parse(node)
    assert isinstance(schema, Record)
    kinds = [item.type for item in schema.fields]
    assert [kind.name for kind in kinds] == ["n.S", "n.S_2", "n.S"]  # type: ignore[union-attr]
    assert [kind.notes.connect_name for kind in kinds] == ["n.S"] * 3  # type: ignore[union-attr]
    assert [f["type"]["fields"][0]["name"] for f in avro.render(schema)["fields"][:2]] == ["x", "y"]


@pytest.mark.parametrize(
    ("node", "path", "problem"),
    [
        (None, "$", "is not a Connect schema"),
        ([], "$", "is not a Connect schema"),
        ("string", "$", "is not a Connect schema"),
        ({}, "$", "is not a Connect schema"),
        ({"type": "int"}, "$", "is not a Connect schema"),
        ({"type": "struct"}, "$", "is not a Connect schema"),
        ({"type": "array"}, "$", "is not a Connect schema"),
        ({"type": "map", "values": {"type": "int8"}}, "$", "is not a Connect schema"),
        ({"type": "string", "optional": "yes"}, "$", "neither true nor false"),
        ({"type": "string", "name": 5}, "$", "a name that is not text"),
        ({"type": "string", "parameters": [1]}, "$", "parameters that are not an object"),
        (struct({"type": "int8"}), "$", "a field without a name"),
        (struct(field("a", "int9"), name="R"), "$.a", "is not a Connect schema"),
        (struct(field("a", "array", items={"type": "x"}), name="R"), "$.a[]", "is not a Connect schema"),
        (decimal("two"), "$", "'two'; both are numbers"),
        ({"type": "bytes", "name": f"{KC}.Decimal"}, "$", "scale ''"),
    ],
    ids=str,
)
def test_an_invalid_connect_schema_is_named_with_its_path(node: object, path: str, problem: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(SchemaError) as caught:
        parse(node)
    assert caught.value.where == "t-value"
    assert caught.value.path == path
    assert problem in caught.value.problem


def test_nesting_is_bounded() -> None:
    """A schema from a message may be anyone's: deep ones stop with an error of their own."""
    node: dict[str, Any] = {"type": "int8"}
    for _ in range(avro.MAX_DEPTH):
        node = {"type": "array", "items": node}
    assert isinstance(parse(node), Array)
    with pytest.raises(SchemaError, match="nested more than 64 levels"):
        parse({"type": "array", "items": node})
