"""Bad input: each such record is rejected, no other one, with the reason."""

import re
from typing import Any

import attrs
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from ingest.compile.table import CompiledTable, compile_table
from ingest.decode.diagnosis import explain, unknown_ids
from ingest.decode.events import decode_events, explain_rejects
from ingest.order.latest import latest_by_key, rejected
from ingest.order.models import count_batch
from ingest.testing import decimal, framed, nullable, semantic, unscaled
from tests.compile.sqlserver import ID, KEY_ID, VALUE_ID, compiled, envelope, key, table, written
from tests.decode.messages import Topic, change, frame, rows_of
from tests.feeds import feed

pytestmark = pytest.mark.spark

ROW = {
    "id": "int",
    "amount": nullable(decimal(None, 2)),
    "small": nullable(decimal(5, 2)),
    "day": nullable(semantic("int", "io.debezium.time.Date")),
    "at": nullable(semantic("string", "io.debezium.time.ZonedTimestamp")),
    "clock": nullable(semantic("long", "io.debezium.time.NanoTime")),
    "stamp": nullable(semantic("long", "io.debezium.time.MicroTimestamp")),
    "text": nullable("string"),
}
SOURCE = Topic([ROW])
FOREIGN_ID, HEARTBEAT_ID, TRANSACTION_ID, UNKNOWN_ID = VALUE_ID + 1, VALUE_ID + 2, VALUE_ID + 3, 999
HEARTBEAT = {
    "type": "record",
    "name": "io.debezium.connector.common.Heartbeat",
    "fields": [{"name": "ts_ms", "type": "long"}],
}
TRANSACTION = {**HEARTBEAT, "name": "io.debezium.connector.common.TransactionMetadataValue"}

GOOD_KEY = SOURCE.key(id=1)

TODO = 'name the producers\' framings in the table file, such as framings = ["confluent-guid"]'
NO_TIMESTAMP = "value: column at is not a valid timestamp"
NO_STAMP = "value: column stamp is not a valid timestamp_ntz"
NO_SERIAL = "value: source.event_serial_no is not a valid position"


def value(op: str = "c", *, gone: bool = False, lsn: Any = None, **columns: Any) -> bytes:
    """Encode an event of row 1."""
    row = {"id": 1, "text": "some text", **columns}
    return SOURCE.value(change(op, None if gone else row, None, **(lsn or {})))


GOOD = value()
GUID = bytes(range(16))


@attrs.frozen
class Bad:
    """A message and the reason for its rejection."""

    name: str
    reason: str
    value: bytes
    key: bytes | None = GOOD_KEY


