"""Our decoder of Confluent messages against Spark's own `from_avro`, type by type and trick by trick."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ingest.decode.confluent import decode_payload
from ingest.testing import framed, unscaled
from tests.jvm.decoders import Json, by_spark, by_us, payload, payloads, reader_of, record

pytestmark = pytest.mark.spark


def _enum(*symbols: str) -> Json:
    return {"type": "enum", "name": "E", "symbols": [*symbols]}


def _logical(physical: str, logical: str, **more: int) -> Json:
    return {"type": physical, "logicalType": logical, **more}


def _decimal(precision: int, scale: int) -> Json:
    return _logical("bytes", "decimal", precision=precision, scale=scale)


FIXED = {"type": "fixed", "name": "F", "size": 3}
INTS = [0, 1, -1, 63, 64, -65, 2**31 - 1, -(2**31)]
LONGS = [*INTS, 2**63 - 1, -(2**63)]
MILLIS = [0, -1, 2**63 // 1000, -(2**63 // 1000), 2**63 // 1000 + 1, -(2**63 // 1000) - 1]
FLOATS = [0.0, -0.0, 1.5, -1e-45, 3.4028234663852886e38, float("inf"), float("-inf"), float("nan")]
DOUBLES = [*FLOATS, 5e-324, -1.7976931348623157e308, 0.1]
TEXTS = ["", "a", "äß€😀", "\0", "x" * 300]
NUMBERS = [0, 1, -1, 127, 128, -129, 10**18 - 1, -(10**18 - 1)]
WIDE = [*NUMBERS, 10**18, 2**63, -(2**63), 2**64, 10**38 - 1, -(10**38 - 1), 10**38]
CASES: Mapping[str, tuple[Json, Json, Sequence[Any]]] = {
    # name: writer, reader, values
    "boolean": ("boolean", "boolean", [True, False]),
    "int": ("int", "int", INTS),
    "long": ("long", "long", LONGS),
    "float": ("float", "float", FLOATS),
    "double": ("double", "double", DOUBLES),
    "string": ("string", "string", TEXTS),
    "bytes": ("bytes", "bytes", [b"", b"\0", bytes(range(256))]),
    "fixed": (FIXED, FIXED, [b"abc", b"\0\xff\x80"]),
    "enum": (_enum("A", "B"), _enum("A", "B"), ["A", "B"]),
    "enum of fewer": (_enum("A", "B", "C"), _enum("C", "A"), ["A", "B", "C"]),
    "date": ("int", _logical("int", "date"), INTS),
    "ms": ("long", _logical("long", "local-timestamp-millis"), MILLIS),
    "us": ("long", _logical("long", "local-timestamp-micros"), LONGS),
    "ms of int": ("int", _logical("long", "local-timestamp-millis"), INTS),
    "decimal 18": ("bytes", _decimal(18, 2), [unscaled(n) for n in NUMBERS]),
    "decimal 38": ("bytes", _decimal(38, 10), [*map(unscaled, WIDE), b""]),
    "decimal 19": ("bytes", _decimal(19, 19), [*map(unscaled, WIDE), b"\0" * 20 + b"\7", b"\xff" * 12]),
    "decimal 3": ("bytes", _decimal(3, 0), [*map(unscaled, (999, 1000, -999, -1000)), b"\0" * 9 + b"\5"]),
    "int as long": ("int", "long", INTS),
    "int as float": ("int", "float", INTS),
    "int as double": ("int", "double", INTS),
    "long as float": ("long", "float", LONGS),
    "long as double": ("long", "double", LONGS),
    "float as double": ("float", "double", FLOATS),
    "string as bytes": ("string", "bytes", TEXTS),
    "bytes as string": ("bytes", "string", [b"", b"abc", "äß".encode()]),
    "string as int": ("string", "int", ["1"]),
    "null first": (["null", "int"], "int", [None, 7]),
    "null last": (["int", "null"], "int", [None, 7]),
    "one branch": (["string"], "string", ["x"]),
    "several branches": (["null", "int", "string"], "int", [None, 7, "x"]),
    "array": ({"type": "array", "items": "long"}, {"type": "array", "items": ["null", "long"]}, [[], LONGS]),
    "array of nullable": (
        {"type": "array", "items": ["null", "string"]},
        {"type": "array", "items": ["null", "string"]},
        [[], [None], ["a", None, ""]],
    ),
    "array of nothing": (
        {"type": "array", "items": record({}, "Nothing")},
        {"type": "array", "items": ["null", reader_of({"a": "int"}, "Nothing")]},
        [[], [{}] * 3],
    ),
    "map": (
        {"type": "map", "values": "double"},
        {"type": "map", "values": ["null", "double"]},
        [{}, {"": 0.5, "ä": -1.0}, {str(n): float(n) for n in range(40)}],
    ),
    "record": (
        record({"skipped": "string", "b": ["null", "int"], "a": "string"}, "In"),
        reader_of({"a": "string", "b": "int", "more": "long"}, "In"),
        [{"skipped": "x", "b": None, "a": "y"}, {"skipped": "", "b": 1, "a": ""}],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_from_avro(name: str, spark: SparkSession) -> None:
    """To the ends of every type, by whatever Avro promotes, and what cannot be read is not."""
    writer, reader, values = CASES[name]
    wire = record({"before": "int", "v": writer, "after": "string"})
    item = payload(reader_of({"after": "string", "v": reader, "gone": "int"}), {7: wire})
    messages = [framed(7, wire, {"before": 1, "v": value, "after": "z"}) for value in values]

    ours = by_us(spark, item, messages)

    assert ours == by_spark(spark, item, messages)
    assert any(whole for whole, _ in ours) == (name != "string as int")


def test_additional_fields_of_a_writer_are_skipped(spark: SparkSession) -> None:
    """Any type, and blocks that say how long they are, before and behind what is read."""
    skipped = {
        "null": "null", "boolean": "boolean", "int": "int", "long": "long", "float": "float",
        "double": "double", "string": "string", "bytes": "bytes", "fixed": FIXED, "enum": _enum("A", "B"),
        "union": ["null", "int", "string", record({"x": "int", "y": "string"}, "X")],
        "array": {"type": "array", "items": "string"}, "map": {"type": "map", "values": ["null", "X"]},
        "v": "int",
    }  # fmt: skip
    wire = record({**skipped, "blocks": {"type": "array", "items": "int"}, "w": "int"})
    value = {
        "null": None, "boolean": True, "int": -1, "long": 2**62, "float": 0.5, "double": 0.1, "string": "äß",
        "bytes": b"\0\1", "fixed": b"abc", "enum": "B", "union": {"x": 1, "y": "z"}, "array": ["a", ""],
        "map": {"a": None, "b": {"x": 2, "y": ""}}, "v": 5, "blocks": [], "w": 6,
    }  # fmt: skip
    item = payload(reader_of({"v": "int", "w": "int"}), {7: wire})
    empty = framed(7, wire, value)
    sized = b"\x03\x06" + b"\x02\x80\x01" + b"\x02\x04" + b"\0"  # two in 3 bytes, then one, then the end
    messages = [empty, empty[:-2] + sized + empty[-1:], empty[:-2] + b"\x03\x08" + empty[-1:]]

    ours = by_us(spark, item, messages)

    assert ours == [(True, {"v": 5, "w": 6})] * 2 + [(False, None)] == by_spark(spark, item, messages)


def test_the_header_chooses_the_writer(spark: SparkSession) -> None:
    """The highest id too; null for what no schema of the payload wrote, and for what is too short to say."""
    wires = {1: record({"a": "int"}), 2**32 - 1: record({"b": "string", "a": "int"})}
    item = payload(reader_of({"a": "int", "b": "string"}), wires)
    first = framed(1, wires[1], {"a": 3})
    last = framed(2**32 - 1, wires[2**32 - 1], {"a": 4, "b": "x"})
    unknown = [None, b"", b"\0", first[:4], b"\1" + first[1:], b"\0\0\0\0\2\6"]
    messages = [first, last, first[:5], *unknown]

    decoded = decode_payload(payloads(spark, messages), item, "message", "d")

    assert by_us(spark, item, messages) == by_spark(spark, item, messages)
    rows = sorted(decoded.selectExpr("n", "d is null", "d.value.a", "d.whole").collect())
    assert [tuple(row)[1:] for row in rows[:3]] == [(False, 3, True), (False, 4, True), (False, None, False)]
    assert all(tuple(row)[1:] == (True, None, None) for row in rows[3:])


HOSTILE = {
    "string": "string", "bytes": "bytes", "decimal": _decimal(30, 0),
    "array": {"type": "array", "items": "string"}, "nulls": {"type": "array", "items": ["null", "int"]},
    "map": {"type": "map", "values": "string"},
}  # fmt: skip
NUMBERS_AHEAD = [2**31 - 1, 2**31, 2**40, 2**63 - 1, -1, -2, -(2**31), -(2**63), 2, 1]


@pytest.mark.parametrize("read", [True, False], ids=["read", "skipped"])
@pytest.mark.parametrize("name", HOSTILE)
def test_no_length_is_believed_beyond_the_bytes(name: str, spark: SparkSession, *, read: bool) -> None:
    """Sizes and counts that would exhaust the memory, or go backwards, are not records."""
    wire = record({"v": HOSTILE[name]})
    item = payload(reader_of({"v": HOSTILE[name]} if read else {"other": "int"}), {7: wire})
    header = framed(7, record({}), {})
    messages = [framed(7, record({"v": "long"}), {"v": number}) for number in NUMBERS_AHEAD]
    messages += [header + b"\x80" * n for n in (0, 1, 5, 9, 10, 11)]

    assert by_us(spark, item, messages) == [(False, None)] * len(messages)


DOUBTFUL = {
    "boolean": [b"\0", b"\1", b"\2", b"\xff"],
    "int": [b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\0", b"\xff\xff\xff\xff\x10", b"\x80\x80\x80\x80\x7f"],
    "long": [b"\xff" * 9 + b"\1", b"\x80" * 9 + b"\0", b"\x80" * 9 + b"\2", b"\xff" * 9 + b"\x7f"],
}


def test_values_that_avro_only_guesses_are_not_read(spark: SparkSession) -> None:
    """Booleans of another byte, and bits that do not fit: other decoders make something else of them."""
    fields = {f"v{n}": kind for n, kind in enumerate(DOUBTFUL, 1)}
    wires = {n: record({f"v{n}": kind}) for n, kind in enumerate(DOUBTFUL, 1)}
    messages = [
        framed(n, record({}), {}) + item for n, ones in enumerate(DOUBTFUL.values(), 1) for item in ones
    ]

    decoded = by_us(spark, payload(reader_of(fields), wires), messages)

    assert [whole for whole, _ in decoded] == [True, True, False, False] * 3
    values = [[item for item in value.values() if item is not None] for _, value in decoded if value]
    assert values == [[False], [True], [-(2**31)], [0], [-(2**63)], [0]]


def test_text_that_is_not_utf8_is_not_read(spark: SparkSession) -> None:
    """Python's strict decoder is the judge: two bytes of all kinds, more of them by chance, at any place."""
    dice = random.Random(7)  # noqa: S311  data, no secret
    firsts = range(0x70, 0x100, 3)
    texts = [bytes([first, two]) for first in firsts for two in range(0x70, 0x100, 7)]
    edges = (0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0)
    many = [0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5]
    texts += [bytes([dice.choice(many), *dice.choices(edges, k=dice.randint(1, 3))]) for _ in range(3000)]
    texts = [b"x" * dice.randrange(12) + text + b"y" * dice.choice([0, 0, 9]) for text in texts]
    texts += ["äß€😀\0\ud7ff\ue000\U0010ffff".encode(), b"\xed\xa0\x80\xed\xb0\x80", b"\xc0\x80"]
    wire, reader = record({"v": "bytes"}), reader_of({"v": "string"})
    messages = [framed(7, wire, {"v": text}) for text in texts]

    decoded = by_us(spark, payload(reader, {7: record({"v": "string"})}), messages)

    results = [value["v"] if value else None for _, value in decoded]
    assert results == [_text_of(item) for item in texts]
    assert len({item is None for item in results}) == 2


