"""A table compiled from every version of its schemas: variants, keys, names, and what is refused."""

import json
from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from ingest.compile.column_versions import merged_type
from ingest.compile.payload import Payload
from ingest.compile.row_model import MessageKey, RowKey
from ingest.compile.table import CompiledTable, compile_table
from ingest.errors import SchemaError
from ingest.tables import Column, Key
from ingest.testing import decimal, nullable, semantic
from tests.compile.sqlserver import (
    ID,
    KEY_ID,
    TOPIC,
    VALUE_ID,
    compiled,
    envelope,
    key,
    spark_types,
    table,
    written,
)
from tests.feeds import feed

MILLIS = semantic("long", "io.debezium.time.Timestamp")
NANOS = semantic("long", "io.debezium.time.NanoTimestamp")


def reader_fields(payload: Payload, part: str) -> list[str]:
    """Return the names of the fields that are read of a part of the envelope."""
    parts = {field["name"]: field["type"][1] for field in json.loads(payload.reader)["fields"]}
    return [field["name"] for field in parts[part]["fields"]]


def parts_read(result: CompiledTable) -> list[str]:
    """Return the parts of the envelope that are decoded."""
    return [field["name"] for field in json.loads(result.value.reader)["fields"]]


# --- variants ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("versions", "types", "merged"),
    [
        (["int"], ["int"], "int"),
        (["int", nullable("int")], ["int"], "int"),
        (["int", "long"], ["int", "bigint"], "bigint"),
        (["long", "int", "long"], ["bigint", "int"], "bigint"),
        ([decimal(9, 2), decimal(9, 4)], ["decimal(9,2)", "decimal(9,4)"], "decimal(11,4)"),
        ([MILLIS, NANOS], ["timestamp_ntz", "timestamp_ntz"], "timestamp_ntz"),
        (["float", "double"], ["float", "double"], "double"),
    ],
    ids=str,
)
def test_a_column_has_one_variant_for_each_way_it_was_written(
    versions: list[Any], types: list[str], merged: str
) -> None:
    """In the order of the versions, and equal ways are one variant."""
    result = compiled([{**ID, "c": kind} for kind in versions])
    column_versions = result.value.columns()["c"]
    assert [str(column_version.mapped.spark) for column_version in column_versions] == types
    assert str(merged_type(column_versions, "here")) == merged
    written_by = [schema_id for column_version in column_versions for schema_id in column_version.writers]
    assert sorted(written_by) == [VALUE_ID + i for i in range(len(versions))]


def test_variants_are_fields_of_their_own() -> None:
    """So that no value is read as another's type, and each writer calls its fields by its own variants."""
    result = compiled([{**ID, "c": MILLIS}, {**ID, "c": NANOS}])
    assert [(v.column, v.field) for v in result.value.column_versions] == [
        ("id", "c0"),
        ("c", "c1"),
        ("c", "c2"),
    ]
    wires = [json.loads(writer.wire) for writer in result.value.writers]
    rows = [wire["fields"][0]["type"][1]["fields"] for wire in wires]
    assert [[field["name"] for field in row] for row in rows] == [["c0", "c1"], ["c0", "c2"]]
    assert reader_fields(result.value, "after") == ["c0", "c1", "c2"]


def test_added_and_dropped_columns_keep_the_order_of_their_first_version() -> None:
    """A column that comes later stands behind; one that went stays where it was."""
    result = compiled(
        [{**ID, "a": "int", "b": "int"}, {**ID, "new": "string", "a": "long"}, {"z": "int", **ID, "b": "int"}]
    )
    assert spark_types(result) == {
        "id": ["int"],
        "a": ["int", "bigint"],
        "b": ["int"],
        "new": ["string"],
        "z": ["int"],
    }
    assert list(result.value.columns([VALUE_ID + 1])) == ["id", "a", "new"]
    assert [str(v.mapped.spark) for v in result.value.columns([VALUE_ID + 1])["a"]] == ["bigint"]


