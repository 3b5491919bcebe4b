"""Several schema ids in one frame: each record by its own, all of them in one table."""

from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ingest.decode.events import decode_events, explain_rejects
from ingest.testing import decimal, nullable, semantic, unscaled
from tests.compile.sqlserver import ID, VALUE_ID, compiled, table
from tests.decode.messages import Topic, change, frame, rows_of

pytestmark = pytest.mark.spark

DATE = semantic("int", "io.debezium.time.Date")
MILLIS = semantic("long", "io.debezium.time.Timestamp")
NANOS = semantic("long", "io.debezium.time.NanoTimestamp")
ZONED = semantic("string", "io.debezium.time.ZonedTimestamp")


def struct(**fields: Any) -> Any:
    """Make a struct's schema."""
    return {
        "type": "record",
        "name": "S",
        "fields": [{"name": n, "type": nullable(t)} for n, t in fields.items()],
    }


def enum(*symbols: str) -> Any:
    """Make an enum's schema."""
    return {"type": "enum", "name": "Colour", "symbols": list(symbols)}


FIRST = {
    "id": "int",
    "n": "int",
    "amount": nullable(decimal(9, 2)),
    "at": nullable(MILLIS),
    "gone": nullable("string"),
    "real": "float",
    "shape": nullable(struct(x="int")),
    "colour": enum("red", "blue"),
    "days": {"type": "array", "items": nullable(DATE)},
}
SECOND = {
    "colour": enum("green", "red"),
    "at": [NANOS, "null"],
    "id": "int",
    "n": nullable("long"),
    "amount": [decimal(9, 4), "null"],
    "real": "double",
    "shape": nullable(struct(y=ZONED, x="long")),
    "new": nullable("string"),
    "days": nullable({"type": "array", "items": DATE}),
}
ONE = {
    "n": -7,
    "amount": unscaled(-12_345),
    "at": 1_700_000_000_123,
    "gone": "bye",
    "real": 0.1,
    "shape": {"x": 5},
    "colour": "blue",
    "days": [0, None, -719_162],
}
TWO = {
    "n": 2**40,
    "amount": unscaled(123_456_789),
    "at": 1_700_000_000_123_456_700,
    "real": 0.1,
    "shape": {"y": "2024-01-01T00:00:00+01:00", "x": 2**40},
    "new": "hello",
    "colour": "green",
    "days": None,
}
COLUMNS = ["n", "amount", "cast(at as string)", "gone", "real", "cast(shape as string)", "colour", "new"]
COLUMNS += ["cast(days as string)"]
TENTH = 0.10000000149011612
"""The float 0.1 as a double."""
TABLE_ONE = (
    *(-7, Decimal("-123.4500"), "2023-11-14 22:13:20.123", "bye", TENTH, "{5, null}", "blue", None),
    "[1970-01-01, null, 0001-01-01]",
)
TABLE_TWO = (
    *(2**40, Decimal("12345.6789"), "2023-11-14 22:13:20.123456", None, 0.1),
    *("{1099511627776, 2023-12-31 23:00:00}", "green", "hello", None),
)


def test_each_record_is_read_with_the_schema_that_wrote_it(spark: SparkSession) -> None:
    """Added, dropped, moved, widened, rescaled, retyped columns, and enums whose symbols moved."""
    topic = Topic([FIRST, SECOND, FIRST])
    versions = [0, 1, 2, 1, 0]
    messages = [topic.row({"id": n, **(TWO if v == 1 else ONE)}, v) for n, v in enumerate(versions)]
    counts, rows = rows_of(frame(spark, messages), compiled(topic.versions))
    results = [tuple(row) for row in rows.orderBy("id").selectExpr(*COLUMNS).collect()]
    assert results == [TABLE_TWO if version == 1 else TABLE_ONE for version in versions]
    assert counts.schema_ids == (VALUE_ID, VALUE_ID + 1, VALUE_ID + 2)
    assert [row[0] for row in rows.orderBy("id").select("_cdc_schema_id").collect()] == [
        VALUE_ID + version for version in versions
    ]


def test_only_the_schemas_of_the_records_make_the_table(spark: SparkSession) -> None:
    """A version that nothing was written with yet brings no column."""
    topic = Topic([FIRST, SECOND])
    counts, rows = rows_of(frame(spark, [topic.row({"id": 1, **ONE})]), compiled(topic.versions))
    assert counts.schema_ids == (VALUE_ID,)
    kinds = dict(rows.dtypes)
    assert (kinds["n"], kinds["amount"], kinds["real"]) == ("int", "decimal(9,2)", "float")
    assert "new" not in kinds