def _text_of(text: bytes) -> str | None:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None


def test_a_decimal_that_from_avro_wraps_is_not_read(spark: SparkSession) -> None:
    """Of up to 18 digits, Spark keeps the low 64 bits of a larger number: a wrong value, without a sign."""
    wire = record({"v": "bytes"})
    item = payload(reader_of({"v": _decimal(18, 0)}), {7: wire})
    messages = [framed(7, wire, {"v": unscaled(2**64 + 5)})]

    assert by_spark(spark, item, messages) == [(True, {"v": 5})]
    assert by_us(spark, item, messages) == [(False, None)]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ({"type": "array", "items": ["null", "int"]}, [None] * 1000),
        ({"type": "array", "items": record({"a": ["null", "int"], "b": ["null", "int"]}, "E")}, [{}] * 500),
        ({"type": "map", "values": ["null", "int"]}, {str(n): None for n in range(400)}),
    ],
    ids=["nulls", "records", "map"],
)
def test_a_record_is_given_up_when_its_values_take_too_much_memory(
    spark: SparkSession, kind: Any, value: Any
) -> None:
    """Some bytes a null become many; the record after it is read."""
    wire = record({"v": kind})
    item = payload(reader_of({"v": kind}), {7: wire})
    messages = payloads(spark, [framed(7, wire, {"v": value}), framed(7, wire, {"v": type(value)()})])

    def whole(most_bytes: int) -> list[bool | None]:
        decoded = decode_payload(messages, item, "message", "d", most_bytes)
        return [row.whole for row in sorted(decoded.selectExpr("n", "d.whole").collect())]

    assert whole(1 << 20) == [True, True]
    assert whole(30_000) == [None, True]


