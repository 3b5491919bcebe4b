"""Framings: every form of a schema's id by key and value, mixed in one topic, and corrupt."""

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID

import attrs
import pytest
from confluent_kafka.schema_registry import header_schema_id_serializer, prefix_schema_id_serializer
from confluent_kafka.schema_registry.serde import SchemaId as ClientSchemaId
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import DataFrame, SparkSession

from ingest import avro
from ingest.compile.payload import WriterSchema
from ingest.compile.table import CompiledTable, compile_table
from ingest.config.rules import WrongValueError
from ingest.decode.diagnosis import explain, unknown_by_frame, unknown_ids
from ingest.decode.events import decode_events
from ingest.names import SchemaId
from ingest.registry import FrameId
from ingest.tables import CONFLUENT, FRAMINGS, Framing
from ingest.testing import nullable
from tests.compile.sqlserver import ID, KEY_ID, VALUE_ID, envelope, key, table, written
from tests.decode.messages import Topic, change
from tests.feeds import feed

pytestmark = pytest.mark.spark

HEADERS = "headers array<struct<key: string, value: binary>>"
MESSAGE = f"partition int, offset bigint, key binary, value binary, {HEADERS}"
ROW = {"id": "int", "text": nullable("string")}
SOURCE = Topic([ROW])
GUIDS = {"key": UUID(int=1 << 127 | 7), "value": UUID(int=2**128 - 9)}
GLOBAL_IDS = {"key": 2**32 - 1, "value": 40}
CONTENT_IDS = {"key": 50, "value": 2**31 + 5}
SMALL_GLOBAL_IDS = {"key": 2**31 + 9, "value": 41}
IDS = {"key": KEY_ID, "value": VALUE_ID}
SIDES = ("key", "value")
MAX_INFLATED = 64 << 20
RECORDED = json.loads(
    (Path(__file__).parents[1] / "data" / "framings" / "recorded.json").read_text(encoding="utf-8")
)

Headers = Sequence[tuple[str, bytes | None]]


@attrs.frozen
class Framed:
    """A key or value as a serializer gives it: its bytes, and the headers that it adds to the message."""

    octets: bytes
    headers: tuple[tuple[str, bytes | None], ...] = ()


def by_confluent(side: str, body: bytes, *, in_header: bool, guid: bool) -> Framed:
    """Frame a record with Confluent's own serializers, those of its Python client."""
    schema_id = ClientSchemaId("AVRO", IDS[side], str(GUIDS[side]) if guid else None)
    field = MessageField.KEY if side == "key" else MessageField.VALUE
    if not in_header:
        prefix = schema_id.guid_to_bytes() if guid else schema_id.id_to_bytes()
        if not guid:
            framed = prefix_schema_id_serializer(body, SerializationContext("t", field), schema_id)
            assert framed == prefix + body
        return Framed(prefix + body)
    if guid:
        context = SerializationContext("t", field, [])
        octets = header_schema_id_serializer(body, context, schema_id)
        return Framed(octets, tuple(context.headers))
    return Framed(body, ((f"__{side}_schema_id", schema_id.id_to_bytes()),))


