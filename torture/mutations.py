"""Payloads corrupted in every way, and messages made of the wrong parts; by seed."""

import json
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any, Final

import fastavro

from torture.corpus import Corpus, Message

Mutation = Callable[[random.Random, bytes, Corpus], bytes]
DEEP: Final = 100_000
"""Levels of nesting."""
EDGES: Final = (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF)
HUGE: Final = (2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -1, -2, -(2**31), -(2**63))
HEADER: Final = 5
SCALARS: Final = ("int", "long", "string", "bytes", "boolean", "float", "double")
INTS: Final = (0, 1, -1, 2**31 - 1, -(2**31), 2**15, 86_400_000, 86_399_999, 2_932_897, -719_163)
LONGS: Final = (
    *INTS,
    2**63 - 1,
    -(2**63),
    253_402_300_800_000,
    86_400_000_000_000,
    10**18 + 1,
    1_700_000_000_123,
)
STRINGS: Final = (
    "", "\0", "\N{SNOWMAN}" * 3, "infinity", "9999-12-31T23:59:59.999999Z", "10000-01-01T00:00:00Z",
    "0000-01-01T00:00:00Z", "2024-02-30T00:00:00Z", "2024-01-01T00:00:00", "c", "d", "m", "t", "x", "true",
    "__debezium_unavailable_value", "2020-01-01T00:00:00.123456789+05:30", "null", "1e400", '{"a":1}',
    "'; --",
)  # fmt: skip


def flip_bits(dice: random.Random, payload: bytes, _: Corpus) -> bytes:
    """Flip one to eight bits."""
    built = bytearray(payload)
    for _ in range(dice.randint(1, 8) if built else 0):
        built[dice.randrange(len(built))] ^= 1 << dice.randrange(8)
    return bytes(built)


def flip_one(dice: random.Random, payload: bytes, _: Corpus) -> bytes:
    """Flip one bit behind the header: most often it still is a record."""
    built = bytearray(payload)
    if len(built) > HEADER:
        built[dice.randrange(HEADER, len(built))] ^= 1 << dice.randrange(8)
    return bytes(built)


def cut(dice: random.Random, payload: bytes, _: Corpus) -> bytes:
    """Cut the end off."""
    return payload[: dice.randrange(len(payload) + 1)]


def lengthen(dice: random.Random, payload: bytes, _: Corpus) -> bytes:
    """Add bytes."""
    return payload + dice.choice([b"\0", b"}", b" ", dice.randbytes(dice.randint(1, 40)), payload])


def set_byte(dice: random.Random, payload: bytes, _: Corpus) -> bytes:
    """Set a byte to one that means something in Avro."""
    at = dice.randrange(len(payload) + 1)
    return payload[:at] + bytes([dice.choice(EDGES)]) + payload[at + 1 :]


def swap_id(dice: random.Random, payload: bytes, corpus: Corpus) -> bytes:
    """Name another schema: one of this topic, of its keys, of another kind, or unknown."""
    ids = [*corpus.schemas, *corpus.schemas, dice.randrange(2**32), 0, 2**31, 2**32 - 1]
    return b"\0" + struct.pack(">I", dice.choice(ids)) + payload[HEADER:]


def spoil_header(dice: random.Random, payload: bytes, _: Corpus) -> bytes:
    """Put another byte before the schema id, or drop part of the header."""
    return dice.choice(
        [bytes([dice.randrange(256)]) + payload[1:], payload[dice.randint(1, HEADER) :], payload[:HEADER]]
    )


def huge_length(dice: random.Random, payload: bytes, _: Corpus) -> bytes:
    """Put a huge or negative number where a length may stand."""
    at = dice.randrange(min(HEADER, len(payload)), len(payload) + 1)
    number = dice.choice(HUGE)
    return payload[:at] + varint(number) + payload[at + dice.choice([0, 1]) :]


def long_varint(dice: random.Random, payload: bytes, _: Corpus) -> bytes:
    """Put a number of too many bytes, or spelled in more bytes than it needs."""
    at = dice.randrange(min(HEADER, len(payload)), len(payload) + 1)
    first = payload[at : at + 1] or b"\0"
    spelling = bytes([first[0] | 0x80]) + b"\x80" * dice.randint(0, 12) + b"\0"
    return payload[:at] + dice.choice([spelling, b"\xff" * dice.randint(5, 12)]) + payload[at + 1 :]


def move_bytes(dice: random.Random, payload: bytes, _: Corpus) -> bytes:
    """Drop, double or swap a piece."""
    item, two = sorted(dice.randrange(len(payload) + 1) for _ in range(2))
    piece = payload[item:two]
    return dice.choice(
        [payload[:item] + payload[two:], payload[:two] + piece + payload[two:], payload[two:] + piece]
    )


def splice(dice: random.Random, payload: bytes, corpus: Corpus) -> bytes:
    """Join the head of one record to the tail of another."""
    other = dice.choice([value for _, value in corpus.messages if value])
    return payload[: dice.randrange(len(payload) + 1)] + other[dice.randrange(len(other) + 1) :]


def rubbish(dice: random.Random, payload: bytes, _: Corpus) -> bytes:
    """Keep only the header, and put anything behind it."""
    return payload[:HEADER] + dice.randbytes(dice.randrange(200))


def extreme_value(dice: random.Random, payload: bytes, corpus: Corpus) -> bytes:
    """Set one to three fields to extreme values; the result is valid Avro or JSON."""
    return _extreme_avro(dice, payload, corpus) if corpus.is_avro else _extreme_json(dice, payload)


