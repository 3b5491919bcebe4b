"""Compares the product's outcome of a message with an independent decoder's.

The values are those of the end-to-end tests' referee.
"""

import json
from decimal import Decimal
from typing import Any, Final

import attrs

from ingest.compile.row_model import RowKey
from tests.e2e.referee.mongodb import one_spelling
from tests.e2e.referee.shape import Shape, convert
from torture.corpus import Corpus, Message
from torture.message_reader import Side, Unreadable, as_debezium, read
from torture.position_judge import Misplaced, position

CDL_HEARTBEATS: Final = b'"name":"cdc_cdl.cdc_heartbeat"'
"""The schema of heartbeats, which are in the topics of tables, too."""
TICK_NS: Final = 100
FIRST_NS: Final = -62_135_596_800 * 10**9
LAST_NS: Final = 253_402_300_800 * 10**9 - 1
NANOS: Final = "io.debezium.time.NanoTimestamp"
DURATIONS: Final = {"io.debezium.time.Time": 1000, "io.debezium.time.MicroTime": 1_000_000}


@attrs.frozen
class Outcome:
    """The product's result for one message."""

    offset: int
    kind: str
    rejected: bool
    op: str | None
    sort_key: dict[str, Any]
    source_ms: int | None
    k: dict[str, Any] | None
    row: dict[str, Any] | None
    reason: str | None
    error: str | None


def judge(corpus: Corpus, message: Message, found: Outcome) -> str:
    """Return the problem with an outcome; empty if it is right."""
    key, value = message
    if found.rejected:
        return "" if found.reason and found.error else f"rejected without a reason ({found.reason})"
    if value is None:
        return _judge_tombstone(corpus, key, found)
    if found.kind == "heartbeat" and CDL_HEARTBEATS in value:
        return ""
    try:
        event = as_debezium(corpus, read(corpus, value))
    except Unreadable as error:
        return f"taken, and the independent decoder says: {error}"
    if found.kind != "change":
        return _judge_other(corpus, event, found)
    return _judge_position(corpus, event, found) or _judge_change(corpus, key, event, found)


def _judge_other(corpus: Corpus, event: Side, found: Outcome) -> str:
    """Judge a message of another kind: with a row it is a change whose operation is corrupt."""
    if expected := corpus.kinds.get(event.schema_id):
        return "" if found.kind == expected else f"a {found.kind}, expected a {expected}"
    op = event.content.get("op")
    if found.kind == "heartbeat" and corpus.compiled.form.heartbeat:
        images = [event.content.get(image) for image in ("data", "before", "unique")]
        return "a heartbeat with a row" if any(isinstance(image, dict) for image in images) else ""
    if op not in {"m", *corpus.compiled.dialect.other_ops}:
        return f"a {found.kind} of op {op}"
    images = [event.content.get(image) for image in ("after", "before")]
    if any(isinstance(image, str if corpus.compiled.dialect.is_document else dict) for image in images):
        return f"a {found.kind} with a row"
    return _judge_position(corpus, event, found) if found.kind == "truncate" else ""


def _judge_position(corpus: Corpus, event: Side, found: Outcome) -> str:
    op, source = event.content.get("op"), event.content.get("source") or {}
    dialect = corpus.compiled.dialect.name if corpus.compiled.terms else "mongodb"
    try:
        expected = position(dialect, op, source, found.offset)
    except Misplaced as error:
        return f"taken, with {error} {source.get(str(error))!r}, at {found.sort_key}"
    at = tuple(found.sort_key.values())
    return "" if at == expected else f"at {at}, expected {expected}"


def _judge_tombstone(corpus: Corpus, key: bytes | None, found: Outcome) -> str:
    """Judge a tombstone, which may be the only report of a delete: its key has to be that of a row."""
    deletes = corpus.compiled.form.tombstone_deletes
    if deletes and (found.kind, found.op) != ("change", "d"):
        return f"no value, and it is a {found.kind} of op {found.op}"
    if not deletes and not corpus.compiled.keyed_tombstones:
        return "" if found.kind == "tombstone" else f"no value, and it is a {found.kind}"
    if key is None:
        return "" if found.kind == "empty-message" else f"neither key nor value, and it is a {found.kind}"
    try:
        keyed = read(corpus, key)
    except Unreadable as error:
        return f"a tombstone, and the independent decoder says of the key: {error}"
    return _differences(corpus, "key", keyed.content, keyed.shape, found.k or {})