def frames(side: str, body: bytes) -> Mapping[str, tuple[Framing, Framed]]:
    """Frame one record in every form, by a name: the framing, and the message."""
    global_id, content_id = GLOBAL_IDS[side].to_bytes(8, "big"), CONTENT_IDS[side].to_bytes(8, "big")
    uuid, encoded = GUIDS[side].bytes, (f"apicurio.{side}.encoding", b"BINARY")
    return {
        "id": ("confluent", by_confluent(side, body, in_header=False, guid=False)),
        "guid": ("confluent-guid", by_confluent(side, body, in_header=False, guid=True)),
        "guid in header": ("confluent-headers", by_confluent(side, body, in_header=True, guid=True)),
        "id in header": ("confluent-headers", by_confluent(side, body, in_header=True, guid=False)),
        "globalId": ("apicurio-8-byte-global-id", Framed(b"\0" + GLOBAL_IDS[side].to_bytes(8, "big") + body)),
        "contentId": ("apicurio-8-byte-content-id", Framed(b"\0" + content_id + body)),
        "short globalId": (
            "apicurio-4-byte-global-id",
            Framed(b"\0" + SMALL_GLOBAL_IDS[side].to_bytes(4, "big") + body),
        ),
        "globalId in header": (
            "apicurio-headers", Framed(body, ((f"apicurio.{side}.globalId", global_id), encoded))
        ),
        "contentId in header": (
            "apicurio-headers", Framed(body, ((f"apicurio.{side}.contentId", content_id), encoded))
        ),
        "glue": ("glue", Framed(b"\3\0" + uuid + body)),
        "glue zlib": ("glue", Framed(b"\3\5" + uuid + zlib.compress(body))),
    }  # fmt: skip


ALTERNATIVES: Sequence[tuple[Framing, ...]] = (
    tuple(name for name in FRAMINGS if "4-byte" not in name and name != "apicurio-8-byte-content-id"),
    tuple(name for name in FRAMINGS if name not in ("confluent", "apicurio-8-byte-global-id")),
)
"""All framings that one table can expect, in two lists: some have the same bytes as others."""
EVERY = ALTERNATIVES[0]


def compiled(framings: Sequence[Framing]) -> CompiledTable:
    """Compile a table of some framings, whose schemas have an id of each kind."""
    of = attrs.evolve(table(), framings=tuple(framings))
    return compile_table(
        feed(of), [named(written(KEY_ID, key(ID)), "key")], [named(written(VALUE_ID, envelope(ROW)), "value")]
    )


def named(schema: WriterSchema, side: str) -> WriterSchema:
    """Give a schema its ids."""
    return attrs.evolve(
        schema,
        frame_ids=(
            FrameId("GUID", str(GUIDS[side])),
            FrameId("globalId", str(GLOBAL_IDS[side])),
            FrameId("globalId", str(SMALL_GLOBAL_IDS[side])),
            FrameId("contentId", str(CONTENT_IDS[side])),
            FrameId("schemaVersionId", str(GUIDS[side])),
        ),
    )


def key_body(number: int) -> bytes:
    """Encode a key without its frame."""
    return SOURCE.key(id=number)[5:]


def value_body(number: int, text: str = "text") -> bytes:
    """Encode a change without its frame."""
    return SOURCE.value(change("c", {"id": number, "text": text}))[5:]


def messages(spark: SparkSession, pairs: Sequence[tuple[Framed | None, Framed | None]]) -> DataFrame:
    """Make the frame that the Kafka room gives with headers: null for a message without any."""
    rows = []
    for offset, (framed_key, framed_value) in enumerate(pairs):
        headers = [
            *(framed_key.headers if framed_key else ()),
            *(framed_value.headers if framed_value else ()),
        ]
        octets = [None if side is None else bytearray(side.octets) for side in (framed_key, framed_value)]
        named = [(name, None if value is None else bytearray(value)) for name, value in headers]
        rows.append((0, offset, *octets, named or None))
    return spark.createDataFrame(rows, MESSAGE)