def test_values_inside_arrays_maps_and_structs_are_converted_and_judged(spark: SparkSession) -> None:
    """Nulls stay, and one value without a place sets the record aside."""
    point = struct(at=NANOS, zone=ZONED)
    kinds = {
        "list": nullable({"type": "array", "items": nullable(point)}),
        "map": nullable({"type": "map", "values": nullable(DATE)}),
    }
    topic = Topic([{**ID, **kinds}])
    good = {"at": -100, "zone": None}
    rows = [
        {
            "id": 1,
            "list": [good, None, {"at": None, "zone": "2024-01-01T00:00:00Z"}],
            "map": {"a": 0, "b": None},
        },
        {"id": 2, "list": None, "map": None},
        {"id": 3, "list": [good, {"at": 0, "zone": "soon"}], "map": None},
        {"id": 4, "list": [{"at": 99, "zone": None}], "map": None},
        {"id": 5, "list": [], "map": {"a": 2**31 - 1}},
    ]
    messages = frame(spark, [topic.row(row) for row in rows])
    counts, written = rows_of(messages, compiled(topic.versions))
    assert (counts.upserted, counts.rejected) == (2, 3)
    shown = written.orderBy("id").selectExpr("cast(list as string)", "cast(map as string)").collect()
    first = "[{1969-12-31 23:59:59.999999, null}, null, {null, 2024-01-01 00:00:00}]"
    assert [tuple(row) for row in shown] == [(first, "{a -> 1970-01-01, b -> null}"), (None, None)]
    reasons = explain_rejects(messages, compiled(topic.versions)).orderBy("offset").collect()
    inside = "value: column list is not a valid array<struct<at:timestamp_ntz,zone:timestamp>>"
    assert [row.error for row in reasons] == [
        None,
        None,
        inside,
        inside,
        "value: column map is not a valid map<string,date>",
    ]


# --- keys in the row -----------------------------------------------------------------------------


def test_a_declared_key_is_taken_from_the_row_image(spark: SparkSession) -> None:
    """From the image before, for a delete; an update that moves it would leave the old row behind."""
    topic = Topic([{**ID, "code": "string", "at": nullable(NANOS)}])

    def row(code: str) -> dict[str, Any]:
        return {"id": 1, "code": code, "at": 0}

    events = [
        change("c", row("a")),
        change("u", row("a"), row("a")),
        change("d", None, row("b")),
        change("u", row("d"), row("c")),
        change("d", None, None),
    ]
    messages = frame(spark, [(None, topic.value(event)) for event in events])
    result = compiled(topic.versions, of=table("code"), keys=None)
    rows = decode_events(messages, result).orderBy("offset").select("rejected", "op", "k.code").collect()
    assert [tuple(item) for item in rows] == [
        (False, "c", "a"),
        (False, "u", "a"),
        (False, "d", "b"),
        (True, "u", "d"),
        (True, "d", None),
    ]
    reasons = [item.error for item in explain_rejects(messages, result).orderBy("offset").collect()]
    assert reasons[3:] == [
        "value: the update changes a key column that the table file declares",
        "key: column code is null",
    ]


def test_a_table_of_nothing_but_its_key_is_a_table(spark: SparkSession) -> None:
    """A junction table has no other columns."""
    keys = {"a": "int", "b": "string"}
    topic = Topic([keys], keys=keys)
    delete = (topic.key(a=2, b="y"), topic.value(change("d", None)))
    counts, rows = rows_of(
        frame(spark, [topic.row({"a": 1, "b": "x"}), topic.row({"a": 2, "b": "y"}), delete]),
        compiled(topic.versions, keys=keys),
    )
    assert (counts.upserted, counts.deleted, counts.superseded) == (1, 1, 1)
    result = rows.orderBy("a").select("a", "b", "_cdc_op").collect()
    assert [tuple(row) for row in result] == [(1, "x", "r"), (2, "y", "d")]


def test_names_that_sql_would_stumble_over_are_only_names(spark: SparkSession) -> None:
    """Reserved words, a digit's neighbour, letters that are not English."""
    names = [
        "order",
        "select",
        "timestamp",
        "from",
        "k",
        "row",
        "value",
        "after",
        "c0",
        "x1",
        "_1",
        "Größe_2",
    ]
    keys = {"group": "int", "end": "string"}
    topic = Topic([{**keys, **dict.fromkeys(names, "string")}], keys=keys)
    row = {"group": 1, "end": "e", **{name: name for name in names}}
    _, rows = rows_of(frame(spark, [topic.row(row)]), compiled(topic.versions, keys=keys))
    (result,) = rows.collect()
    assert {name: result[name] for name in row} == row
