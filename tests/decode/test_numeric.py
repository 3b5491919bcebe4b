"""Decimals that JSON holds as numbers are the decimals of the schema, digit by digit."""

import base64
import json
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ingest.avro import connect
from ingest.decode.embedded import find_scales

DIGITS = "123456789876543212345678987654321.11"


def decimal(scale: int, **more: Any) -> dict[str, Any]:
    """Make the schema of a decimal."""
    name = "org.apache.kafka.connect.data.Decimal"
    return {"type": "bytes", "name": name, "parameters": {"scale": str(scale)}, "optional": True, **more}


def struct(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Make the schema of a record."""
    return {"type": "struct", "fields": list(fields), **more}


def test_the_scales_of_a_schema_have_its_shape() -> None:
    """Decimals in records, arrays and maps; nothing else is listed."""
    schema = struct(
        decimal(3, field="a"),
        {"type": "string", "field": "b"},
        struct(decimal(0, field="x"), field="c"),
        {"type": "array", "items": decimal(2), "field": "d"},
        {"type": "map", "keys": {"type": "string"}, "values": decimal(1), "field": "e"},
        struct({"type": "int32", "field": "y"}, field="f"),
    )
    assert find_scales(connect.parse(schema, where="test")) == {
        "a": 3,
        "c": {"x": 0},
        "d": [2],
        "e": [None, 1],
    }
    assert find_scales(connect.parse(struct({"type": "bytes", "field": "a"}), where="test")) is None


def unscaled(number: int) -> str:
    """Write an integer as JsonConverter does."""
    octets = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    return base64.b64encode(octets).decode()


@pytest.mark.spark
def test_numbers_become_base64_and_numbers_that_do_not_fit_stay(spark: SparkSession) -> None:
    """A scale that loses digits or an exponent that asks for gigabytes is left for the reader to reject."""
    given = (
        f'{{"a": {DIGITS}, "b": 1.5, "c": {{"x": -7}}, "d": [1.10, null], "e": {{"k": 2}}, "f": 1.23, '
        '"g": 1e1000000000, "h": "MTI=", "i": 1e-1000000000}'
    )
    scales = {"a": 2, "c": {"x": 0}, "d": [2], "e": [None, 1], "f": 1, "g": 2, "h": 2, "i": 2, "absent": 4}
    (row,) = (
        spark.range(1)
        .select(
            F.call_function("ingest_numeric_decimals", F.lit(given), F.lit(json.dumps(scales))).alias("json")
        )
        .collect()
    )
    assert row["json"] == (
        f'{{"a":"{unscaled(int(DIGITS.replace(".", "")))}","b":1.5,"c":{{"x":"{unscaled(-7)}"}},'
        f'"d":["{unscaled(110)}",null],"e":{{"k":"{unscaled(20)}"}},"f":1.23,'
        '"g":1e1000000000,"h":"MTI=","i":1e-1000000000}'
    )


@pytest.mark.spark
def test_a_member_keeps_the_digits_of_its_numbers(spark: SparkSession) -> None:
    """Spark's own get_json_object writes fractions as doubles; null and missing members are null."""
    text = f'{{"payload": {{"a": {DIGITS}, "b": 12345.110}}, "none": null, "schema": {{}}}}'
    (row,) = (
        spark.range(1)
        .select(
            *(
                F.call_function("ingest_json_member", F.lit(json_text), F.lit(name)).alias(f"c{number}")
                for number, (json_text, name) in enumerate(
                    [
                        (text, "payload"),
                        (text, "none"),
                        (text, "absent"),
                        ("not JSON", "payload"),
                        ("[1]", "payload"),
                    ]
                )
            )
        )
        .collect()
    )
    assert tuple(row) == (f'{{"a":{DIGITS},"b":12345.110}}', None, None, None, None)
