"""Avro schemas: every kind of node, names as they are resolved, and a wire form that others can read."""

import json
from io import BytesIO
from itertools import count
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest import avro
from ingest.avro import Array, Enum, Field, Fixed, MapOf, Notes, Nullable, Record, Scalar, Union
from ingest.errors import SchemaError

DECIMAL = {
    "type": "bytes",
    "scale": 4,
    "precision": 19,
    "connect.name": "org.apache.kafka.connect.data.Decimal",
    "connect.parameters": {"scale": "4", "connect.decimal.precision": "19"},
    "logicalType": "decimal",
}
DECIMAL_NOTES = Notes(
    "org.apache.kafka.connect.data.Decimal",
    "decimal",
    19,
    4,
    (("connect.decimal.precision", "19"), ("scale", "4")),
)


def record(*fields: tuple[str, Any], name: str = "R", **more: Any) -> dict[str, Any]:
    """Make a record's JSON."""
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields], **more}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        *((name, Scalar(name)) for name in avro.PHYSICALS),
        *(({"type": name}, Scalar(name)) for name in avro.PHYSICALS),
        ({"type": "long", "logicalType": "x"}, Scalar("long", Notes(logical="x"))),
        (DECIMAL, Scalar("bytes", DECIMAL_NOTES)),
        ({"type": {"type": "int"}}, Scalar("int")),
        ({"type": "enum", "name": "E", "symbols": ["a", "b"]}, Enum("E", ("a", "b"))),
        ({"type": "fixed", "name": "F", "size": 16}, Fixed("F", 16)),
        ({"type": "fixed", "name": "F", "namespace": "n", "size": 2}, Fixed("n.F", 2)),
        ({"type": "array", "items": "int"}, Array(Scalar("int"))),
        ({"type": "map", "values": ["null", "int"]}, MapOf(Nullable(Scalar("int")))),
        (["null", "string"], Nullable(Scalar("string"), null_first=True)),
        (["string", "null"], Nullable(Scalar("string"), null_first=False)),
        ([{"type": "null"}, "string"], Nullable(Scalar("string"), null_first=True)),
        (["int", "string"], Union((Scalar("int"), Scalar("string")))),
        (["null", "int", "string"], Union((Scalar("null"), Scalar("int"), Scalar("string")))),
        (record(("a", "int")), Record("R", (Field("a", Scalar("int")),))),
        (record(("a", "int")) | {"type": "error"}, Record("R", (Field("a", Scalar("int")),))),
        (record(name="n.R", namespace="ignored"), Record("n.R", ())),
    ],
    ids=str,
)
def test_every_kind_of_node_is_read(node: object, expected: avro.Schema) -> None:
    """Each as the frozen value of its kind."""
    assert avro.parse(json.dumps(node)) == expected


def test_a_bare_word_is_a_schema() -> None:
    """Registries hold `string` without quotes for primitive keys."""
    assert avro.parse("string") == Scalar("string")
    assert avro.parse(" long\n") == Scalar("long")


def test_a_union_of_one_branch_stays_a_union() -> None:
    """Its values have a branch number on the wire, which the bare type has not."""
    assert avro.parse('["string"]') == Union((Scalar("string"),))
    assert avro.render(avro.parse('["string"]')) == ["string"]


def test_a_name_is_resolved_in_the_enclosing_namespace() -> None:
    """Debezium's `after` names the `Value` that `before` defined, without its namespace."""
    value = record(("id", "int"), name="Value")
    envelope = record(
        ("before", ["null", value]), ("after", ["null", "Value"]), namespace="s.dbo.t", name="E"
    )
    schema = avro.parse(json.dumps(envelope))
    assert isinstance(schema, Record)
    before, after = schema.fields
    assert before.type == after.type == Nullable(Record("s.dbo.t.Value", (Field("id", Scalar("int")),)))


def test_a_namespace_applies_to_nested_names_and_no_further() -> None:
    """A record's own namespace ends with it: its sibling is in the outer one."""
    inner = {"type": "fixed", "name": "Tail", "size": 1}
    outer = record(
        ("a", record(("x", inner), name="A", namespace="deep")),
        ("b", {"type": "fixed", "name": "Tail", "size": 2}),
        ("c", "deep.Tail"),
        ("d", "Tail"),
        name="top.R",
    )
    schema = avro.parse(json.dumps(outer))
    assert isinstance(schema, Record)
    _, b, c, d = (field.type for field in schema.fields)
    assert (b, c, d) == (Fixed("top.Tail", 2), Fixed("deep.Tail", 1), Fixed("top.Tail", 2))