@pytest.mark.parametrize("framings", ALTERNATIVES, ids=["with confluent", "with 4-byte globalId"])
def test_every_framing_of_key_and_value_is_read_mixed_in_one_topic(
    spark: SparkSession, framings: Sequence[Framing]
) -> None:
    """Each pair of forms: an expected pair gives its row, any other is rejected by the framing's name."""
    keys = frames("key", b"")
    pairs = [(of_key, of_value) for of_key in keys for of_value in keys]
    sent = [
        (frames("key", key_body(n))[of_key], frames("value", value_body(n, f"row {n}"))[of_value])
        for n, (of_key, of_value) in enumerate(pairs)
    ]
    table = compiled(framings)
    rows = messages(spark, [(k, v) for (_, k), (_, v) in sent])
    events = decode_events(rows, table).select("rejected", "k.id", "row.*").orderBy("offset").collect()
    reasons = {row.offset: row.error for row in explain(rows, table).collect()}

    for number, ((key_framing, _), (value_framing, _)) in enumerate(sent):
        rejected, row_id, *values = events[number]
        expected = {key_framing, value_framing} <= set(framings)
        assert rejected != expected, pairs[number]
        if expected:
            assert (row_id, values[-1]) == (number, f"row {number}"), pairs[number]
        else:
            side, framing = ("key", key_framing) if value_framing in framings else ("value", value_framing)
            text = reasons[number]
            assert text.startswith((f"{side}: framing ", f"{side}: unknown schema ")), (pairs[number], text)
            assert framing in text or "unknown" in text, (pairs[number], text)


def test_a_table_without_framings_reads_confluents_first_one_alone(spark: SparkSession) -> None:
    """The others are rejected, and the reason names the setting."""
    table = compiled(CONFLUENT)
    forms = [form for form in frames("value", b"") if form != "id"]
    good_key = frames("key", key_body(1))["id"][1]
    sent = [(good_key, frames("value", value_body(n))[form][1]) for n, form in enumerate(forms)]
    rows = messages(spark, [*sent, (good_key, frames("value", value_body(1))["id"][1])])
    judged = [row.rejected for row in decode_events(rows, table).orderBy("offset").collect()]
    assert judged == [*[True] * len(forms), False]
    explained = explain(rows, table).orderBy("offset").collect()
    errors = {form: row.error for form, row in zip(forms, explained, strict=False)}
    for form in ("guid", "guid in header", "globalId in header", "glue", "glue zlib"):
        assert "framings = [" in errors[form], errors[form]


@attrs.frozen
class Corrupt:
    """A value that the table cannot read, by a name, and the beginning of the reason."""

    name: str
    octets: bytes
    error: str
    headers: Headers = ()
    reason: str = "unreadable"


BODY = value_body(1)
UUID_BYTES = GUIDS["value"].bytes
GUID_ID = b"\1" + UUID_BYTES
HEADER, GLOBAL, ENCODING = "__value_schema_id", "apicurio.value.globalId", "apicurio.value.encoding"
NO_ID = "bytes of the header {} are not a schema id"
GLOBAL_ID = GLOBAL_IDS["value"].to_bytes(8, "big")
NOT_OWN = f"not readable with its own schema, id {VALUE_ID}"
ZLIB = b"\3\5" + UUID_BYTES
PACKED = zlib.compress(BODY)
BOMB = zlib.compress(bytes(MAX_INFLATED + 1), 9)
NIL = str(UUID(int=0))

