"""Schemas and JSON of hostile size or depth: an error that names the place, at once."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from ingest import avro
from ingest.avro import connect
from ingest.compile.describe import describe
from ingest.errors import SchemaError
from ingest.kafka.sample import RawRecord
from ingest.run.batch.messages import bare_keys, written_in
from ingest.typemap.column import Mapper

DEEP = 10_000


def named(index: int, of: Any) -> Any:
    """Make a record of one field."""
    return {"type": "record", "name": f"R{index}", "fields": [{"name": "f", "type": of}]}


def doubled(levels: int) -> Any:
    """Make a short schema of 2 ** levels types: each name refers twice to the previous one."""
    fields = [{"name": "a0", "type": named(0, "int")}]
    for n in range(1, levels):
        both = [{"name": side, "type": f"R{n - 1}"} for side in ("left", "right")]
        fields.append({"name": f"a{n}", "type": {"type": "record", "name": f"R{n}", "fields": both}})
    return {"type": "record", "name": "Top", "fields": fields}


def chained(levels: int) -> Any:
    """Make records that stand together, and each holds the last one by its name."""
    fields = [{"name": f"a{n}", "type": named(n, f"R{n - 1}" if n else "int")} for n in range(levels)]
    return {"type": "record", "name": "Top", "fields": fields}


def symbols(count: int) -> Any:
    """Make an enum."""
    return {"type": "enum", "name": "E", "symbols": [f"S{n}" for n in range(count)]}


def columns(count: int) -> Any:
    """Make a record of many fields."""
    return {"type": "record", "name": "R", "fields": [{"name": f"c{n}", "type": "int"} for n in range(count)]}


AVRO: dict[str, tuple[Callable[[], str], str]] = {
    "records": (
        lambda: "".join(
            f'{{"type":"record","name":"R{n}","fields":[{{"name":"f","type":' for n in range(DEEP)
        )
        + '"int"'
        + "}]}" * DEEP,
        "is not JSON",
    ),
    "arrays": (lambda: '{"type":"array","items":' * DEEP + '"int"' + "}" * DEEP, "is not JSON"),
    "arrays that JSON can hold": (
        lambda: '{"type":"array","items":' * 80 + '"int"' + "}" * 80, "more than 64 levels"
    ),
    "unions": (lambda: "[" * DEEP + '"int"' + "]" * DEEP, "is not JSON"),
    "names of names": (lambda: json.dumps(doubled(60)), "expands to [0-9,]+ types"),
    "a chain of names": (lambda: json.dumps(chained(DEEP)), "more than 64 levels"),
    "an enum": (lambda: json.dumps(symbols(1_000_000)), "characters long"),
    "a record": (lambda: json.dumps(columns(100_000)), "expands to 100,001 types"),
    "a name": (lambda: json.dumps({"type": "record", "name": "x" * 5_000_000, "fields": []}), "long"),
    "a number": (lambda: '{"type":"fixed","name":"F","size":' + "9" * 100_000 + "}", "is not JSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", AVRO)
def test_a_hostile_avro_schema_is_refused(name: str) -> None:
    """By its depth, its size, or the types that it refers to; the error itself is short."""
    make, text = AVRO[name]
    with pytest.raises(SchemaError, match=text) as caught:
        avro.parse(make(), where="schema id 7")
    assert str(caught.value).startswith("schema id 7 $")
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("levels", range(400, 1000, 50))
def test_a_deep_default_neither_passes_the_stack_nor_is_half_taken(levels: int) -> None:
    """Python's own limit is met while the default is read or written back, wherever that happens."""
    nested = "[" * levels + "]" * levels
    field = f'{{"name":"f","type":"int","default":{nested}}}'
    try:
        parsed = avro.parse(f'{{"type":"record","name":"R","fields":[{field}]}}')
    except SchemaError:
        return
    assert isinstance(parsed, avro.Record)
    assert parsed.fields[0].default == nested


def test_a_schema_of_usual_size_is_far_from_the_bounds() -> None:
    """A table of 4,000 columns, each of them nullable, before and after."""
    row = {
        "type": "record", "name": "Value",
        "fields": [{"name": f"c{n}", "type": ["null", "string"]} for n in range(4_000)],
    }  # fmt: skip
    images = [{"name": "before", "type": ["null", row]}, {"name": "after", "type": ["null", "Value"]}]
    parsed = avro.parse(json.dumps({"type": "record", "name": "Envelope", "fields": images}))
    assert isinstance(parsed, avro.Record)
    stored = avro.not_null(parsed.fields[1].type)
    assert isinstance(stored, avro.Record)
    assert len(describe(stored, "x").columns) == 4_000