def test_ways_of_writing_that_no_type_holds_are_refused_when_merged() -> None:
    """With the column and both types."""
    result = compiled([{**ID, "c": "int"}, {**ID, "c": "string"}])
    with pytest.raises(SchemaError, match="as int and as string, and no type holds both") as caught:
        merged_type(result.value.columns()["c"], "here")
    assert caught.value.path == "$.c"


def test_an_unknown_type_in_any_version_is_named_with_that_version() -> None:
    """Old records may still lie in the topic."""
    odd = semantic("int", "io.acme.Odd")
    with pytest.raises(Exception, match=r"t-value v2 \(id 102\) \$\.after\.c: 'io\.acme\.Odd'"):
        compiled([ID, {**ID, "c": odd}, ID])


# --- what is read --------------------------------------------------------------------------------


def test_of_the_before_image_only_keys_are_read() -> None:
    """A delete has nothing else to compare the message key with, or to say which row it means."""
    columns = {**ID, "a": "int", "b": "int"}
    keyed, in_row = compiled([columns]), compiled([columns], of=table("b"))
    assert parts_read(keyed) == parts_read(in_row) == ["after", "before", "source", "op"]
    assert reader_fields(keyed.value, "before") == ["c0"]
    assert reader_fields(in_row.value, "before") == ["c0", "c2"]
    uncompared = attrs.evolve(table(), key=Key(mismatch="ignore"))
    assert parts_read(compiled([columns], of=uncompared)) == ["after", "source", "op"]


def test_of_the_source_only_position_and_time_are_read() -> None:
    """With any other fields of a version of the connector."""
    result = compiled([ID])
    assert reader_fields(result.value, "source") == ["commit_lsn", "change_lsn", "event_serial_no", "ts_ms"]


