"""The meaning of names: of structures and of vendors; and the losses and merges of types."""

import json
from typing import Any

import pytest

from ingest import avro
from ingest.errors import SchemaError, UnmappedTypeError
from ingest.tables import Column, Types
from ingest.testing import decimal, nullable, semantic
from ingest.typemap.column import Mapped, Mapper

DATA = "io.debezium.data."
WKB = {"wkb": "bytes", "srid": nullable("int")}
EXTENSIONS = {"type": "map", "values": nullable("string")}
PARTS = dict.fromkeys(("year", "month", "day"), "int")
ENTRY = {"type": "record", "name": "MapEntry", "namespace": "io.confluent.connect.avro"}


SILENT = Column()


def mapped(kind: Any, rule: Column = SILENT, **types: Any) -> Mapped:
    """Compile one column, named `c`."""
    return Mapper("w", Types(**types), {"c": rule}).column("c", avro.parse(json.dumps(kind)), "$.after.c")


def record(name: str, **fields: Any) -> dict[str, Any]:
    """Make a record that carries its own name, as Connect's converters write them."""
    return {
        **semantic("record", name),
        "name": name,
        "fields": [{"name": field, "type": kind} for field, kind in fields.items()],
    }


@pytest.mark.parametrize(
    ("kind", "spark"),
    [
        (record(f"{DATA}geometry.Point", x="double", y="double", **WKB),
         "struct<x:double,y:double,wkb:binary,srid:int>"),
        (record(f"{DATA}geometry.Geometry", **WKB, extensions=nullable(EXTENSIONS)),
         "struct<wkb:binary,srid:int,extensions:map<string,string>>"),
        (record(f"{DATA}geometry.Geography", **WKB), "struct<wkb:binary,srid:int>"),
        (record(f"{DATA}geometry.Circle", **WKB), "struct<wkb:binary,srid:int>"),
        (record(f"{DATA}geometry.Line", **WKB), "struct<wkb:binary,srid:int>"),
        (semantic("array", f"{DATA}FloatVector", items="float"), "array<float>"),
        (semantic("array", f"{DATA}DoubleVector", items="double"), "array<double>"),
        (record(f"{DATA}SparseDoubleVector", dimensions="int", vector={"type": "array", "items": {
            **ENTRY, "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "double"}]}}),
         "struct<dimensions:int,vector:array<struct<key:int,value:double>>>"),
        (record("io.debezium.time.StructuredDate", **PARTS, specialValue=nullable("string")),
         "struct<year:int,month:int,day:int,specialValue:string>"),
        (record("srv.inventory.people.address", city="string"), "struct<city:string>"),
        (record("io.debezium.connector.mysql.Source", pos="long"), "struct<pos:bigint>"),
    ],
    ids=lambda value: value["connect.name"] if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_structure_with_a_known_name_stays_as_it_is(kind: Any, spark: str) -> None:
    """And so does a record that is named by its place: every record has a name."""
    result = mapped(kind)
    assert (str(result.spark), result.is_plain) == (spark, True)


@pytest.mark.parametrize(
    "kind",
    [
        semantic("array", "io.acme.Odd", items="int"),
        semantic("array", f"{DATA}geometry.Point", items="int"),
        semantic("map", "io.acme.Odd", values="int"),
        record(f"{DATA}Odd", x="int"),
        record("io.debezium.odd.New", x="int"),
        record("org.apache.kafka.connect.data.Decimal", x="int"),
    ],
    ids=lambda kind: f"{kind['type']} {kind['connect.name']}",
)
@pytest.mark.parametrize("nested", [False, True])
def test_a_structure_whose_name_means_something_unknown_stops_with_its_path(
    kind: Any, *, nested: bool
) -> None:
    """Its parts may need to be put together in a way that only the name tells."""
    with pytest.raises(UnmappedTypeError) as caught:
        mapped({"type": "array", "items": kind} if nested else kind)
    error = caught.value
    path = "$.after.c[]" if nested else "$.after.c"
    assert (error.path, error.semantic, error.physical) == (path, kind["connect.name"], kind["type"])


@pytest.mark.parametrize("vendor", ["com.acme", "com.other.sub", "x"])
@pytest.mark.parametrize(("name", "spark"), [("Decimal", "string"), ("timestamp", "timestamp_ntz")])
def test_cdls_types_are_known_for_every_vendor(vendor: str, name: str, spark: str) -> None:
    """The package before `cdc.data` varies."""
    assert str(mapped(semantic("string", f"{vendor}.cdc.data.{name}")).spark) == spark


def test_a_name_that_only_ends_like_a_vendors_is_unknown() -> None:
    """The suffix begins at a dot."""
    with pytest.raises(UnmappedTypeError, match=r"com\.acdc\.data\.Decimal"):
        mapped(semantic("string", "com.acdc.data.Decimal"))


@pytest.mark.parametrize(
    ("kind", "loses", "merges"),
    [
        (semantic("int", "io.debezium.time.Date"), True, False),
        (semantic("long", "io.debezium.time.MicroTimestamp"), True, False),
        (semantic("string", "io.debezium.time.ZonedTimestamp"), True, True),
        ({"type": "array", "items": semantic("int", "io.debezium.time.Date")}, True, False),
        (semantic("long", "io.debezium.time.NanoTimestamp"), True, True),
        ("string", False, False),
    ],
    ids=str,
)
def test_a_value_that_becomes_null_is_lost_and_merges_no_values(
    kind: Any, *, loses: bool, merges: bool
) -> None:
    """A date beyond year 9999 is not a value at all, so that a key of dates stays a key."""
    result = mapped(kind, out_of_range="null")
    assert (bool(result.loses), bool(result.merges)) == (loses, merges)


def test_a_declared_decimal_does_not_ask_for_the_policy_of_others() -> None:
    """Stopping at decimals of more than 38 digits is for those that nobody decided about."""
    result = mapped(decimal(45, 3), Column(type="decimal(38,3)"), decimals="fail")
    assert str(result.spark) == "decimal(38,3)"
    with pytest.raises(SchemaError, match="declare its type"):
        mapped(decimal(45, 3), decimals="fail")