UNREADABLE = [
    Corrupt("empty", b"", "empty payload"),
    Corrupt("magic 2", b"\2" + BODY, "magic byte 0x02 is not that of a framing"),
    Corrupt("magic 255", b"\xffu" + BODY, "magic byte 0xFF is not that of a framing"),
    Corrupt("id cut", b"\0\0\0\1", "4 bytes are too few for a schema id"),
    Corrupt("guid cut", GUID_ID[:16], "16 bytes are too few for a schema GUID"),
    Corrupt("glue cut", ZLIB[:17], "17 bytes are too few for Glue's header"),
    Corrupt("glue byte", b"\3\1" + UUID_BYTES, "Glue's compression byte 0x01 is neither 0x00 nor 0x05"),
    Corrupt("no zlib", ZLIB + BODY, "corrupt zlib data ("),
    Corrupt("zlib cut", ZLIB + PACKED[:-6], "the zlib data is cut off"),
    Corrupt("zlib sum", ZLIB + PACKED[:-1] + b"?", "corrupt zlib data ("),
    Corrupt("zlib more", ZLIB + PACKED + b"ab", "2 bytes are left over behind the zlib data"),
    Corrupt("zlib bomb", ZLIB + BOMB, f"inflates to more than {MAX_INFLATED} bytes"),
    Corrupt("zlib of nothing", ZLIB + zlib.compress(b""), NOT_OWN),
    Corrupt("header empty", BODY, f"the 0 {NO_ID.format(HEADER)}", [(HEADER, b"")]),
    Corrupt("header long", BODY, f"the 6 {NO_ID.format(HEADER)}", [(HEADER, bytes(6))]),
    Corrupt("header magic", BODY, f"the 5 {NO_ID.format(HEADER)}", [(HEADER, b"\2" * 5)]),
    Corrupt("header short", BODY, f"the 4 {NO_ID.format(GLOBAL)}", [(GLOBAL, bytes(4))]),
    Corrupt(
        "headers of two", BODY, "the headers of two registries", [(HEADER, GUID_ID), (GLOBAL, GLOBAL_ID)]
    ),
    Corrupt(
        "JSON", b"{}", f"encoding JSON in the header {ENCODING}", [(GLOBAL, GLOBAL_ID), (ENCODING, b"JSON")]
    ),
    Corrupt(
        "artifact", BODY, "the header apicurio.value.artifactId names", [("apicurio.value.artifactId", b"t")]
    ),
    Corrupt("framed twice", b"\0\0\0\0\x65" + BODY, NOT_OWN, [(HEADER, GUID_ID)]),
]
UNKNOWN = [
    Corrupt("id", b"\0\0\0\3\xe7" + BODY, "id 999"),
    Corrupt("guid", b"\1" + bytes(16) + BODY, f"GUID {NIL}"),
    Corrupt("glue", b"\3\0" + bytes(16) + BODY, f"schemaVersionId {NIL}"),
    Corrupt("globalId", bytes(8) + b"\7" + BODY, "globalId 7"),
    Corrupt("negative globalId", b"\0" + b"\xff" * 8 + BODY, "id 4294967295"),
    Corrupt("id in header", BODY, "id 999", [(HEADER, b"\0\0\0\3\xe7")]),
    Corrupt("globalId in header", BODY, "globalId 7", [(GLOBAL, (7).to_bytes(8, "big"))]),
]
CORRUPT = [
    *UNREADABLE,
    *(attrs.evolve(bad, reason="unknown-schema", error=f"unknown schema {bad.error}") for bad in UNKNOWN),
]


def test_a_corrupt_frame_rejects_its_message_alone(spark: SparkSession) -> None:
    """With its reason; keys and values around it are read, and the bytes stay as they came."""
    table = compiled(EVERY)
    good_key, good = (
        frames("key", key_body(1))["guid in header"][1],
        frames("value", value_body(1))["glue zlib"][1],
    )
    rows = messages(
        spark,
        [
            *((good_key, Framed(bad.octets, tuple(bad.headers))) for bad in CORRUPT),
            (good_key, good),
            (good_key, None),
        ],
    )
    judged = [row.rejected for row in decode_events(rows, table).orderBy("offset").collect()]
    explained = explain(rows, table).orderBy("offset").collect()
    for bad, rejected, row in zip(CORRUPT, judged, explained, strict=False):
        assert (rejected, row.reason) == (True, bad.reason), (bad.name, row.error)
        assert row.error.startswith(f"value: {bad.error}"), (bad.name, row.error)
        assert bytes(row.value) == bad.octets, bad.name
        assert bytes(row.key) == good_key.octets, bad.name
    assert judged[len(CORRUPT) :] == [False, False]
    keys, values = unknown_by_frame(rows, table)
    assert keys == ()
    assert set(values) == {
        FrameId("GUID", NIL), FrameId("schemaVersionId", NIL), FrameId("globalId", "7"),
    }  # fmt: skip
    assert set(unknown_ids(rows, table)[1]) >= {999, 2**32 - 1}