def test_the_last_of_equal_keys_wins(spark: SparkSession) -> None:
    """As in Avro's own maps; Spark's would hold both."""
    wire = record({"v": {"type": "map", "values": "int"}})
    item = payload(reader_of({"v": {"type": "map", "values": ["null", "int"]}}), {7: wire})
    twice = [framed(7, record({}), {}) + b"\x06\x02a\x02\x02b\x04\x02a\x06\0"]

    rows = decode_payload(payloads(spark, twice), item, "message", "d").selectExpr(
        "size(d.value.v)", "d.value.v"
    )

    assert [tuple(row) for row in rows.collect()] == [(2, {"a": 3, "b": 2})]


def test_without_generated_code_the_values_are_the_same(spark: SparkSession) -> None:
    """Spark interprets expressions where their code cannot be compiled."""
    fields = {name: reader for name, (_, reader, _) in CASES.items() if isinstance(reader, str)}
    fields = {f"f{n}": reader for n, reader in enumerate(fields.values())}
    wire = record({name: ["null", kind] for name, kind in fields.items()})
    samples = {"boolean": True, "int": -3, "long": 2**40, "float": 0.5, "double": 0.1, "string": "ä"}
    value = {name: samples.get(str(kind), b"\0") for name, kind in fields.items()}
    messages = [framed(7, wire, value), framed(7, wire, dict.fromkeys(fields)), b"\0", None]
    item = payload(reader_of(fields), {7: wire})
    compiled = by_us(spark, item, messages)
    slow = spark.newSession()
    slow.conf.set("spark.sql.codegen.wholeStage", "false")
    slow.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")

    assert by_us(slow, item, messages) == compiled
    assert [whole for whole, _ in compiled] == [True, True, False, False]


def test_spark_knows_that_the_same_is_the_same(spark: SparkSession) -> None:
    """So that what is said twice is done once; another reader is another value, and code is generated."""
    wires = {7: record({"a": "int"})}
    item, other = payload(reader_of({"a": "int"}), wires), payload(reader_of({"a": "long"}), wires)
    frame = payloads(spark, [framed(7, wires[7], {"a": 1})])

    plans = [
        decode_payload(frame, which, "message", "d")._jdf.queryExecution()  # noqa: SLF001  no public way
        for which in (item, item, other)
    ]

    first, again, different = (plan.optimizedPlan() for plan in plans)
    assert first.sameResult(again)
    assert not first.sameResult(different)
    assert "*(2) Project" in plans[0].executedPlan().toString()
