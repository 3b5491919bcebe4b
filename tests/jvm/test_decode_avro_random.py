"""Our decoder of Confluent messages against Spark's `from_avro`: random schemas, values and damage."""

import random
import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from ingest.testing import framed
from tests.jvm.decoders import Json, by_spark, by_us, payload, reader_of, record

pytestmark = pytest.mark.spark

FEW = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
PLAIN = ("boolean", "int", "long", "float", "double", "string", "bytes")
PROMOTED = (
    ("int", "long"),
    ("int", "double"),
    ("long", "float"),
    ("float", "double"),
    ("string", "bytes"),
    ("int", {"type": "int", "logicalType": "date"}),
    ("long", {"type": "long", "logicalType": "local-timestamp-millis"}),
    ("long", {"type": "long", "logicalType": "local-timestamp-micros"}),
    ("bytes", {"type": "bytes", "logicalType": "decimal", "precision": 22, "scale": 3}),
)
UNION = ["null", "int", "string", "bytes"]
LONG_VARINT = re.compile(rb"[\x80-\xff]{3}")
"""A varint that is so long may be a size that exhausts the referee's memory."""


@attrs.frozen
class Kind:
    """A writer's type, and the reader's."""

    writer: Json
    reader: Json


@attrs.frozen
class Field:
    """A field of a record that some writers have, and some readers."""

    name: str
    kind: Kind
    read: bool


@attrs.frozen
class Topic:
    """A reader, and writers with their values."""

    reader: Json
    writers: dict[int, Json]
    messages: Sequence[bytes]


@st.composite
def kinds(draw: st.DrawFn, names: Iterator[int], depth: int = 2) -> Kind:
    """Draw a type."""
    scalar = st.one_of(
        st.sampled_from(PLAIN).map(lambda one: Kind(one, one)),
        st.sampled_from(PROMOTED).map(lambda pair: Kind(*pair)),
        st.integers(1, 4).map(lambda size: _same({"type": "fixed", "name": f"F{next(names)}", "size": size})),
        st.integers(1, 3).map(
            lambda n: _same({"type": "enum", "name": f"E{next(names)}", "symbols": [*"ABC"[:n]]})
        ),
    )
    if depth == 0 or draw(st.integers(0, 2)):
        return draw(scalar)
    inner = draw(kinds(names, depth - 1))
    items = inner.writer if draw(st.booleans()) else draw(st.permutations(["null", inner.writer]))
    match draw(st.sampled_from(["array", "map", "record"])):
        case "array":
            return Kind({"type": "array", "items": items}, {"type": "array", "items": ["null", inner.reader]})
        case "map":
            return Kind({"type": "map", "values": items}, {"type": "map", "values": ["null", inner.reader]})
    name = f"R{next(names)}"
    extra = draw(kinds(names, 0))
    order = draw(st.permutations([("a", items), ("b", extra.writer), ("skipped", "string")]))
    return Kind(record(dict(order), name), reader_of({"b": extra.reader, "a": inner.reader}, name))


def _same(kind: Json) -> Kind:
    return Kind(kind, kind)


@st.composite
def writers(draw: st.DrawFn, fields: Sequence[Field]) -> Json:
    """Draw a record of some of the fields, in any order, nullable in either way."""
    chosen = draw(st.lists(st.sampled_from(fields), unique_by=lambda one: one.name, min_size=1))
    built = {}
    for field in chosen:
        wire = field.kind.writer
        built[field.name] = draw(st.sampled_from([wire, ["null", wire], [wire, "null"], [wire]]))
    if draw(st.booleans()):
        built["several"] = UNION
    return record(built)


