"""Types: the whole table of the connector's two documents, and types outside it."""

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from ingest.errors import SchemaError, UnmappedTypeError
from ingest.sql.template import sql
from ingest.tables import Column, TableConfig
from ingest.testing import decimal, nullable, semantic
from ingest.typemap.column import Mapped
from ingest.typemap.rows import TYPES, TYPES_BY_TICK, TypeRow
from tests.compile.sqlserver import ID, compiled, table

INT16 = {"type": "int", "connect.type": "int16"}
MICRO = "digits below 1 µs"


def dbz(physical: str, name: str) -> Any:
    """Make one of Debezium's time types."""
    return semantic(physical, f"io.debezium.time.{name}")


def connect(physical: str, name: str, logical: str) -> Any:
    """Make one of Connect's own types, as the converter annotates them."""
    return semantic(physical, f"org.apache.kafka.connect.data.{name}", logicalType=logical)


CONNECT_TIME = connect("int", "Time", "time-millis")
CONNECT_TIMESTAMP = connect("long", "Timestamp", "timestamp-millis")

# (mode, SQL Server type, Avro type, Spark type, what is lost)
SQL_SERVER: list[tuple[str, str, Any, str, str]] = [
    ("basic", "bit", "boolean", "boolean", ""),
    ("basic", "tinyint", INT16, "int", ""),
    ("basic", "smallint", INT16, "int", ""),
    ("basic", "int", "int", "int", ""),
    ("basic", "bigint", "long", "bigint", ""),
    ("basic", "real", "float", "float", ""),
    ("basic", "float(53)", "double", "double", ""),
    *(("basic", name, "string", "string", "") for name in ("char", "varchar(max)", "text", "nchar", "ntext")),
    ("basic", "uniqueidentifier", "string", "string", ""),
    ("basic", "xml", semantic("string", "io.debezium.data.Xml"), "string", ""),
    ("basic", "varbinary(max)", "bytes", "binary", ""),
    ("basic", "rowversion", "bytes", "binary", ""),
    ("basic", "datetimeoffset", dbz("string", "ZonedTimestamp"), "timestamp", f"the offset, and {MICRO}"),
    ("adaptive", "date", dbz("int", "Date"), "date", ""),
    ("adaptive", "time(3)", dbz("int", "Time"), "string", ""),
    ("adaptive", "time(6)", dbz("long", "MicroTime"), "string", ""),
    ("adaptive", "time(7)", dbz("long", "NanoTime"), "string", ""),
    ("adaptive", "datetime", dbz("long", "Timestamp"), "timestamp_ntz", ""),
    ("adaptive", "smalldatetime", dbz("long", "Timestamp"), "timestamp_ntz", ""),
    ("adaptive", "datetime2(3)", dbz("long", "Timestamp"), "timestamp_ntz", ""),
    ("adaptive", "datetime2(6)", dbz("long", "MicroTimestamp"), "timestamp_ntz", ""),
    ("adaptive", "datetime2(7)", dbz("long", "NanoTimestamp"), "timestamp_ntz", MICRO),
    ("connect", "date", connect("int", "Date", "date"), "date", ""),
    ("connect", "time(7)", CONNECT_TIME, "string", ""),
    ("connect", "datetime", CONNECT_TIMESTAMP, "timestamp_ntz", ""),
    ("connect", "datetime2(7)", CONNECT_TIMESTAMP, "timestamp_ntz", ""),
    ("isostring", "date", dbz("string", "IsoDate"), "date", ""),
    ("isostring", "time(7)", dbz("string", "IsoTime"), "string", ""),
    ("isostring", "datetime2(7)", dbz("string", "IsoTimestamp"), "timestamp_ntz", MICRO),
    ("precise", "decimal(9,3)", decimal(9, 3), "decimal(9,3)", ""),
    ("precise", "numeric(38,38)", decimal(38, 38), "decimal(38,38)", ""),
    ("precise", "decimal(38,0)", decimal(38, 0), "decimal(38,0)", ""),
    ("precise", "money", decimal(19, 4), "decimal(19,4)", ""),
    ("precise", "smallmoney", decimal(10, 4), "decimal(10,4)", ""),
    ("precise", "of unknown precision", decimal(None, 4), "decimal(38,4)", ""),
    ("double", "money", "double", "double", ""),
    ("string", "money", "string", "string", ""),
]


