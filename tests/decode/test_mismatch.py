"""A message key that contradicts its row: a reject with both values, unless the table file ignores it."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest.avro import connect
from ingest.compile.payload import WriterSchema
from ingest.compile.table import CompiledTable, compile_table
from ingest.decode.events import decode_events, explain_rejects
from ingest.masking import Masking, salt_id_of
from ingest.names import SchemaId
from ingest.spark.functions import keep_salt
from ingest.tables import Column, Key, Target
from ingest.testing import nullable
from tests.compile.sqlserver import ID, compiled, table
from tests.decode.messages import Topic as Messages
from tests.decode.messages import change, frame
from tests.decode.test_seeds import ZH, declared, message
from tests.feeds import feed

COLUMNS = {**ID, "code": "string", "note": nullable("string")}
TOPIC = Messages([COLUMNS])
FIVE, SIX = ({"id": n, "code": f"c{n}", "note": None} for n in (5, 6))
SALT = "a salt of thirty-two characters."
Pair = tuple[bytes | None, bytes | None]


def results(spark: SparkSession, of: CompiledTable, messages: Sequence[Pair]) -> list[tuple[str, str] | None]:
    """Return the reason and the error of each message; None for one that is taken."""
    sent = frame(spark, messages)
    rejected = [row.rejected for row in decode_events(sent, of).orderBy("offset").collect()]
    explained = explain_rejects(sent, of).orderBy("offset").collect()
    assert rejected == [row.reason is not None for row in explained]
    return [(row.reason, row.error) if row.reason else None for row in explained]


def events(topic: Messages, key: Mapping[str, Any]) -> list[Pair]:
    """Make a message of row 5 of each operation, with a key."""
    changes = [change("c", FIVE), change("u", FIVE, FIVE), change("d", None, FIVE), change("r", FIVE)]
    return [(topic.key(**key), topic.value(event)) for event in changes]


@pytest.mark.spark
@pytest.mark.parametrize("delete", ["hard", "soft"])
def test_a_key_of_another_row_is_a_reject_of_every_operation(
    spark: SparkSession, delete: Literal["hard", "soft"]
) -> None:
    """With both values."""
    of = attrs.evolve(table(), target=Target(delete=delete))
    other, own = events(TOPIC, {"id": 6}), events(TOPIC, {"id": 5})
    error = ("key-mismatch", "key: column id is 6, and the row has 5")
    assert results(spark, compiled([COLUMNS], of=of), [*other, *own]) == [error] * 4 + [None] * 4


@pytest.mark.spark
def test_what_is_not_in_both_is_not_compared(spark: SparkSession) -> None:
    """A tombstone has no row, a delete may lack the row before, and a key may have a column of its own."""
    shard = Messages([COLUMNS], {**ID, "shard": "string"})
    pairs = [
        (shard.key(id=5, shard="a"), None),
        (shard.key(id=5, shard="a"), shard.value(change("d", None))),
        (shard.key(id=5, shard="a"), shard.value(change("c", FIVE))),
    ]
    assert results(spark, compiled([COLUMNS], keys=shard.keys), pairs) == [None] * 3


@pytest.mark.spark
def test_a_table_may_ignore_the_difference_and_an_append_table_does(spark: SparkSession) -> None:
    """The rows of an append table do not have the message key."""
    ignoring = attrs.evolve(table(), key=Key(mismatch="ignore"))
    appending = attrs.evolve(table(), target=Target(mode="append"))
    for of in (ignoring, appending):
        assert results(spark, compiled([COLUMNS], of=of), events(TOPIC, {"id": 6})) == [None] * 4


@pytest.mark.spark
def test_a_declared_key_is_compared_with_the_message_key_too(spark: SparkSession) -> None:
    """Also in columns that the table's key does not have; a cut key compares with nothing."""
    of = compiled([COLUMNS], of=table("code"))
    own, cut = (
        events(TOPIC, {"id": 5}),
        [(key and key[:-1], value) for key, value in events(TOPIC, {"id": 5})],
    )
    unreadable = ("unreadable", "key: not readable, and cannot be compared with the row")
    mismatch = ("key-mismatch", "key: column id is 6, and the row has 5")
    keyless = [(None, value) for _, value in own]
    plain = [(b"5", value) for _, value in own]
    assert results(spark, of, [*events(TOPIC, {"id": 6}), *own, *cut, *keyless, *plain]) == [
        *[mismatch] * 4, *[None] * 4, *[unreadable] * 4, *[None] * 8,
    ]  # fmt: skip


@pytest.mark.spark
def test_values_are_compared_as_the_table_has_them(spark: SparkSession) -> None:
    """Whichever type each side was written as; a masked value is shown as the table shows it."""
    wide = Messages([{**COLUMNS, "id": "long"}], {"id": "int", "code": "string"})
    pairs = [(wide.key(id=n, code="c5"), wide.value(change("c", FIVE))) for n in (5, 6)]
    keep_salt(spark, SALT)
    masked = feed(table(columns={"code": Column(mask="hash")}), Masking(salt_id=salt_id_of(SALT)))
    codes = [(wide.key(id=5, code=code), wide.value(change("c", FIVE))) for code in ("c5", "c6")]
    versions = [{**COLUMNS, "id": "long"}]
    assert results(spark, compiled(versions, keys=wide.keys), pairs) == [
        None, ("key-mismatch", "key: column id is 6, and the row has 5"),
    ]  # fmt: skip
    taken, reject = results(spark, compiled(versions, keys=wide.keys, of=masked), codes)
    assert taken is None
    assert reject is not None
    assert reject[0] == "key-mismatch"
    assert re.fullmatch("key: column code is [0-9a-f]{64}, and the row has [0-9a-f]{64}", reject[1])


JSON_KEYS: Mapping[str, tuple[str, str] | None] = {
    '{"id":1005}': None,
    '{"schema":null,"payload":{"id":1005}}': None,
    '{"id":1004}': ("key-mismatch", "key: column id is 1004, and the row has 1005"),
    '{"schema":{},"payload":{"id":1004}}': ("key-mismatch", "key: column id is 1004, and the row has 1005"),
    '{"id":10': ("unreadable", "key: not readable, and cannot be compared with the row"),
    '{"id":"x"}': ("unreadable", "key: not readable, and cannot be compared with the row"),
    '{"other":1}': None,
    "1004": None,
    '"1004"': None,
}


@pytest.mark.spark
def test_json_keys_without_a_schema_are_compared(spark: SparkSession) -> None:
    """Text that is not an object names no columns, and a missing key contradicts nothing."""
    node = message("sqlserver-zh-update", ZH)
    schema = WriterSchema(SchemaId(-1), "t.json", connect.parse(node["schema"], where="t.json"))
    config = declared("id")
    value = json.dumps(node["payload"]).encode()
    pairs: list[Pair] = [(None, value), *((key.encode(), value) for key in JSON_KEYS)]
    of = compile_table(feed(config), (), (schema,))
    assert dict(zip(JSON_KEYS, results(spark, of, pairs)[1:], strict=True)) == JSON_KEYS
    assert results(spark, of, pairs[:1]) == [None]