@st.composite
def values(draw: st.DrawFn, kind: Json) -> Any:
    """Draw a physical value of a writer's type, often an extreme one."""
    match kind:
        case list():
            return draw(st.sampled_from(kind).flatmap(values))
        case {"type": "array", "items": items}:
            return draw(st.lists(values(items), max_size=3))
        case {"type": "map", "values": inner}:
            return draw(st.dictionaries(st.text(max_size=3), values(inner), max_size=3))
        case {"type": "record", "fields": fields}:
            return {field["name"]: draw(values(field["type"])) for field in fields}
        case {"type": "fixed", "size": size}:
            return draw(st.binary(min_size=size, max_size=size))
        case {"type": "enum", "symbols": symbols}:
            return draw(st.sampled_from(symbols))
    return draw(
        {
            "null": st.none(),
            "boolean": st.booleans(),
            "int": st.one_of(st.integers(-100, 100), st.integers(-(2**31), 2**31 - 1)),
            "long": st.one_of(st.integers(-100, 100), st.integers(-(2**63), 2**63 - 1)),
            "float": st.floats(width=32),
            "double": st.floats(),
            "string": st.text(max_size=5),
            "bytes": st.binary(min_size=1, max_size=9),
        }[kind]
    )


@st.composite
def topics(draw: st.DrawFn) -> Topic:
    """Draw a reader, up to three writers, and some messages of each."""
    names = count()
    width = draw(st.integers(1, 5))
    fields = [Field(f"f{n}", draw(kinds(names)), draw(st.integers(0, 3)) > 0) for n in range(width)]
    read = {field.name: field.kind.reader for field in fields if field.read} or {"none": "int"}
    wires = {n: draw(writers(fields)) for n in range(1, draw(st.integers(1, 3)) + 1)}
    messages = [
        framed(n, wire, value)
        for n, wire in wires.items()
        for value in draw(st.lists(values(wire), min_size=2, max_size=6))
    ]
    return Topic(reader_of(read), wires, messages)


@FEW
@given(topic=topics())
def test_values_of_any_schemas_are_those_of_from_avro(spark: SparkSession, topic: Topic) -> None:
    """Several writers, of whose fields some are missing, moved or additional, and one reader."""
    item = payload(topic.reader, topic.writers)

    assert by_us(spark, item, topic.messages) == by_spark(spark, item, topic.messages)


def damaged(messages: Sequence[bytes], dice: random.Random, most: int) -> Iterator[bytes]:
    """Cut payloads, lengthen them, and change, drop or put in single bytes."""
    for _ in range(most):
        message = dice.choice(messages)
        at = dice.randrange(5, len(message) + 1)
        byte = bytes([dice.choice([0, 1, 2, 3, 4, dice.randrange(256)])])
        yield dice.choice(
            [
                message[:at],
                message + byte,
                message[:at] + byte + message[at + 1 :],
                message[:at] + message[at + 1 :],
                message[:at] + byte + message[at:],
            ]
        )


@FEW
@given(topic=topics(), seed=st.integers(0, 2**32))
def test_damaged_payloads_are_refused_as_from_avro_does(spark: SparkSession, topic: Topic, seed: int) -> None:
    """And what still is a record gives the same values.

    We may refuse more: Avro takes any text, number and boolean, and goes back over a negative size it skips.
    """
    item = payload(topic.reader, topic.writers)
    dice = random.Random(seed)  # noqa: S311  damage, no secret
    harmless = [m for m in damaged(topic.messages, dice, 150) if not LONG_VARINT.search(m)]

    ours, theirs = by_us(spark, item, harmless), by_spark(spark, item, harmless)

    different = [
        (message.hex(), us, them)
        for message, us, them in zip(harmless, ours, theirs, strict=True)
        if us != them and us[0]
    ]
    assert different == []


@FEW
@given(topic=topics(), seed=st.integers(0, 2**32))
def test_no_bytes_make_the_decoder_fail(spark: SparkSession, topic: Topic, seed: int) -> None:
    """Whatever comes, sizes beyond all memory among it, is a record or is none."""
    dice = random.Random(seed)  # noqa: S311  damage, no secret
    rubbish = [message[:5] + dice.randbytes(dice.randrange(40)) for message in topic.messages * 10]
    messages = [*rubbish, *damaged(rubbish, dice, 100), *damaged(topic.messages, dice, 100)]

    outcomes = by_us(spark, payload(topic.reader, topic.writers), messages)

    assert all(whole == (value is not None) for whole, value in outcomes)