def nest(dice: random.Random, payload: bytes, corpus: Corpus) -> bytes:
    """Nest arrays or objects deeper than any stack: in a text of an Avro record, or in the JSON itself."""
    depth = dice.choice([200, 2000, DEEP])
    text = dice.choice(["[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "[" * depth])
    if corpus.is_avro:
        return _extreme_avro(dice, payload, corpus, text)
    at = dice.choice([0, payload.find(b'"payload":') + 10, len(payload)])
    return payload[:at] + text.encode() + payload[at:]


AVRO: Final[Mapping[Mutation, int]] = {
    flip_one: 5, flip_bits: 2, cut: 1, lengthen: 1, set_byte: 3, swap_id: 2, spoil_header: 1, huge_length: 2,
    long_varint: 2, move_bytes: 1, splice: 1, rubbish: 1, extreme_value: 5,
}  # fmt: skip
"""How often each is chosen; those that leave a readable record are more dangerous."""
JSON: Final[Mapping[Mutation, int]] = {
    flip_one: 5, flip_bits: 2, cut: 1, lengthen: 1, set_byte: 2, move_bytes: 1, splice: 1, rubbish: 1,
    extreme_value: 5,
}  # fmt: skip
NESTED: Final = 100
"""One payload in this many is nested: such texts are long."""


def mutate(dice: random.Random, corpus: Corpus) -> tuple[str, Message]:
    """Choose a message and corrupt it; return the mutation and the message."""
    key, value = dice.choice(corpus.messages)
    whole = dice.random()
    if whole < 0.02:
        return "unchanged", (key, value)
    if whole < 0.08:
        return "key of another", (dice.choice(corpus.messages)[0], value)
    if whole < 0.09:
        return "null or empty", dice.choice(
            [(None, value), (key, None), (b"", value), (key, b""), (None, None)]
        )
    chances = AVRO if corpus.is_avro else JSON
    item = nest if dice.randrange(NESTED) == 0 else dice.choices([*chances], [*chances.values()])[0]
    if key is not None and dice.random() < 0.15:
        return f"key: {item.__name__}", (item(dice, key, corpus), value)
    return item.__name__, (key, item(dice, value, corpus) if value is not None else value)


def varint(number: int) -> bytes:
    """Write a number as Avro does: zigzag, seven bits a byte."""
    coded = ((number << 1) ^ (number >> 63)) & (2**64 - 1)
    built = bytearray()
    while coded > 0x7F:
        built.append(coded & 0x7F | 0x80)
        coded >>= 7
    return bytes([*built, coded])


# --- values --------------------------------------------------------------------------------------


def _extreme_avro(dice: random.Random, payload: bytes, corpus: Corpus, text: str | None = None) -> bytes:
    schema_id = int.from_bytes(payload[1:HEADER], "big")
    if schema_id not in corpus.schemas:
        return payload
    schema = corpus.schemas[schema_id]
    event = fastavro.schemaless_reader(BytesIO(payload[HEADER:]), schema, None)
    places = [
        (holder, name, kind)
        for holder, name, kind in _places(event, schema, {})
        if text is None or kind == "string"
    ]
    for holder, name, kind in dice.sample(places, min(len(places), dice.randint(1, 3))):
        holder[name] = _extreme(dice, kind) if text is None else text
    out = BytesIO()
    fastavro.schemaless_writer(out, schema, event)
    return payload[:HEADER] + out.getvalue()


def _places(value: Any, schema: Any, known: dict[str, Any]) -> list[tuple[Any, Any, str]]:
    """Return each scalar in a decoded record: its holder, its name there, and its physical type."""
    results: list[tuple[Any, Any, str]] = []
    if schema["type"] != "record" or not isinstance(value, dict):
        return results
    known[schema["name"]] = schema
    for field in schema["fields"]:
        kind = field["type"]
        for item in kind if isinstance(kind, list) else [kind]:
            node = known.get(item, item) if isinstance(item, str) else item
            if node in SCALARS:
                results.append((value, field["name"], node))
            elif isinstance(node, dict) and node["type"] == "record":
                results += _places(value[field["name"]], node, known)
            elif isinstance(node, dict) and node["type"] in SCALARS:
                results.append((value, field["name"], node["type"]))
    return results


def _extreme(dice: random.Random, kind: str) -> Any:
    match kind:
        case "int":
            return dice.choice(
                [item for item in INTS if -(2**31) <= item < 2**31] + [dice.randrange(-(2**31), 2**31)]
            )
        case "long":
            return dice.choice([*LONGS, dice.randrange(-(2**63), 2**63)])
        case "string":
            return dice.choice(STRINGS)
        case "bytes":
            return dice.choice([b"", b"\0", b"\x80", b"\x7f" * 17, dice.randbytes(dice.randint(1, 20))])
        case "boolean":
            return dice.random() < 0.5
        case _:
            return dice.choice([0.0, -0.0, float("nan"), float("inf"), 1e308, 5e-324, 0.1])


def _extreme_json(dice: random.Random, payload: bytes) -> bytes:
    message = json.loads(payload)
    places: Sequence[tuple[Any, Any]] = list(_json_places(message.get("payload")))
    values = [*STRINGS, *LONGS, 2**64, 10**40, 1.5, 1e400, -0.0, True, False, None, [], {}, [1], {"a": 1}]
    for holder, name in dice.sample(places, min(len(places), dice.randint(1, 3))):
        holder[name] = dice.choice(values)
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()


def _json_places(value: Any) -> list[tuple[Any, Any]]:
    if not isinstance(value, dict):
        return []
    inner = [position for item in value.values() for position in _json_places(item)]
    return [*((value, name) for name in value), *inner]