def test_a_hostile_connect_schema_is_refused() -> None:
    """As deep as JSON lets it be."""
    node: Any = {"type": "int32", "optional": False}
    for _ in range(sys.getrecursionlimit() // 4):
        node = {"type": "array", "items": node, "optional": False}
    with pytest.raises(SchemaError, match="more than 64 levels"):
        connect.parse(node, where="values of t")


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"schema":' * 100_000, b'{"payload":' + b"[" * 100_000])
def test_a_sampled_message_of_hostile_depth_is_passed_over(text: bytes) -> None:
    """It tells no schema, and does not stop those that do."""
    good = b'{"schema":{"type":"string","optional":true},"payload":"x"}'
    assert written_in([text], "values of t") == ()
    assert [item.schema_id for item in written_in([text, good], "values of t")] == [-1]
    assert bare_keys([RawRecord(item, None, (), None) for item in (text, b'{"id": 1}')]) == ("id",)


def decimal_schema(**shape: Any) -> Any:
    """Make a row with a decimal."""
    parameters = {"connect.parameters": {name: str(value) for name, value in shape.items()}}
    kind = {"type": "bytes", "connect.name": "org.apache.kafka.connect.data.Decimal", **parameters}
    return {"type": "record", "name": "R", "fields": [{"name": "amount", "type": kind}]}


SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "a scale below all": ({"scale": -1_000_000_000}, "has scale -1,000,000,000"),
    "a scale beyond all": ({"scale": 2**31}, "has scale 2,147,483,648"),
    "a scale beyond Python": ({"scale": "9" * 5_000}, "has a scale that is not a number"),
    "a scale of words": ({"scale": "two"}, "has a scale that is not a number: two"),
    "no digits": ({"scale": 0, "connect.decimal.precision": 0}, "has precision 0"),
    "too many digits": ({"scale": 0, "connect.decimal.precision": 10**9}, "has precision 1,000,000,000"),
    "a precision of words": ({"scale": 0, "connect.decimal.precision": "many"}, "not a number: many"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_decimal_of_hostile_shape_is_refused_with_its_path(name: str) -> None:
    """In a registered schema and in one that a message holds."""
    shape, text = SHAPES[name]
    registered = avro.parse(json.dumps(decimal_schema(**shape)), where="schema id 7")
    with pytest.raises(SchemaError, match=text) as caught:
        Mapper("schema id 7").map(registered, "$")
    assert "$.amount" in str(caught.value)
    assert len(str(caught.value)) < 600
    parameters = {key: str(value) for key, value in shape.items()}
    kind = {"type": "bytes", "optional": False, "name": "org.apache.kafka.connect.data.Decimal"}
    node = {"type": "struct", "fields": [{**kind, "field": "amount", "parameters": parameters}]}
    with pytest.raises(SchemaError, match=r"\$\.amount"):
        Mapper("values of t").map(connect.parse(node, where="values of t"), "$")


@pytest.mark.parametrize("size", [0, -1, 2**24 + 1, 2**62])
def test_a_fixed_of_hostile_size_is_refused(size: int) -> None:
    """Of no bytes, too: an array could hold any number of them in a few bytes."""
    with pytest.raises(SchemaError, match="is a fixed of"):
        avro.parse(json.dumps({"type": "fixed", "name": "F", "size": size}))


NAMES = ["it's", "{c}", "a`b", "a.b", "a\nb", "${env:HOME}", "名", "x" * 10_000, "9", "²", "😀"]
NO_NAME = "has (two fields|a field with)"


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_decoder_gets_only_names_that_it_accepts(name: str) -> None:
    """Names are not on the wire: those of records, and of fields that no table has, are replaced."""
    field = {"name": name, "type": {"type": "record", "name": name, "fields": []}}
    schema = avro.parse(json.dumps({"type": "record", "name": "Top", "fields": [field]}))
    rendered = avro.render(schema)["fields"][0]
    assert avro.is_name(rendered["name"])
    assert avro.is_name(rendered["type"]["name"])


@pytest.mark.parametrize("names", [["a", "a"], [""], ["\ud800"]], ids=ascii)
def test_fields_without_a_name_of_their_own_are_refused(names: list[str]) -> None:
    """In Avro and in Connect's JSON: a value would be read as another's."""
    fields = [{"name": name, "field": name, "type": "string"} for name in names]
    with pytest.raises(SchemaError, match=NO_NAME):
        avro.parse(json.dumps({"type": "record", "name": "Top", "fields": fields}))
    with pytest.raises(SchemaError, match=NO_NAME):
        connect.parse({"type": "struct", "fields": fields}, where="values of t")


@pytest.mark.parametrize("symbol", ["it's", "a b", "", "\ud800", "${x}"])
def test_a_symbol_that_avro_does_not_allow_is_refused(symbol: str) -> None:
    """As Java's library does, which would refuse the whole table later on."""
    with pytest.raises(SchemaError, match="symbol"):
        avro.parse(json.dumps({"type": "enum", "name": "E", "symbols": [symbol]}))