def test_an_id_beyond_four_bytes_is_read_where_no_other_id_has_four(spark: SparkSession) -> None:
    """Next to ids of four bytes it would be one of these: it is rejected there."""
    number = 2**33 + 1
    value = Framed(b"\0" + number.to_bytes(8, "big") + BODY)
    sent = [(frames("key", key_body(1))["globalId"][1], value)]
    only: tuple[Framing, ...] = ("apicurio-8-byte-global-id",)
    for framings, rejected in ((only, False), ((*only, "confluent"), True)):
        schema = written(VALUE_ID, envelope(ROW))
        ids = (FrameId("globalId", str(number)),)
        of = attrs.evolve(table(), framings=framings)
        keys, values = [named(written(KEY_ID, key(ID)), "key")], [attrs.evolve(schema, frame_ids=ids)]
        (event,) = decode_events(messages(spark, sent), compile_table(feed(of), keys, values)).collect()
        assert event.rejected == rejected, framings


def test_headers_of_the_other_side_and_of_others_mean_nothing(spark: SparkSession) -> None:
    """The last header of a name counts; a null header counts as absent, as in Confluent's deserializer."""
    table = compiled(EVERY)
    good_key = frames("key", key_body(1))["id"][1]
    guid = b"\1" + UUID_BYTES
    plain = frames("value", value_body(1))["id"][1].octets
    values = [
        Framed(BODY, ((HEADER, b"nonsense"), (HEADER, guid))),
        Framed(plain, (("__value_schema_id_", b"x"), ("trace", None), ("APICURIO.value.globalId", b"x"))),
        Framed(plain, ((HEADER, None),)),
    ]
    rows = messages(spark, [(good_key, value) for value in values])
    assert [row.rejected for row in decode_events(rows, table).collect()] == [False] * len(values)


@pytest.mark.parametrize("recorded", RECORDED["records"], ids=lambda record: record["name"])
def test_the_bytes_of_the_real_serializers_are_read(spark: SparkSession, recorded: Mapping[str, str]) -> None:
    """Recorded once from Apicurio 2 and 3 and AWS Glue, see tests/data/framings/README.md."""
    side, other = recorded["side"], "key" if recorded["side"] == "value" else "value"
    bodies = {name: bytes.fromhex(RECORDED["bodies"][name]) for name in SIDES}
    schemas = {
        name: named(WriterSchema(schema_id, name, avro.parse(json.dumps(RECORDED["schemas"][name]))), name)
        for name, schema_id in IDS.items()
    }
    frame_id = FrameId.parse(recorded["schema"])
    schemas[side] = attrs.evolve(
        schemas[side],
        schema_id=SchemaId(int(frame_id.text)) if frame_id.kind == "id" else IDS[side],
        frame_ids=(frame_id,),
    )
    headers = tuple((name, bytes.fromhex(value)) for name, value in recorded["headers"])
    sent = {
        side: Framed(bytes.fromhex(recorded["bytes"]), headers),
        other: frames(other, bodies[other])["guid"][1],
    }
    framing: Framing = recorded["framing"]  # type: ignore[assignment]  # of FRAMINGS
    of = attrs.evolve(table(), framings=(framing, "confluent-guid"))
    compiled_table = compile_table(feed(of), [schemas["key"]], [schemas["value"]])
    (event,) = decode_events(messages(spark, [(sent["key"], sent["value"])]), compiled_table).collect()
    assert (event.rejected, event.k.id) == (False, RECORDED["row"]["id"])
    assert list(event.row)[-1] == RECORDED["row"]["text"]


@pytest.mark.parametrize(
    "framings",
    [(), ("glue", "glue"), ("confluent", "apicurio-4-byte-global-id"),
     ("apicurio-8-byte-content-id", "apicurio-8-byte-global-id")],
)  # fmt: skip
def test_framings_that_no_byte_tells_apart_are_refused(framings: tuple[Framing, ...]) -> None:
    """A number that could be one id or another would give wrong rows."""
    with pytest.raises(WrongValueError, match="framings"):
        attrs.evolve(table(), framings=framings)