def test_names_are_defined_once_in_the_readers_schema() -> None:
    """Avro allows no second definition: enums, structs and their versions stand together."""
    enum = {"type": "enum", "name": "Color", "symbols": ["a"]}
    point = {"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}
    point2 = {"type": "record", "name": "P", "fields": [{"name": "x", "type": "long"}]}
    result = compiled(
        [
            {**ID, "e": enum, "f": "Color", "p": nullable(point), "q": "P"},
            {**ID, "e": {**enum, "symbols": ["a", "b"]}, "p": point2, "k": {"type": "array", "items": "P"}},
        ],
        of=table("id", "e"),
    )
    names: list[str] = []

    def collect(node: Any) -> None:
        if isinstance(node, dict):
            if node.get("type") in ("record", "enum", "fixed"):
                names.append(node["name"])
            for value in node.values():
                collect(value)
        if isinstance(node, list):
            for value in node:
                collect(value)

    collect(json.loads(result.value.reader))
    assert sorted(names) == sorted(set(names))
    assert spark_types(result)["p"] == ["struct<x:int>", "struct<x:bigint>"]


# --- keys ----------------------------------------------------------------------------------------


def test_the_key_comes_from_the_message_key() -> None:
    """Its columns in its order, not that of the row."""
    keys = {"region": "string", "no": "long"}
    result = compiled([{"a": "int", "no": "long", "region": "string"}], keys=keys)
    assert [(name, str(kind)) for name, kind in result.key_columns] == [
        ("region", "string"),
        ("no", "bigint"),
    ]
    assert result.key_source == MessageKey()


@pytest.mark.parametrize(("declared", "in_row"), [(("a", "b"), True), (("b", "a"), True), (("id",), False)])
def test_declared_key_columns_come_from_the_row_unless_they_are_the_messages(
    declared: tuple[str, ...], *, in_row: bool
) -> None:
    """Then the before image must say which row a delete means."""
    result = compiled([{**ID, "a": "int", "b": "string"}], of=table(*declared))
    assert [name for name, _ in result.key_columns] == list(declared)
    assert (result.key_source == RowKey()) is in_row


def test_the_messages_key_columns_in_another_order_stay_the_messages() -> None:
    """The declared order is kept."""
    result = compiled([{"a": "int", "b": "int"}], of=table("b", "a"), keys={"a": "int", "b": "int"})
    assert ([name for name, _ in result.key_columns], result.key_source) == (["b", "a"], MessageKey())


def test_a_topic_without_keys_needs_declared_ones() -> None:
    """Without, its rows have no identity."""
    with pytest.raises(SchemaError, match=r"has no key schema.*\[key\] columns") as caught:
        compiled([ID], keys=None)
    assert (caught.value.where, caught.value.path) == (f"topic {TOPIC}", "$key")
    result = compiled([ID], keys=None, of=table("id"))
    assert result.key_source == RowKey()
    assert result.key.writers == ()


@pytest.mark.parametrize("declared", [(), ("id",)])
def test_a_key_that_is_not_a_record_gives_no_columns(declared: tuple[str, ...]) -> None:
    """A bare string names no column; a table file may."""
    values = [written(VALUE_ID, envelope(ID))]
    keys = [written(KEY_ID, "string", "the key")]
    if declared:
        assert compile_table(feed(table(*declared)), keys, values).key_source == RowKey()
        return
    with pytest.raises(SchemaError, match="is not a record, so it names no key columns"):
        compile_table(feed(table()), keys, values)


def test_a_key_column_written_in_two_ways_has_the_wider_type() -> None:
    """Keys of int that became bigint stay the same keys."""
    values = [written(VALUE_ID, envelope(ID))]
    keys = [written(KEY_ID, key({"id": "int"})), written(KEY_ID + 1, key({"id": "long"}))]
    result = compile_table(feed(table()), keys, values)
    assert [str(kind) for _, kind in result.key_columns] == ["bigint"]


ZONED = semantic("string", "io.debezium.time.ZonedTimestamp")
NANO_TIME = semantic("long", "io.debezium.time.NanoTime")


@pytest.mark.parametrize(
    ("kind", "lossy", "lossless"),
    [
        (NANOS, Column(), Column(nanos="string")),
        (NANOS, Column(nanos="timestamp"), Column(nanos="bigint")),
        (ZONED, Column(), Column(type="string")),
        (NANO_TIME, Column(time="micros"), Column()),
    ],
)
@pytest.mark.parametrize("in_row", [False, True])
def test_a_key_column_whose_type_loses_digits_is_refused(
    kind: Any, lossy: Column, lossless: Column, *, in_row: bool
) -> None:
    """Two keys could become one; the error says how to keep all of it."""
    rows, keys = [{**ID, "k": kind}], ID if in_row else {"k": kind}

    def compile_with(rule: Column) -> CompiledTable:
        return compiled(rows, keys=keys, of=table("k", columns={"k": rule}))

    with pytest.raises(SchemaError, match=r"two keys could become one.*\[columns\.k\]"):
        compile_with(lossy)
    assert [name for name, _ in compile_with(lossless).key_columns] == ["k"]


@pytest.mark.parametrize(
    ("declared", "keys", "columns"),
    [(("nope",), ID, {}), ((), {"id": "int", "k": "int"}, {"k": Column(exclude=True)})],
)
def test_a_key_that_is_not_a_column_is_refused(
    declared: tuple[str, ...], keys: Mapping[str, Any], columns: Mapping[str, Column]
) -> None:
    """Missing or excluded."""
    with pytest.raises(SchemaError, match="is not a column and cannot be a key"):
        compiled([ID], keys=keys, of=table(*declared, columns=columns))


def test_a_misspelled_key_is_suggested_the_column() -> None:
    """As tables, topics and subjects are."""
    keys = {"customer_id": "int"}
    with pytest.raises(SchemaError, match=r"\$\.custmer_id: .*Did you mean 'customer_id'\?"):
        compiled([keys], keys=keys, of=table("custmer_id"))


def test_an_unknown_type_in_a_key_has_the_path_in_the_key() -> None:
    """Not one in a row image that the key schema does not have."""
    with pytest.raises(Exception, match=r"t-key v1 \(id 1\) \$\.id: 'io\.acme\.Odd'"):
        compiled([ID], keys={"id": semantic("int", "io.acme.Odd")})


# --- names ---------------------------------------------------------------------------------------


def test_a_renamed_column_has_its_new_name_everywhere() -> None:
    """In the row and in the key; the policies stay under the source's name."""
    columns = {"id": Column(rename="no"), "c": Column(rename="d", nanos="string")}
    result = compiled([{**ID, "c": NANOS}], of=table(columns=columns))
    assert spark_types(result) == {"no": ["int"], "d": ["string"]}
    assert [name for name, _ in result.key_columns] == ["no"]


def test_an_excluded_column_is_not_compiled() -> None:
    """Not even looked up: that is the way around a type without a row."""
    odd = semantic("int", "io.acme.Odd")
    result = compiled([{**ID, "c": odd}], of=table(columns={"c": Column(exclude=True)}))
    assert list(result.value.columns()) == ["id"]


@pytest.mark.parametrize("name", ["_cdc_op", "_hoodie_commit_time", "_CDC_x", "_Hoodie_"])
def test_the_names_that_ingest_and_hudi_need_are_refused(name: str) -> None:
    """And may be abandoned for others."""
    with pytest.raises(SchemaError, match=r"reserve.*rename") as caught:
        compiled([{**ID, name: "int"}])
    assert caught.value.path == f"$.after.{name}"
    result = compiled([{**ID, name: "int"}], of=table(columns={name: Column(rename="x")}))
    assert list(result.value.columns()) == ["id", "x"]


@pytest.mark.parametrize("versions", [[{**ID, "Id": "int"}], [{**ID, "a": "int"}, {**ID, "A": "int"}]])
def test_names_that_differ_in_case_alone_are_refused(versions: list[dict[str, Any]]) -> None:
    """In one version or across two: Spark takes them for one."""
    with pytest.raises(SchemaError, match=r"only in letter case.*rename"):
        compiled(versions)


def test_a_name_given_to_a_column_that_is_there_is_refused() -> None:
    """Two columns of one row cannot be one column."""
    with pytest.raises(SchemaError, match=r"is the name of column 'a' and of column 'b'"):
        compiled([{**ID, "a": "int", "b": "int"}], of=table(columns={"b": Column(rename="a")}))


def test_a_column_renamed_at_the_source_may_go_on_under_one_name() -> None:
    """Never both in one row, so that nothing is mixed."""
    result = compiled([{**ID, "a": "int"}, {**ID, "b": "long"}], of=table(columns={"a": Column(rename="b")}))
    assert spark_types(result) == {"id": ["int"], "b": ["int", "bigint"]}


# --- what is not a change event ---------------------------------------------------------------------


def test_another_connectors_events_are_refused() -> None:
    """The position would be read wrong."""
    foreign = envelope(ID, source_record="io.debezium.connector.mysql.Source")
    with pytest.raises(SchemaError, match="mysql") as caught:
        compile_table(feed(table()), [written(KEY_ID, key(ID))], [written(VALUE_ID, foreign)])
    assert "not one of SQL Server" in str(caught.value)


FLAT = {"type": "record", "name": "s.Value", "fields": [{"name": "__op", "type": "string"}]}
HEARTBEAT = {
    "type": "record",
    "name": "io.debezium.connector.common.Heartbeat",
    "fields": [{"name": "ts_ms", "type": "long"}],
}


def test_foreign_schemas_among_the_versions_are_kept_apart() -> None:
    """Their records are known, and are not decoded."""
    values = [
        written(VALUE_ID, envelope(ID)),
        written(VALUE_ID + 1, FLAT),
        written(VALUE_ID + 2, HEARTBEAT),
        written(VALUE_ID + 3, "string"),
    ]
    result = compile_table(feed(table()), [written(KEY_ID, key(ID))], values)
    kinds = [(writer.kind, bool(writer.wire)) for writer in result.value.writers]
    assert kinds == [("data", True), ("foreign", False), ("heartbeat", True), ("foreign", False)]
    assert result.schema_ids == tuple(VALUE_ID + i for i in range(4))


@pytest.mark.parametrize("values", [[], [FLAT], [HEARTBEAT, "string"]])
def test_a_topic_without_any_change_event_schema_is_refused(values: list[Any]) -> None:
    """There is nothing to make a table of."""
    with pytest.raises(SchemaError, match="is not a change event"):
        compile_table(
            feed(table()),
            [written(KEY_ID, key(ID))],
            [written(VALUE_ID + i, v) for i, v in enumerate(values)],
        )