def test_references_define_names() -> None:
    """A referenced text is read before the text that needs it, and may itself need an earlier one."""
    first = json.dumps({"type": "fixed", "name": "a.Uuid", "size": 16})
    second = json.dumps(record(("u", "Uuid"), name="a.Row"))
    schema = avro.parse(json.dumps(record(("row", "a.Row"), name="Top")), [first, second])
    row = Record("a.Row", (Field("u", Fixed("a.Uuid", 16)),))
    assert schema == Record("Top", (Field("row", row),))


def test_a_default_is_noted_and_not_judged() -> None:
    """Defaults never reach the wire; Debezium writes decimals' as ISO-8859-1 text."""
    node = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "a", "type": ["null", "int"], "default": None},
            {"name": "b", "type": [DECIMAL, "null"], "default": "\u0000\u0096"},
            {"name": "c", "type": "int", "aliases": ["old"]},
        ],
    }
    schema = avro.parse(json.dumps(node))
    assert isinstance(schema, Record)
    assert [field.default is not None for field in schema.fields] == [True, True, False]
    assert schema.fields[1].type == Nullable(Scalar("bytes", DECIMAL_NOTES), null_first=False)
    assert schema.fields[2].aliases == ("old",)


def test_a_semantic_is_the_connect_name_then_the_logical_type() -> None:
    """`connect.name` says more: Connect's own types carry both."""
    assert DECIMAL_NOTES.semantic == "org.apache.kafka.connect.data.Decimal"
    assert DECIMAL_NOTES.parameter("scale") == "4"
    assert DECIMAL_NOTES.parameter("length") is None
    assert Notes(logical="date").semantic == "date"
    assert Notes().semantic == ""


def nested(levels: int) -> str:
    """Make an array of arrays."""
    return '{"type":"array","items":' * levels + '"int"' + "}" * levels


@pytest.mark.parametrize(
    ("text", "path", "problem"),
    [
        ("{", "$", "is not JSON"),
        ("", "$", "is not JSON"),
        ("[" * 100_000, "$", "is not JSON"),
        ("strin", "$", "is not JSON"),
        ("17", "$", "is not an Avro type: 17"),
        ('{"a": 1}', "$", 'is not an Avro type: {"a": 1}'),
        ('"Missing"', "$", "names the type 'Missing', which is not defined"),
        (json.dumps(record(("a", ["null", "n.M"]))), "$.a", "names the type 'n.M', which is not defined"),
        (json.dumps(record(("a", ["null", "R"]))), "$.a", "contains itself: R"),
        (json.dumps(record(("a", {"type": "array", "items": "R"}))), "$.a[]", "contains itself: R"),
        (
            json.dumps(record(("a", {"type": "map", "values": "s.R"}), name="s.R")),
            "$.a{}",
            "contains itself: s.R",
        ),
        (
            json.dumps(record(("a", {"type": "fixed", "name": "F", "size": 1}), ("b", record(name="F")))),
            "$.b",
            "defines 'F' a second time",
        ),
        (nested(avro.MAX_DEPTH + 1), "$" + "[]" * 65, "is nested more than 64 levels deep"),
        ('{"type": "record", "name": "R"}', "$", "is a record without fields"),
        ('{"type": "record", "fields": []}', "$", "is a record without a name"),
        ('{"type": "enum", "symbols": []}', "$", "is a enum without a name"),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "a"}]}',
            "$",
            "has a field without name or type",
        ),
        ('{"type": "enum", "name": "E"}', "$", "is not an Avro type"),
        ('{"type": "fixed", "name": "E", "size": "1"}', "$", "is not an Avro type"),
        ('{"type": "array"}', "$", "is not an Avro type"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_unusable_schema_is_refused_with_its_path(text: str, path: str, problem: str) -> None:
    """The error names the schema, the place in it and what is wrong."""
    with pytest.raises(SchemaError) as caught:
        avro.parse(text, where="s-value v3 (id 7)")
    assert (caught.value.where, caught.value.path) == ("s-value v3 (id 7)", path)
    assert problem in caught.value.problem


def test_the_deepest_nesting_allowed_is_read() -> None:
    """The limit is a level, not one before it."""
    schema = avro.parse(nested(avro.MAX_DEPTH))
    assert isinstance(schema, Array)


def test_two_versions_of_an_enum_or_a_fixed_have_two_wire_names() -> None:
    """A decoder takes enums and fixeds by their names; two versions must stand together in one reader."""
    item, two = Enum("n.E", ("a", "b")), Enum("n.E", ("a", "b", "c"))
    assert len({avro.wire_name(item), avro.wire_name(two)}) == 2
    assert avro.wire_name(item) == avro.wire_name(Enum("n.E", ("a", "b"), Notes(connect_name="x")))
    assert len({avro.wire_name(Fixed("F", 1)), avro.wire_name(Fixed("F", 2))}) == 2
    assert avro.wire_name(Record("a.b.R", ())) == "a__b__R"


# --- against another reader ----------------------------------------------------------------------

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "bytes": st.binary(max_size=8),
    "string": st.text(max_size=8),
}
MIXED = ("null", "boolean", "string", "bytes", "double")