def mapped(kind: Any, of: TableConfig | None = None) -> Mapped:
    """Compile one column, named `c`."""
    (column_version,) = compiled([{**ID, "c": kind}], of=of).value.columns()["c"]
    return column_version.mapped


@pytest.mark.parametrize(
    ("kind", "spark", "loses"),
    [pytest.param(*row[2:], id=f"{row[0]}-{row[1]}") for row in SQL_SERVER],
)
@pytest.mark.parametrize("optional", [False, True])
def test_every_type_of_sql_server_has_its_spark_type(
    kind: Any, spark: str, loses: str, *, optional: bool
) -> None:
    """In every mode of the connector, required or nullable; losses are named."""
    result = mapped(nullable(kind) if optional else kind)
    assert (str(result.spark), result.loses) == (spark, loses)


@pytest.mark.parametrize("null_first", [True, False])
def test_the_order_of_a_nullable_unions_branches_does_not_matter(*, null_first: bool) -> None:
    """A column with a default has null last."""
    kind = dbz("long", "NanoTimestamp")
    assert str(mapped(["null", kind] if null_first else [kind, "null"]).spark) == "timestamp_ntz"


# --- lookup --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "spark"),
    [
        (semantic("long", "io.debezium.time.NanoTime", logicalType="timestamp-millis"), "string"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "timestamp_ntz"),
        ({"type": "int", "logicalType": "date"}, "date"),
        ({"type": "int", "logicalType": "time-millis"}, "string"),
        ({"type": "string", "logicalType": "uuid"}, "string"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}, "decimal(5,2)"),
        ({"type": "long", "connect.version": 1}, "bigint"),
    ],
)
def test_a_type_is_looked_up_by_connect_name_then_logical_type_then_physical(kind: Any, spark: str) -> None:
    """The first that is there decides, alone."""
    assert str(mapped(kind).spark) == spark


UNKNOWN = semantic("long", "io.acme.Odd")


