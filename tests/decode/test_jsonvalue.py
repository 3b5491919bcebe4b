"""JSON payloads: the value that Avro's decoder gives for the same event, and nothing for any other text."""

import json
import math
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import attrs
import fastavro
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.avro.functions import from_avro

from ingest import avro
from ingest.compile.payload import Payload, WriterSchema
from ingest.compile.table import compile_table
from ingest.decode.jsonvalue import parse_sql
from ingest.errors import SchemaError
from ingest.local.fixture import RecordedTopic, read_messages, read_recording
from ingest.names import Topic
from ingest.sql.template import sql
from ingest.tables import Subjects, TableConfig
from tests.feeds import feed

pytestmark = pytest.mark.spark

FIXTURES = Path(__file__).parents[2] / "registry_fixtures"
TOPICS = [f"sqs.testDB.dbo.{table}" for table in ("all_types", "customers", "orders", "widen")]
HEADER_BYTES = 5


def record(name: str, **fields: Any) -> dict[str, Any]:
    """Make a reader's record: every field nullable."""
    built = [{"name": field, "type": ["null", kind], "default": None} for field, kind in fields.items()]
    return {"type": "record", "name": name, "fields": built}


def parsed(frame: DataFrame, reader: Any, names: Mapping[str, Mapping[str, str]]) -> DataFrame:
    """Parse the column `text` into `value` and `whole`, next to the others."""
    how = parse_sql(sql("text"), reader, names)
    beside = [column for column in frame.columns if column != "text"]
    raw = frame.selectExpr(*beside, f"{how.raw} as raw")
    valued = raw.selectExpr(*beside, "raw", f"{how.value} as value")
    return valued.selectExpr(*beside, "value", f"{how.whole} as whole")


# --- the same events as Avro ---------------------------------------------------------------------


def schemas(recording: Any, subject: str) -> list[WriterSchema]:
    """Give every version of a subject."""
    return [
        WriterSchema(schema.id, f"{subject} v{schema.version}", avro.parse(schema.schema))
        for schema in recording.schemas
        if schema.subject == subject
    ]


def payload(message: bytes) -> str:
    """Cut the payload out of a message of JsonConverter's."""
    text = message.decode()
    _, end = json.JSONDecoder().raw_decode(text, len('{"schema":'))
    return text[end + len(',"payload":') : -1]


def topic_of(folder: str, name: str) -> RecordedTopic:
    """Find a recorded topic."""
    return next(topic for topic in read_recording(FIXTURES / folder).topics if topic.name == name)


def both(name: str, part: str) -> Iterator[tuple[int, int, bytearray, str]]:
    """Pair each message's Avro with its JSON: offset, schema id, payload, text."""
    pairs = zip(
        read_messages(topic_of("sqlserver", name)),
        read_messages(topic_of("sqlserver-json", name)),
        strict=True,
    )
    for as_avro, as_json in pairs:
        assert as_avro.offset == as_json.offset
        binary, text = getattr(as_avro, part), getattr(as_json, part)
        assert (binary is None) == (text is None)
        if binary is not None:
            schema_id = int.from_bytes(binary[1:HEADER_BYTES], "big")
            yield as_avro.offset, schema_id, bytearray(binary[HEADER_BYTES:]), payload(text)