def _judge_change(corpus: Corpus, key: bytes | None, event: Side, found: Outcome) -> str:
    op, source = event.content.get("op"), event.content.get("source") or {}
    if (found.op, found.source_ms) != (op, source.get("ts_ms")):
        return f"op and time: {(found.op, found.source_ms)}, expected {(op, source.get('ts_ms'))}"
    if corpus.compiled.key_source != RowKey():
        try:
            keyed = read(corpus, key)
        except Unreadable as error:
            return f"taken, and the independent decoder says of the key: {error}"
        if wrong := _differences(corpus, "key", keyed.content, keyed.shape, found.k or {}):
            return wrong
        if wrong := _contradiction(corpus, keyed, event, op):
            return wrong
    elif wrong := _judge_row_key(corpus, event, found):
        return wrong
    if op == "d":
        return ""
    after, row = event.content.get("after"), found.row or {}
    if corpus.compiled.dialect.is_document:
        return "" if row.get("doc") == after else f"document {row!r}, expected {after!r}"
    return _differences(corpus, "row", after, event.shape.fields["after"], _named(corpus, event, row))


def _judge_row_key(corpus: Corpus, event: Side, found: Outcome) -> str:
    """Compare the key with the same columns of the images: each that has them agrees."""
    images = ("unique", "before" if found.op == "d" else "after")
    for name, value in (found.k or {}).items():
        for image in images:
            row = event.content.get(image)
            if not isinstance(row, dict) or row.get(name) is None:
                continue
            in_row = wanted(corpus, event.shape.fields[image].fields[name], row[name])
            if same(in_row) != same(value):
                return f"taken with key {name} {value!r}, and {image} has {in_row!r}"
    return ""


def _contradiction(corpus: Corpus, keyed: Side, event: Side, op: str) -> str:
    """Compare the key with the row, or with the row before a delete, by the independent decoder."""
    if corpus.compiled.dialect.is_document:
        return _other_document(corpus, keyed, event)
    field = "before" if op == "d" else "after"
    row, shape = event.content.get(field) or {}, event.shape.fields[field]
    for name, value in keyed.content.items():
        if row.get(name) is None:
            continue
        in_key = same(wanted(corpus, keyed.shape.fields[name], value))
        in_row = same(wanted(corpus, shape.fields[name], row[name]))
        if in_key != in_row:
            return f"taken, with key {name} {in_key!r} and row {in_row!r}"
    return ""


def _other_document(corpus: Corpus, keyed: Side, event: Side) -> str:
    """Compare the key with the document's `_id`; a document before the change that is not JSON has none."""
    after = event.content.get("after")
    try:
        document = json.loads(after or event.content.get("before") or "{}")
    except (ValueError, RecursionError):
        return f"taken, with a document that is not JSON: {after!r}"[:300] if after else ""
    stored = document.get("_id") if isinstance(document, dict) else None
    agree = stored is None or is_same_key(corpus, keyed.content["id"], json.dumps(stored))
    return "" if agree else f"taken, with key {keyed.content} and _id {stored}"


def _named(corpus: Corpus, event: Side, row: dict[str, Any]) -> dict[str, Any]:
    """Give a row's values by column: of the variants, the one that is there."""
    named: dict[str, Any] = {}
    for column_version in corpus.compiled.row_variants:
        written = event.schema_id in column_version.writers or not corpus.is_avro
        if written and (named.get(column_version.origin) is None):
            named[column_version.origin] = row[column_version.field]
        elif not written and row[column_version.field] is not None:
            named[f"{column_version.origin} of another version"] = row[column_version.field]
    return named