@pytest.mark.parametrize(
    ("kind", "path", "semantic_name", "physical"),
    [
        (UNKNOWN, "$.after.c", "io.acme.Odd", "long"),
        (dbz("string", "Date"), "$.after.c", "io.debezium.time.Date", "string"),
        ({"type": "long", "logicalType": "odd"}, "$.after.c", "odd", "long"),
        ({"type": "array", "items": UNKNOWN}, "$.after.c[]", "io.acme.Odd", "long"),
        ({"type": "map", "values": nullable(UNKNOWN)}, "$.after.c{}", "io.acme.Odd", "long"),
        (
            {"type": "record", "name": "P", "fields": [{"name": "x", "type": UNKNOWN}]},
            "$.after.c.x",
            "io.acme.Odd",
            "long",
        ),
        (
            {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "P",
                    "fields": [{"name": "x", "type": {"type": "map", "values": UNKNOWN}}],
                },
            },
            "$.after.c[].x{}",
            "io.acme.Odd",
            "long",
        ),
        (
            {
                "type": "record",
                "name": "V",
                "fields": [],
                "connect.name": "io.debezium.data.Unheard",
            },
            "$.after.c",
            "io.debezium.data.Unheard",
            "record",
        ),
        (
            {"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 5},
            "$.after.c",
            "decimal",
            "fixed",
        ),
        (["int", "string"], "$.after.c", "", "union"),
        (["string"], "$.after.c", "", "union"),
        ("null", "$.after.c", "", "null"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_type_without_a_row_stops_with_its_path(
    kind: Any, path: str, semantic_name: str, physical: str
) -> None:
    """The error names the schema and the field, however deep."""
    with pytest.raises(UnmappedTypeError) as caught:
        mapped(kind)
    error = caught.value
    assert error.where == "srv.db.dbo.t-value v1 (id 101)"
    assert (error.path, error.semantic, error.physical) == (path, semantic_name, physical)


# --- decimals ------------------------------------------------------------------------------------


def stripped(kind: Any, *names: str) -> Any:
    """Take annotations away."""
    return {name: value for name, value in kind.items() if name not in names}


@pytest.mark.parametrize(
    ("kind", "spark"),
    [
        (decimal(9, 3, written_precision=64), "decimal(9,3)"),
        (decimal(5, 7), "decimal(7,7)"),
        (stripped(decimal(9, 3), "logicalType", "precision", "scale"), "decimal(9,3)"),
        (stripped(decimal(None, 3), "logicalType", "precision", "scale"), "decimal(38,3)"),
        ({**decimal(9, 3), "scale": 0}, "decimal(9,3)"),
    ],
)
def test_a_decimals_digits_are_those_of_connects_parameters(kind: Any, spark: str) -> None:
    """The annotation is the converter's, and it may lack, or be 64 for "unknown"."""
    assert str(mapped(kind).spark) == spark


@pytest.mark.parametrize(
    "kind",
    [
        decimal(39, 0),
        decimal(45, 3),
        decimal(38, 39),
        decimal(37, -2),
        decimal(64, 4),
        decimal(None, -2),
        decimal(None, 39),
    ],
    ids=lambda kind: str(kind["connect.parameters"]),
)
@pytest.mark.parametrize("nested", [False, True])
def test_a_decimal_that_spark_cannot_hold_is_text_or_stops_with_its_path(kind: Any, *, nested: bool) -> None:
    """By policy; never cut, never a double."""
    column = {"type": "array", "items": kind} if nested else kind
    assert str(mapped(column).spark) == ("array<string>" if nested else "string")
    with pytest.raises(SchemaError, match="38 digits") as caught:
        mapped(column, table(decimals="fail"))
    assert caught.value.path == ("$.after.c[]" if nested else "$.after.c")


# --- policies ------------------------------------------------------------------------------------

NANO = dbz("long", "NanoTimestamp")


@pytest.mark.parametrize(
    ("kind", "policies", "spark", "loses"),
    [
        (dbz("int", "Time"), {"time": "micros"}, "bigint", ""),
        (dbz("long", "MicroTime"), {"time": "micros"}, "bigint", ""),
        (dbz("long", "NanoTime"), {"time": "micros"}, "bigint", MICRO),
        (CONNECT_TIME, {"time": "micros"}, "bigint", ""),
        ({"type": "int", "logicalType": "time-millis"}, {"time": "micros"}, "bigint", ""),
        (dbz("string", "IsoTime"), {"time": "micros"}, "string", ""),
        (NANO, {"nanos": "bigint"}, "bigint", ""),
        (NANO, {"nanos": "string"}, "string", ""),
        (dbz("string", "IsoTimestamp"), {"nanos": "string"}, "string", ""),
        (dbz("string", "IsoTimestamp"), {"nanos": "bigint"}, "string", ""),
        (dbz("long", "MicroTimestamp"), {"nanos": "string"}, "timestamp_ntz", ""),
    ],
    ids=str,
)
def test_a_policy_chooses_among_a_types_rows(
    kind: Any, policies: Mapping[str, Any], spark: str, loses: str
) -> None:
    """For the table or for one column, with the same result."""
    for of in (table(**policies), table(columns={"c": Column(**policies)})):
        result = mapped(kind, of)
        assert (str(result.spark), result.loses) == (spark, loses)


def test_a_columns_policy_is_its_own() -> None:
    """It wins over the table's, and leaves other columns alone."""
    of = table(columns={"c": Column(nanos="string")}, nanos="bigint")
    result = compiled([{**ID, "c": NANO, "d": NANO}], of=of).value.columns()
    assert [str(result[name][0].mapped.spark) for name in "cd"] == ["string", "bigint"]


# --- declared types ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "declared", "loses"),
    [
        ("int", "bigint", ""),
        ("int", "double", ""),
        ("float", "double", ""),
        (decimal(9, 3), "decimal(20,4)", ""),
        (decimal(None, 4), "decimal(38,4)", ""),
        (dbz("string", "ZonedTimestamp"), "string", ""),
        (dbz("string", "IsoDate"), "string", ""),
        ("string", "string", ""),
        (NANO, "timestamp_ntz", MICRO),
    ],
    ids=str,
)
def test_a_column_may_be_declared_wider_or_as_the_sources_text(kind: Any, declared: str, loses: str) -> None:
    """And the loss that a declaration avoids is not named any more."""
    result = mapped(kind, table(columns={"c": Column(type=declared)}))
    assert (str(result.spark), result.loses) == (declared, loses)


@pytest.mark.parametrize(
    ("kind", "declared"),
    [
        ("int", "string"),
        ("long", "int"),
        ("long", "double"),
        ("string", "int"),
        (decimal(9, 3), "decimal(8,3)"),
        (decimal(9, 3), "decimal(20,2)"),
        (decimal(9, 3), "double"),
        (dbz("int", "Date"), "timestamp"),
        (NANO, "string"),
        ("bytes", "string"),
    ],
    ids=str,
)
def test_a_declaration_that_would_lose_or_falsify_is_refused(kind: Any, declared: str) -> None:
    """With the column's path and both types."""
    with pytest.raises(SchemaError, match=f"'{declared}'".replace("(", r"\(").replace(")", r"\)")) as caught:
        mapped(kind, table(columns={"c": Column(type=declared)}))
    assert caught.value.path == "$.after.c"


# --- what stays typed ----------------------------------------------------------------------------


def test_arrays_maps_and_structs_stay_typed() -> None:
    """Their elements are converted like columns."""
    point = {"type": "record", "name": "P", "fields": [{"name": "at", "type": nullable(NANO)}]}
    kind = {"type": "array", "items": nullable({"type": "map", "values": point})}
    result = mapped(kind)
    assert str(result.spark) == "array<map<string,struct<at:timestamp_ntz>>>"
    assert result.loses == ""
    assert result.fault


def test_a_lossless_plain_column_is_not_converted() -> None:
    """The decoded value is the Spark value: no expression stands between."""
    assert mapped("string").is_plain
    assert mapped(decimal(9, 3)).is_plain
    assert not mapped(NANO).is_plain
    twice = attrs.evolve(mapped("int"), sql=sql("f({c}) + {c}"))
    assert twice.convert(sql("x.y")) == sql("f(x.y) + x.y")


# --- wall clocks as if in UTC ------------------------------------------------------------------------

WALL_CLOCKS = [row for row in {**TYPES, **TYPES_BY_TICK[100]}.values() if row.spark == "timestamp_ntz"]


@pytest.mark.parametrize("row", WALL_CLOCKS, ids=lambda row: f"{row.semantic}-{row.policy}")
def test_every_wall_clock_can_be_stored_as_if_in_utc(row: TypeRow) -> None:
    """With the same bounds and losses, and a unit that no instant has."""
    name = "com.acme.cdc.data.timestamp" if row.semantic.startswith("cdc.") else row.semantic
    plain = row.semantic == "timestamp-millis"
    kind = {"type": row.physical, "logicalType": name} if plain else semantic(row.physical, name)
    clock, instant = mapped(kind), mapped(kind, table(timestamps="utc"))
    assert (str(clock.spark), str(instant.spark)) == ("timestamp_ntz", "timestamp")
    assert (instant.loses, instant.merges, instant.reader) == (clock.loses, clock.merges, clock.reader)
    zoned = mapped(dbz("string", "ZonedTimestamp"), table(timestamps="utc"))
    assert instant.clash(zoned.units)
    assert instant.unit.endswith("as if in UTC")


def test_a_nested_wall_clock_is_stored_as_if_in_utc() -> None:
    """As deep as it lies, and with its unit's path."""
    kind = {"type": "array", "items": {"type": "map", "values": dbz("long", "MicroTimestamp")}}
    result = mapped(kind, table(timestamps="utc"))
    assert str(result.spark) == "array<map<string,timestamp>>"
    assert set(result.units) == {"[]{}"}