@pytest.mark.parametrize("part", ["key", "value"])
@pytest.mark.parametrize("name", TOPICS)
def test_an_event_is_the_same_from_json_and_from_avro(spark: SparkSession, name: str, part: str) -> None:
    """Every recorded event, every column, by the reader that the registry's schemas compile to."""
    recording = read_recording(FIXTURES / "sqlserver")
    table = TableConfig(
        name="t",
        topic=Topic(name),
        dialect="sqlserver",
        subjects=Subjects(key=f"{name}-key", value=f"{name}-value"),  # type: ignore[arg-type]
    )
    compiled = compile_table(
        feed(table), schemas(recording, f"{name}-key"), schemas(recording, f"{name}-value")
    )
    payload: Payload = compiled.key if part == "key" else compiled.value
    rows = list(both(name, part))
    seen = 0
    for writer in payload.writers:
        mine = spark.createDataFrame(
            [row for row in rows if row[1] == writer.schema_id],
            "offset int, id int, payload binary, text string",
        )
        options = {"mode": "FAILFAST", "avroSchema": payload.reader, "datetimeRebaseMode": "CORRECTED"}
        decoded = mine.select("offset", "text", from_avro("payload", writer.wire, options).alias("from_avro"))
        names = dict.fromkeys(payload.images, writer.names)
        result = parsed(decoded, json.loads(payload.reader), names)
        outcome = dict(result.dtypes)
        assert outcome["value"] == outcome["from_avro"]
        same = "value <=> from_avro and string(value) = string(from_avro)"  # text tells 0.0 from -0.0
        assert result.where(f"not (whole and {same})").limit(3).collect() == []
        seen += result.count()
    assert seen == len(rows) > 0


