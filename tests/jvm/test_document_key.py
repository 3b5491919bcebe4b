"""One `_id` has one text, and two have two."""

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SAME = [
    ("1004", ["1004", " 1004 ", '{"$numberInt": "1004"}', '{"$numberLong":"1004"}', "1004.0"]),
    ("5", ['{"$numberDecimal": "5.00"}', '{"$numberDouble":"5.0"}', "5.0", '{"$numberDecimal":"5E+0"}', "5"]),
    ("0", ["0", "-0.0", "0.0", '{"$numberDecimal":"0E+3"}', '{"$numberDecimal":"-0"}']),
    ('"1234"', ['"1234"', ' "1234"', '"\\u0031234"']),
    ('"k\\"1000"', ['"k\\"1000"', '"k\\u00221000"']),
    ('"中🙂/"', ['"中🙂/"', '"中\\ud83d\\ude42\\/"']),
    ("5000001009", ["5000001009", '{"$numberLong": "5000001009"}', '{"$numberLong": 5000001009}']),
    ("-9223372036854775808", ["-9223372036854775808", '{"$numberLong":"-9223372036854775808"}']),
    (
        '{"$oid":"65f0c0de00000000000003e8"}',
        ['{"$oid": "65f0c0de00000000000003e8"}', '{"$oid":"65F0C0DE00000000000003E8"}'],
    ),
    (
        '{"$binary":{"base64":"AQI=","subType":"04"}}',
        [
            '{"$binary":"AQI=","$type":"04"}',
            '{"$binary": {"base64": "AQI=","subType": "04"}}',
            '{"$type": 4, "$binary":"AQI="}',
            '{"$binary": {"subType": "4", "base64": "AQI="}}',
        ],
    ),
    (
        '{"$binary":{"base64":"EjRWeBI0VngSNFZ4EjRWeA==","subType":"04"}}',
        [
            '{"$uuid": "12345678-1234-5678-1234-567812345678"}',
            '{"$binary":"EjRWeBI0VngSNFZ4EjRWeA==","$type":"04"}',
        ],
    ),
    (
        '{"$date":"2025-02-13T14:01:37.97Z"}',
        [
            '{"$date": 1739455297970}',
            '{"$date":"2025-02-13T14:01:37.970Z"}',
            '{"$date":"2025-02-13T15:01:37.97+01:00"}',
            '{"$date":{"$numberLong":"1739455297970"}}',
        ],
    ),
    ('{"$date":{"$numberLong":"-1"}}', ['{"$date":-1}', '{"$date":"1969-12-31T23:59:59.999Z"}']),
    ("1.5", ["1.5", "1.50", '{"$numberDouble":"1.5"}', '{"$numberDecimal":"1.500"}', "15e-1"]),
    ('{"$numberDecimal":"0.1"}', ['{"$numberDecimal":"0.1"}', '{"$numberDecimal":"0.10"}']),
    ('{"$numberDouble":"NaN"}', ["NaN", '{"$numberDouble":"NaN"}', '{"$numberDecimal":"NaN"}']),
    ('{"a":1007,"b":"x"}', ['{"a": 1007,"b": "x"}', '{"a":{"$numberLong":"1007"},"b":"x"}']),
    ('{"b":"x","a":1007}', ['{"b": "x", "a": 1007}']),
    ('{"d":{"$date":"1970-01-01T00:00:00Z"}}', ['{"d": {"$date": 0}}']),
    ('{"$timestamp":{"t":1,"i":2}}', ['{"$timestamp": {"t": 1, "i": 2}}']),
    ("0.1", ["0.1", '{"$numberDouble":"0.1"}']),
    ("1.0E20", ["1e20", "100000000000000000000", '{"$numberDecimal":"1E+20"}']),
    ('{"$date":true}', ['{"$date": true}']),
    ("null", ["null"]),
]


def _keys(spark: SparkSession, texts: list[str | None]) -> list[str | None]:
    frame = spark.createDataFrame([(text,) for text in texts], "json string").coalesce(1)
    return [row[0] for row in frame.selectExpr("ingest_document_key(json)").collect()]


def test_spellings_of_one_id_give_one_text(spark: SparkSession) -> None:
    """Across the three dialects of Extended JSON, whatever the white space, and of numbers by value."""
    spellings = [(spelling, key) for key, spelleds in SAME for spelling in spelleds]
    result = _keys(spark, [spelling for spelling, _ in spellings])

    assert dict(zip([s for s, _ in spellings], result, strict=True)) == dict(spellings)


def test_a_text_is_its_own_spelling(spark: SparkSession) -> None:
    """The function returns its own result unchanged."""
    keys = [key for key, _ in SAME]

    assert _keys(spark, [*keys]) == keys
    assert len(set(keys)) == len(keys)


def test_no_json_has_no_key(spark: SparkSession) -> None:
    """The caller tests for null; a text that is not read is not passed on."""
    broken = ["", "{", '{"a":1', "1 2", "{'a':1}", "abc", '"open', "1E99999999999"]

    assert _keys(spark, [None, *broken]) == [None] * (len(broken) + 1)