BAD = [
    # --- the header ------------------------------------------------------------------------------
    Bad("empty", "value: empty payload", b""),
    Bad("magic 1", f"value: a schema GUID (magic byte 1): {TODO}", b"\x01" + GUID + GOOD[5:]),
    Bad("magic 1 alone", f"value: a schema GUID (magic byte 1): {TODO}", b"\x01"),
    Bad("magic 7b", "value: magic byte 0x7B is not 0x00", b'{"json": true}'),
    *(Bad(f"{n} bytes", f"value: {n} bytes are too few for a schema id", GOOD[:n]) for n in range(1, 5)),
    Bad("unknown id", "value: unknown schema id 999", b"\x00" + UNKNOWN_ID.to_bytes(4, "big") + GOOD[5:]),
    Bad("highest id", "value: unknown schema id 4294967295", b"\x00\xff\xff\xff\xff" + GOOD[5:]),
    Bad("an id of the key", f"value: unknown schema id {KEY_ID}", GOOD_KEY),
    # --- the payload -----------------------------------------------------------------------------
    Bad("header only", f"value: not readable with its own schema, id {VALUE_ID}", GOOD[:5]),
    Bad("one byte short", f"value: not readable with its own schema, id {VALUE_ID}", GOOD[:-1]),
    Bad("half", f"value: not readable with its own schema, id {VALUE_ID}", GOOD[: len(GOOD) // 2]),
    Bad("3 bytes more", f"value: not readable with its own schema, id {VALUE_ID}", GOOD + b"abc"),
    Bad("8 bytes more", f"value: not readable with its own schema, id {VALUE_ID}", GOOD + b"OFFSETS!"),
    Bad("the sentinel more", f"value: not readable with its own schema, id {VALUE_ID}", GOOD + b"OFFSE" * 2),
    Bad(
        "39 digits",
        f"value: not readable with its own schema, id {VALUE_ID}",
        value(amount=unscaled(10**38)),
    ),
    Bad(
        "6 digits of 5",
        f"value: not readable with its own schema, id {VALUE_ID}",
        value(small=unscaled(100_000)),
    ),
    Bad(
        "a foreign schema",
        f"value: not readable with its own schema, id {FOREIGN_ID}",
        framed(FOREIGN_ID, "string", "x"),
    ),
    # --- the event -------------------------------------------------------------------------------
    Bad("op x", "value: op x is not supported", value("x")),
    Bad("op t", "value: op t is not supported", value("t", gone=True)),
    Bad("op m of a row", "value: op m with a row", value("m")),
    Bad(
        "op m of a deleted row",
        "value: op m with a row",
        SOURCE.value(change("m", None, {"id": 1, "text": "some text"})),
    ),
    Bad("empty op", "value: op  is not supported", value("")),
    *(
        Bad(f"{op} without after", f"value: op {op} without an after image", value(op, gone=True))
        for op in "cur"
    ),
    # --- the key ---------------------------------------------------------------------------------
    Bad("null key", "key: null, so the change has no row", GOOD, None),
    Bad("null key of a delete", "key: null, so the change has no row", value("d", gone=True), None),
    Bad("empty key", "key: empty payload", GOOD, b""),
    Bad("key magic", "key: magic byte 0x31 is not 0x00", GOOD, b"1"),
    Bad("key guid", f"key: a schema GUID (magic byte 1): {TODO}", GOOD, b"\x01" + GUID),
    Bad("key id", "key: unknown schema id 999", GOOD, b"\x00" + UNKNOWN_ID.to_bytes(4, "big") + b"\x02"),
    Bad("key cut", f"key: not readable with its own schema, id {KEY_ID}", GOOD, GOOD_KEY[:-1]),
    Bad("key long", f"key: not readable with its own schema, id {KEY_ID}", GOOD, GOOD_KEY + b"\x00"),
    # --- the columns -----------------------------------------------------------------------------
    Bad("no zoned timestamp", NO_TIMESTAMP, value(at="soon")),
    Bad("infinity", NO_TIMESTAMP, value(at="infinity")),
    *(
        Bad(
            f"zone {zone}",
            NO_TIMESTAMP,
            value(at=f"2024-01-01T00:00:00{zone}"),
        )
        for zone in ("+05:60", "-19:00", "+5x:00", "Q", "+Z")
    ),
    *(
        Bad(f"moment {at}", NO_TIMESTAMP, value(at=at))
        for at in (
            "2024-13-01T00:00:00Z",
            "2023-02-29T00:00:00+01:00",
            "2024-01-01T24:00:00Z",
            "",
            "Z",
            "+01:00",
        )
    ),
    Bad("a late day", "value: column day is not a valid date", value(day=2_932_897)),
    Bad("an early day", "value: column day is not a valid date", value(day=-719_163)),
    Bad("an endless day", "value: column day is not a valid date", value(day=2**31 - 1)),
    Bad(
        "a late stamp",
        NO_STAMP,
        value(stamp=253_402_300_800_000_000),
    ),
    Bad("an endless stamp", NO_STAMP, value(stamp=2**63 - 1)),
    Bad("before midnight", "value: column clock is not a valid string", value(clock=-1)),
    Bad("after midnight", "value: column clock is not a valid string", value(clock=86_400_000_000_001)),
    # --- the source's time -----------------------------------------------------------------------
    *(
        Bad(f"time {ms}", "value: source.ts_ms is not a valid timestamp", value(lsn={"ts_ms": ms}))
        for ms in (2**63 - 1, -(2**63), 253_402_300_800_000, -62_135_596_800_001)
    ),
    # --- the position ----------------------------------------------------------------------------
    Bad("serial", NO_SERIAL, value(lsn={"event_serial_no": -1})),
    Bad("lsn", "value: source.commit_lsn is not a valid position", value(lsn={"commit_lsn": "0" * 23})),
]
GOOD_MESSAGES = [(GOOD_KEY, GOOD), (GOOD_KEY, value("d", gone=True)), (GOOD_KEY, None)]


@pytest.fixture(scope="module")
def compiled_table() -> CompiledTable:
    """Compile the row's schema among others that records of the topic may have."""
    values = [
        written(VALUE_ID, envelope(ROW)),
        written(FOREIGN_ID, "string"),
        written(HEARTBEAT_ID, HEARTBEAT),
        written(TRANSACTION_ID, TRANSACTION),
    ]
    return compile_table(feed(table()), [written(KEY_ID, key(ID))], values)


@pytest.fixture(scope="module")
def messages(spark: SparkSession) -> DataFrame:
    """Put every bad message into one frame, among good ones."""
    return frame(spark, [*((bad.key, bad.value) for bad in BAD), *GOOD_MESSAGES])


@pytest.fixture(scope="module")
def judged(messages: DataFrame, compiled_table: CompiledTable) -> list[bool]:
    """Judge them all in one pass."""
    rows = decode_events(messages, compiled_table).select("rejected", "offset").orderBy("offset").collect()
    return [row.rejected for row in rows]


@pytest.fixture(scope="module")
def reasons(messages: DataFrame, compiled_table: CompiledTable) -> list[str | None]:
    """Explain them all in one pass."""
    rows = explain_rejects(messages, compiled_table).select("error", "offset").orderBy("offset").collect()
    return [row.error for row in rows]


@pytest.mark.parametrize("number", range(len(BAD)), ids=lambda number: BAD[number].name)
def test_a_bad_record_is_rejected_with_its_reason(
    number: int, judged: list[bool], reasons: list[str | None]
) -> None:
    """In words that name the value found."""
    assert (judged[number], reasons[number]) == (True, BAD[number].reason)


def test_the_good_records_are_not_rejected(judged: list[bool], reasons: list[str | None]) -> None:
    """A bad record spoils itself alone."""
    assert judged[len(BAD) :] == [False] * len(GOOD_MESSAGES)
    assert reasons[len(BAD) : len(BAD) + 2] == [None, None]


def test_they_are_counted_and_their_places_kept(messages: DataFrame, compiled_table: CompiledTable) -> None:
    """Each by its own; unknown schemas are looked up again."""
    folded = latest_by_key(decode_events(messages, compiled_table), compiled_table).persist()
    counts = count_batch(folded, compiled_table)
    assert counts.rejected == len(BAD)
    assert counts.read == len(BAD) + len(GOOD_MESSAGES)
    places = sorted(tuple(row) for row in rejected(folded).collect())
    assert places == [(0, 100 + n) for n in range(len(BAD))]
    rejects = messages.join(rejected(folded), ["partition", "offset"], "left_semi")
    keys, values = unknown_ids(rejects, compiled_table)
    assert (set(keys), set(values)) == ({UNKNOWN_ID}, {KEY_ID, UNKNOWN_ID, 2**32 - 1})


CLOSER = {
    "header only": r"\(5 bytes\)",
    "one byte short": rf"\({len(GOOD) - 1} bytes\)",
    "half": rf"\({len(GOOD) // 2} bytes\)",
    "3 bytes more": r"3 bytes are left over",
    "39 digits": r"a value exceeds the range of its type",
    "a foreign schema": r"its schema is not that of a change event",
    "key cut": r"\(5 bytes\)",
    "key long": r"1 bytes are left over",
}


REASONS = {
    "empty": "unreadable",
    "magic 1": "unreadable",
    "unknown id": "unknown-schema",
    "half": "unreadable",
    "op x": "unsupported-op",
    "u without after": "no-row",
    "null key": "null-key",
    "no zoned timestamp": "conversion",
    "serial": "no-position",
    "highest id": "unknown-schema",
}


@pytest.fixture(scope="module")
def explained(spark: SparkSession, compiled_table: CompiledTable) -> dict[str, Row]:
    """Explain some of them as records of their own; the last one names a schema in its headers."""
    chosen = [item for item in BAD if item.name in {*CLOSER, *REASONS}]
    plain: list[tuple[str, bytes]] = [("other", b"")]
    rows = [
        (3, number, item.key, item.value, plain if number else None) for number, item in enumerate(chosen)
    ]
    named = [("__value_schema_id", b"\1" + GUID), ("__key_schema_id", b"")]
    rows.append((3, len(chosen), GOOD_KEY, GOOD[5:], named))
    explained = explain(spark.createDataFrame(rows, WHOLE), compiled_table).orderBy("offset").collect()
    return dict(zip([*(item.name for item in chosen), "in header"], explained, strict=True))


WHOLE = (
    "partition int, offset bigint, key binary, value binary, headers array<struct<key:string,value:binary>>"
)


@pytest.mark.parametrize("name", CLOSER)
def test_unreadable_records_are_examined_more_closely(name: str, explained: dict[str, Row]) -> None:
    """The error describes the bytes."""
    bad = next(item for item in BAD if item.name == name)
    assert re.match(f"{re.escape(bad.reason)}: .*{CLOSER[name]}", explained[name].error)


@pytest.mark.parametrize("name", REASONS)
def test_a_reason_is_one_of_few_words(name: str, explained: dict[str, Row]) -> None:
    """Next to the error, for those who count and choose."""
    assert explained[name].reason == REASONS[name]


def test_the_schema_id_is_that_of_the_value(explained: dict[str, Row]) -> None:
    """Known or not; none where the bytes name none, or one that no registry can have."""
    results = {name: explained[name].schema_id for name in ("half", "unknown id", "highest id", "magic 1")}
    assert results == {"half": VALUE_ID, "unknown id": UNKNOWN_ID, "highest id": None, "magic 1": None}


def test_a_schema_id_in_a_header_is_named(explained: dict[str, Row]) -> None:
    """Confluent's serializer can put it there: the payload is bare then."""
    text = f"value: a schema id in the header __key_schema_id and __value_schema_id: {TODO}"
    assert (explained["in header"].reason, explained["in header"].error) == ("unreadable", text)


def test_a_refused_schema_rejects_its_changes_alone(
    spark: SparkSession, compiled_table: CompiledTable
) -> None:
    """With the policy as the reason; an unreadable change keeps its own reason."""
    refused = {VALUE_ID: "it's new", HEARTBEAT_ID: "no change"}
    beat = framed(HEARTBEAT_ID, HEARTBEAT, {"ts_ms": 1})
    messages = frame(spark, [(GOOD_KEY, GOOD), (GOOD_KEY, GOOD[:-1]), (GOOD_KEY, None), (None, beat)])
    judged = decode_events(messages, compiled_table, refused).select("rejected", "kind").collect()
    explained = (
        explain_rejects(messages.limit(2), compiled_table, refused).select("reason", "error").collect()
    )
    assert [tuple(row) for row in judged] == [
        (True, "change"), (True, "change"), (False, "tombstone"), (False, "heartbeat"),
    ]  # fmt: skip
    assert tuple(explained[0]) == ("refused-by-policy", "value: it's new")
    assert explained[1].reason == "unreadable"


def test_a_schema_that_cannot_be_compiled_says_so(spark: SparkSession, compiled_table: CompiledTable) -> None:
    """Instead of being unknown."""
    strange = attrs.evolve(written(UNKNOWN_ID, "string"), label="v9")
    lacking = attrs.evolve(compiled_table, unmapped=((strange, "has no row in the type table"),))
    messages = frame(spark, [(GOOD_KEY, framed(UNKNOWN_ID, "string", "x")), (GOOD_KEY, GOOD)])
    explained = explain_rejects(messages, lacking).select("reason", "error").orderBy("offset").collect()
    assert tuple(explained[0]) == ("unmapped-schema", "value: has no row in the type table")
    assert [row.rejected for row in decode_events(messages, lacking).collect()] == [True, False]


def test_messages_other_than_changes_are_counted_and_not_rejected(
    spark: SparkSession, compiled_table: CompiledTable
) -> None:
    """Tombstones, heartbeats and transactions in a data topic; only a tombstone needs a key."""
    messages = [
        (GOOD_KEY, None),
        (GOOD_KEY, GOOD),
        (None, None),
        *((None, framed(HEARTBEAT_ID, HEARTBEAT, {"ts_ms": n})) for n in range(3)),
        (b"junk", framed(TRANSACTION_ID, TRANSACTION, {"ts_ms": 1})),
        (None, value("m", gone=True)),
    ]
    counts, rows = rows_of(frame(spark, messages), compiled_table)
    assert counts.ignored == {
        "tombstone": 1, "empty-message": 1, "heartbeat": 3, "transaction": 1, "message": 1,
    }  # fmt: skip
    assert (counts.upserted, counts.deleted, counts.superseded, counts.rejected) == (1, 0, 0, 0)
    assert counts.read == len(messages)
    assert [row.id for row in rows.select("id").collect()] == [1]
    assert set(counts.schema_ids) >= {VALUE_ID}


def test_a_key_without_a_value_for_a_column_is_rejected(spark: SparkSession) -> None:
    """A nullable key column that is null names no row."""
    keys = {"id": "int", "k": nullable("int")}
    topic = Topic([{**keys}], keys=keys)
    frame_ = frame(spark, [topic.row({"id": 1, "k": None}), topic.row({"id": 1, "k": 2})])
    (row,) = (
        explain_rejects(frame_, compiled(topic.versions, keys=keys)).where("reason is not null").collect()
    )
    assert (row.offset, row.error) == (100, "key: column k is null")


def test_a_change_with_the_schema_id_of_another_kind_is_rejected(
    spark: SparkSession, compiled_table: CompiledTable
) -> None:
    """Only messages that are complete by their own schema are ignored."""
    transaction = framed(TRANSACTION_ID, TRANSACTION, {"ts_ms": 1})
    corrupt = [transaction[:5] + GOOD[5:], transaction + b"\0", transaction[:-1]]
    counts, _ = rows_of(frame(spark, [(GOOD_KEY, item) for item in (*corrupt, transaction)]), compiled_table)
    assert (counts.rejected, counts.ignored) == (3, {"transaction": 1})