LOGICAL_DATE = {"type": "int", "logicalType": "date"}
LOGICAL_MILLIS = {"type": "long", "logicalType": "local-timestamp-millis"}
LOGICAL_MICROS = {"type": "long", "logicalType": "local-timestamp-micros"}
TEXTS = ["", " ", "'\"\\`;--", "\x00\n\t\x1f\x7f", "ß", "数据", "🦆", "e\u0301", "\ufffd", "NULL", "Infinity"]
TEXTS += ["\\ud83e", '{"v":[1],"faithful":false}', "x" * 5000, "\u2028\ufeff"]
LONGS = [0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**53 + 1]
DOUBLES = [0.0, -0.0, 0.1, -1.5, math.inf, -math.inf, math.nan, 1.7976931348623157e308, 5e-324, 1e300]
FLOATS = [0.0, -0.0, 0.10000000149011612, math.inf, -math.inf, math.nan, 3.4028234663852886e38, 1e-45]
BYTES = [b"", b"\x00", bytes(range(256)), b"\xff" * 8, b"a", b"ab", b"abc"]
DAYS = [0, -1, 19_782, -719_162, 2_932_896, -622_191_234, 2**31 - 1, -(2**31)]
MICROS = [0, -1, 9_223_372_036_825_200_000, -9_223_372_036_832_400_000, 253_402_300_799_999_999]
MILLIS = [0, -1, 1_478_267_490_123, -62_135_596_800_000, 253_402_300_799_999, (2**63 - 1) // 1000]


def decimal(precision: int, scale: int) -> dict[str, Any]:
    """Make a reader's decimal."""
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def unscaled(number: int) -> bytes:
    """Write an integer as Java's BigInteger does: two's complement, as short as can be."""
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


@attrs.frozen
class Kind:
    """A type of the reader, its Avro without a logical type, and physical values."""

    name: str
    reader: Any
    written: Any
    values: Sequence[Any]


def kinds() -> list[Kind]:
    """Give every type of the readers that are compiled, with its extremes."""
    numbers = [unscaled(n) for n in (0, 1, -1, 10**38 - 1, 1 - 10**38, 255, -256)]
    point = record("Point", x="double", wkb="bytes", srid="int")
    points = [{"x": -0.0, "wkb": b"\x01", "srid": None}, {"x": None, "wkb": None, "srid": 5}, None]
    nulls = ["null", "int"]
    return [
        Kind("boolean", "boolean", "boolean", [True, False]),
        Kind("int", "int", "int", [n for n in LONGS if -(2**31) <= n < 2**31]),
        Kind("long", "long", "long", LONGS),
        Kind("float", "float", "float", FLOATS),
        Kind("double", "double", "double", DOUBLES),
        Kind("string", "string", "string", TEXTS),
        Kind("bytes", "bytes", "bytes", BYTES),
        Kind("date", LOGICAL_DATE, "int", DAYS),
        Kind("millis", LOGICAL_MILLIS, "long", MILLIS),
        Kind("micros", LOGICAL_MICROS, "long", MICROS),
        *(Kind(f"decimal-{s}", decimal(38, s), "bytes", numbers) for s in (0, 10, 38)),
        Kind("ints", {"type": "array", "items": nulls}, {"type": "array", "items": nulls}, [[], [1, None]]),
        Kind(
            "decimals",
            {"type": "array", "items": ["null", decimal(5, 2)]},
            {"type": "array", "items": ["null", "bytes"]},
            [[unscaled(12_345), None], []],
        ),
        Kind(
            "map",
            {"type": "map", "values": nulls},
            {"type": "map", "values": nulls},
            [{}, {"a": 1}, {"": None}],
        ),
        Kind("struct", point, point, points),
        Kind("structs", *2 * [{"type": "array", "items": ["null", point]}], [points, []]),
    ]


def as_json(value: Any) -> Any:
    """Give a physical value the form in which JsonConverter writes it."""
    match value:
        case bytes():
            return b64encode(value).decode()
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case list():
            return [as_json(item) for item in value]
        case dict():
            return {name: as_json(item) for name, item in value.items()}
        case _:
            return value


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_every_type_is_lifted_to_the_value_of_avro(spark: SparkSession, kind: Kind) -> None:
    """At its extremes; null too; written with escapes and without."""
    wire = record("W", c=kind.written)
    rows = []
    for value in [*kind.values, None]:
        buffer = BytesIO()
        fastavro.schemaless_writer(buffer, fastavro.parse_schema(wire), {"c": value})
        texts = [json.dumps({"C": as_json(value)}, ensure_ascii=plain) for plain in (True, False)]
        rows += [(bytearray(buffer.getvalue()), text) for text in texts]
    reader = record("R", c=kind.reader)
    options = {"mode": "FAILFAST", "avroSchema": json.dumps(reader), "datetimeRebaseMode": "CORRECTED"}
    frame = spark.createDataFrame(rows, "payload binary, text string")
    decoded = frame.select("text", from_avro("payload", json.dumps(wire), options).alias("from_avro"))
    result = parsed(decoded.selectExpr("text", "text as given", "from_avro"), reader, {"": {"C": "c"}})
    outcome = dict(result.dtypes)
    assert outcome["value"] == outcome["from_avro"]
    wrong = result.where("not (whole and string(value) = string(from_avro))")
    assert wrong.selectExpr("given", "whole", "string(value)", "string(from_avro)").collect() == []


# --- what is whole, and what is not ----------------------------------------------------------------

FIELDS = {
    "i": "int", "l": "long", "f": "float", "d": "double", "s": "string", "y": "bytes", "bo": "boolean",
    "dec": decimal(5, 2), "ms": LOGICAL_MILLIS, "arr": {"type": "array", "items": ["null", "int"]},
    "decs": {"type": "array", "items": ["null", decimal(5, 2)]},
    "m": {"type": "map", "values": ["null", "int"]},
    "st": record("St", x="double", X="string"), "e": {"type": "enum", "name": "E", "symbols": ["a", "it's"]},
    "fx": {"type": "fixed", "name": "F", "size": 2},
}  # fmt: skip
READER = record(
    "Event",
    after=record("Row", **{f"c{i}": kind for i, kind in enumerate(FIELDS.values())}, c99="int"),
    source=record("Source", snapshot="string", event_serial_no="long", sync="boolean"),
    op="string",
)
NAMES = {"after": {name: f"c{i}" for i, name in enumerate(FIELDS)}}


def row(**fields: Any) -> str:
    """Make an event's text."""
    return json.dumps({"after": fields, "op": "c"})


def source(**fields: Any) -> str:
    """Make the text of an event with a source block."""
    return json.dumps({"source": fields})


BROKEN = {
    "empty": "", "blank": " ", "rubbish": "{nope", "null": "null", "array": "[1]", "text": '"x"',
    "cut": row(i=1)[:-3], "single quotes": "{'after':{'i':1}}", "comment": '{"after":{"i":1/*c*/}}',
    "leading zero": '{"after":{"i":01}}', "raw control character": '{"after":{"s":"a\nb"}}',
    "bom": "\ufeff{}",
    "trailing text": row(i=1) + " x", "two objects": row(i=1) + row(i=2), "a list": row(i=1) + "," + row(i=2),
    "closed": row(i=1) + "]", "closed twice": row(i=1) + "]}",
    "a frame of its own": f'{row(i=1)}],"v":[{row(i=2)}', "another member": f'{row(i=1)}],"x":[1',
    "a flag of its own": f'{row(i=1)}],"infinite":true,"x":[1',
    "a whole frame": f'{row(i=1)}],"infinite":false}} x', "a word of other parsers": '{"after":{"f":INF}}',
    "text for int": row(i="1"), "empty text for int": row(i=""), "fraction for int": row(i=1.5),
    "boolean for int": row(i=True), "int for boolean": row(bo=1), "int too large": row(i=2**31),
    "long too large": row(l=2**63), "object for int": row(i={}), "text for double": row(d="1.5"),
    "double too large": '{"after":{"d":1e400}}', "float too large": '{"after":{"f":1e39}}',
    "base64 of no length": row(y="AQI"), "base64 padded too early": row(y="A*=="),
    "base64 of urls": row(y="_-8="),
    "number for bytes": row(y=5), "decimal of no bytes": row(dec=""),
    "decimal too large": row(dec=b64encode(unscaled(100_000)).decode()),
    "decimal too large in an array": row(decs=[b64encode(unscaled(100_000)).decode()]),
    "milliseconds too large": row(ms=2**63 - 1), "text in an array": row(arr=["x"]),
    "array in an array": row(arr=[[1]]),
    "text in a map": row(m={"a": "x"}), "text in a struct": row(st={"x": "q"}),
    "text for a struct": row(st="q"),
    "unknown symbol": row(e="b"), "too few bytes": row(fx="AQ=="), "struct for a row": '{"after":[1]}',
    "half a pair": '{"after":{"s":"\\ud83e"}}', "the other half": '{"after":{"s":"x\\uDD86"}}',
    "half behind a pair": '{"after":{"s":"\\ud83e\\udd86\\udd86"}}',
    "half before a pair": '{"after":{"s":"\\ud83e\\ud83e\\udd86"}}',
    "serial number of letters": source(event_serial_no="x"), "of 64 bits": source(event_serial_no=2**63),
    "of a fraction": source(event_serial_no=1.5), "list for a source": '{"source":[1]}',
}  # fmt: skip

WHOLE: dict[str, tuple[str, dict[str, Any]]] = {
    "white space": (' \n{"after":{"i":1}}\t', {"i": 1}),
    "unknown fields": (row(zz={"q": [1, {}]}, i=1), {"i": 1}),
    "names in another case": ('{"After":{},"after":{"I":9,"i":1,"S":"x"}}', {"i": 1}),
    "struct of names that differ in case": (row(st={"X": "y", "x": 2.5}), {"st": Row(x=2.5, X="y")}),
    "a column called as a reader's field": (row(c99=5, c0=6, i=1), {"i": 1}),
    "pairs, escaped": ('{"after":{"s":"\\ud83e\\udd86 \\u0000"}}', {"s": "🦆 \x00"}),
    "a backslash before half a pair": ('{"after":{"s":"\\\\ud83e"}}', {"s": "\\ud83e"}),
    "an object's text": (row(s='{"a": {"b": 1.10}}'), {"s": '{"a": {"b": 1.10}}'}),
    "an int for a double": (row(d=5), {"d": 5.0}),
    "a symbol": (row(e="it's"), {"e": "it's"}),
    "fixed": (row(fx="AQI="), {"fx": bytearray(b"\x01\x02")}),
    "a megabyte and more": (row(s="x" * 21_000_000), {"s": "x" * 21_000_000}),
}


@pytest.fixture(scope="module", params=["true", "false"], ids=["partial results", "no partial results"])
def outcomes(request: pytest.FixtureRequest, spark: SparkSession) -> dict[str, Row]:
    """Parse every text once, under either of Spark's ways with a value that it cannot parse."""
    texts = {**BROKEN, **{name: text for name, (text, _) in WHOLE.items()}}
    rows = [*texts.items(), ("no text", None)]
    frame = spark.createDataFrame(rows, "name string, text string")
    before = spark.conf.get("spark.sql.json.enablePartialResults")
    spark.conf.set("spark.sql.json.enablePartialResults", request.param)
    try:
        return {row.name: row for row in parsed(frame, READER, NAMES).collect()}
    finally:
        spark.conf.set("spark.sql.json.enablePartialResults", str(before))


@pytest.mark.parametrize("name", [*BROKEN, "no text"])
def test_json_of_another_shape_is_not_whole(outcomes: dict[str, Row], name: str) -> None:
    """One wrong value is enough, however deep it lies."""
    assert outcomes[name].whole is False


@pytest.mark.parametrize("name", WHOLE)
def test_json_of_the_shape_is_whole(outcomes: dict[str, Row], name: str) -> None:
    """Fields that the text lacks are null."""
    result = outcomes[name]
    assert result.whole is True
    row = result.value.after.asDict()
    assert {column: row[f"c{i}"] for i, column in enumerate(FIELDS)} == {
        **dict.fromkeys(FIELDS),
        **WHOLE[name][1],
    }
    assert row["c99"] is None


def test_bytes_that_are_not_utf8_are_not_whole(spark: SparkSession) -> None:
    """Java would read a replacement character instead of them; a real one stays."""
    texts = [
        bytearray(b'{"op":"a\xff"}'),
        bytearray(b'{"op":"\xed\xa0\x80"}'),
        bytearray(b'{"op":"\xef\xbf\xbd"}'),
    ]
    frame = spark.createDataFrame(list(enumerate(texts)), "n int, b binary").selectExpr(
        "n", "string(b) as text"
    )
    rows = parsed(frame, READER, NAMES).orderBy("n").collect()
    assert [row.whole for row in rows] == [False, False, True]
    assert rows[2].value.op == "\ufffd"


def test_a_source_block_may_say_numbers_and_booleans_as_text(spark: SparkSession) -> None:
    """And the other way round: the documents' samples do."""
    cases = {
        source(snapshot=False, event_serial_no="1"): ("false", 1, None),
        source(snapshot="last", event_serial_no=2**63 - 1, sync=True): ("last", 2**63 - 1, True),
        source(snapshot=None, event_serial_no=None, sync="false"): (None, None, False),
    }
    frame = spark.createDataFrame([(text, text) for text in cases], "given string, text string")
    rows = parsed(frame, READER, NAMES).collect()
    assert all(row.whole for row in rows)
    assert {row.given: tuple(row.value.source) for row in rows} == cases


def test_names_with_quotes_are_names(spark: SparkSession) -> None:
    """A column may be called anything."""
    columns = ["it's", "a`b", 'say "x"', "back\\slash", "select", "1 a.b", "名"]
    reader = record("R", **{f"c{i}": "int" for i, _ in enumerate(columns)})
    text = json.dumps({name: i for i, name in enumerate(columns)})
    names = {"": {name: f"c{i}" for i, name in enumerate(columns)}}
    (result,) = parsed(spark.createDataFrame([(text,)], "text string"), reader, names).collect()
    assert result.whole
    assert tuple(result.value) == tuple(range(len(columns)))


def test_a_payload_is_parsed_once(spark: SparkSession) -> None:
    """Spark keeps the first projection apart, since the next ones use it many times."""
    frame = spark.createDataFrame([(row(i=1),)], "text string")
    plan = parsed(frame, READER, NAMES)._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001  Spark's own
    assert plan.count("from_json(") == 1


def test_a_reader_without_a_json_form_is_named() -> None:
    """A logical type that is not known would be lifted wrongly."""
    with pytest.raises(SchemaError, match=r"\$\.after\.t"):
        parse_sql(sql("text"), record("E", after=record("R", t={"type": "long", "logicalType": "x"})), {})