def _differences(
    corpus: Corpus, where: str, content: dict[str, Any], shape: Shape, found: dict[str, Any]
) -> str:
    for name, value in content.items():
        if name not in found or name not in shape.fields:
            continue
        try:
            expected = wanted(corpus, shape.fields[name], value)
        except Exception as error:  # noqa: BLE001  any failure says that there is no such value
            problem = f"{type(error).__name__} {error}"
            return f"{where}.{name}: {value!r} is no value ({problem}), found {found[name]!r}"
        if same(expected) != same(found[name]):
            if is_same_key(corpus, expected, found[name]) or is_json_as_text(
                corpus, value, expected, found[name]
            ):
                continue
            return f"{where}.{name}: {value!r} is {expected!r}, found {found[name]!r}"
        if expected is None and value is not None:
            return f"{where}.{name}: {value!r} became null"
    strange = [name for name in found if name not in content and found[name] is not None]
    return f"{where}: {strange[0]} is not in the payload, found {found[strange[0]]!r}" if strange else ""


def is_same_key(corpus: Corpus, expected: str, found: str) -> bool:
    """Return whether two spellings of a document's key are equal."""
    if not corpus.compiled.dialect.is_document:
        return False
    number = json.loads(found)
    if isinstance(number, dict) and "$numberDecimal" in number:  # what no double holds
        return Decimal(number["$numberDecimal"]) == Decimal(expected)
    return one_spelling(expected) == one_spelling(found)


def is_json_as_text(corpus: Corpus, value: Any, expected: Any, found: Any) -> bool:
    """Return whether texts were sent as other JSON and hold it as text, as documented: a field or a list."""
    if isinstance(value, list) and isinstance(found, list) and len(value) == len(found):
        return all(
            same(part[1]) == same(part[2]) or is_json_as_text(corpus, *part)
            for part in zip(value, expected, found, strict=True)
        )
    if corpus.is_avro or isinstance(value, str) or not isinstance(found, str):
        return False
    if isinstance(expected, Decimal):  # of more digits than a decimal has: text in plain notation
        return found == format(expected, "f")
    if isinstance(value, float) and abs(value) == float("inf"):  # a number that no double holds
        return found.strip('"-') == "Infinity"
    try:
        return same(json.loads(found)) == same(value)
    except ValueError:
        return False


def wanted(corpus: Corpus, shape: Shape, value: Any) -> Any:
    """Give the value that a table has."""
    if shape.name == NANOS and corpus.compiled.dialect.time_resolution_ns == TICK_NS and value is not None:
        value = unwrapped(value)
    if shape.name in DURATIONS and corpus.compiled.dialect.has_durations and value is not None:
        return duration(value, DURATIONS[shape.name])
    return convert(shape, value if corpus.is_avro else known(shape, value))


def known(shape: Shape, value: Any) -> Any:
    """Leave out names that the schema lacks, and put in those that are missing: JSON is read by name."""
    if shape.type != "struct" or not isinstance(value, dict):
        return value
    return {name: known(part, value.get(name)) for name, part in shape.fields.items()}


def duration(count: int, per_second: int) -> str:
    """Write a time of MySQL, which may be negative or longer than a day, as MySQL does."""
    seconds, fraction = divmod(abs(count), per_second)
    minutes, second = divmod(seconds, 60)
    digits = len(str(per_second)) - 1
    sign = "-" if count < 0 else ""
    return f"{sign}{minutes // 60:02}:{minutes % 60:02}:{second:02}.{fraction:0{digits}}"


def unwrapped(nanos: int) -> int:
    """Undo the wrap of a SQL Server's datetime2 into 64 bits: the source counts hundreds of nanoseconds."""
    turns = [nanos + turn * 2**64 for turn in range(-20, 21)]
    fits = [item for item in turns if item % TICK_NS == 0 and FIRST_NS <= item <= LAST_NS]
    assert len(fits) == 1, f"{nanos} is no datetime2"
    return fits[0]


def same(value: Any) -> Any:
    """Bring a value to one that equals itself, and that true does not equal 1 with."""
    match value:
        case bool():
            return ("bool", value)
        case float():
            return ("NaN",) if value != value else (value, str(value))  # noqa: PLR0124  what NaN is
        case bytes() | bytearray():
            return bytes(value)
        case list():
            return [same(item) for item in value]
        case dict():
            return {name: same(item) for name, item in value.items()}
        case _:
            return value