@st.composite
def schemas_with_values(draw: st.DrawFn) -> tuple[Any, Any]:
    """Draw a schema in one namespace, which also names types by reference, and a value of it."""
    numbers = count()
    closed: dict[str, st.SearchStrategy[Any]] = {}

    def named(kind: str, values: st.SearchStrategy[Any], **rest: Any) -> tuple[Any, st.SearchStrategy[Any]]:
        name = f"N{next(numbers)}"
        closed[name] = values
        return {"type": kind, "name": name, "doc": "not on the wire", **rest}, values

    def node(depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        leaves = [*VALUES, "enum", "fixed"]
        deeper = ["record", "array", "map", "nullable", "union"] if depth else []
        kind = draw(st.sampled_from([*leaves, *deeper, *closed]))
        make = {
            "enum": lambda: named("enum", st.sampled_from("abc"), symbols=["a", "b", "c"]),
            "fixed": lambda: named("fixed", st.binary(min_size=3, max_size=3), size=3),
            "record": lambda: struct(depth),
            "array": lambda: items("array", "items", depth),
            "map": lambda: items("map", "values", depth),
            "nullable": lambda: nullable(depth),
            "union": union,
        }
        if kind in VALUES:
            return {"type": kind, "connect.name": "x.Y"}, VALUES[kind]
        return (kind, closed[kind]) if kind in closed else make[kind]()

    def struct(depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        parts = [node(depth - 1) for _ in range(draw(st.integers(0, 4)))]
        fields = [{"name": f"f{i}", "type": kind} for i, (kind, _) in enumerate(parts)]
        return named(
            "record", st.fixed_dictionaries({f"f{i}": v for i, (_, v) in enumerate(parts)}), fields=fields
        )

    def items(kind: str, key: str, depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        of, values = node(depth - 1)
        many = (
            st.lists(values, max_size=2)
            if kind == "array"
            else st.dictionaries(st.text(max_size=3), values, max_size=2)
        )
        return {"type": kind, key: of}, many

    def nullable(depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        of, values = node(depth - 1)
        if isinstance(of, list) or of == {"type": "null", "connect.name": "x.Y"}:
            return of, values
        return draw(st.sampled_from([["null", of], [of, "null"]])), st.none() | values

    def union() -> tuple[Any, st.SearchStrategy[Any]]:
        branches = draw(st.lists(st.sampled_from(MIXED), unique=True, min_size=1, max_size=4))
        return branches, st.one_of([VALUES[branch] for branch in branches])

    kind, values = node(3)
    top = {"type": "record", "name": "T", "namespace": "n.s", "fields": [{"name": "v", "type": kind}]}
    return top, {"v": draw(values)}


def positional(value: Any) -> Any:
    """Take the names out of a decoded value."""
    match value:
        case dict():
            return [positional(item) for item in value.values()]
        case list():
            return [positional(item) for item in value]
        case _:
            return value


@given(schemas_with_values())
def test_the_rendered_schema_reads_the_same_bytes(drawn: tuple[Any, Any]) -> None:
    """Referee: fastavro, which wrote under the original, finds the same values under the wire form."""
    node, value = drawn
    buffer = BytesIO()
    original = fastavro.parse_schema(node)
    fastavro.schemaless_writer(buffer, original, value)
    wire = avro.render(avro.parse(json.dumps(node)), {"n.s.T": {"v": "renamed"}})
    buffer.seek(0)
    explained = fastavro.schemaless_reader(buffer, fastavro.parse_schema(wire), None)
    assert buffer.read() == b""
    buffer.seek(0)
    assert list(explained) == ["renamed"]
    assert positional(explained) == positional(fastavro.schemaless_reader(buffer, original, None))


def keys_of(node: Any) -> set[str]:
    """Collect the keys of every object in a JSON value."""
    match node:
        case dict():
            return set(node).union(*(keys_of(item) for item in node.values()))
        case list():
            return set().union(*(keys_of(item) for item in node))
        case _:
            return set()


@given(schemas_with_values())
def test_the_rendered_schema_holds_nothing_but_the_wire_form(drawn: tuple[Any, Any]) -> None:
    """No notes, no defaults, no namespaces."""
    wire = avro.render(avro.parse(json.dumps(drawn[0])))
    assert keys_of(wire) <= {"type", "name", "fields", "items", "values", "symbols", "size"}
