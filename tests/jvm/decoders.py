"""Two decoders of Confluent messages: ours, and Spark's `from_avro` as the referee."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from ingest.compile.payload import CompiledWriter, Payload
from ingest.decode.confluent import decode_payload, is_whole
from ingest.names import SchemaId

Json = Any
Outcome = tuple[bool, Json]
"""Whether the message was read, and its record as JSON."""

SENTINEL = "4F4646534554214C"


def payload(reader: Json, writers: Mapping[int, Json]) -> Payload:
    """Make a side of a reader and of writers by their ids."""
    wires = tuple(
        CompiledWriter(SchemaId(n), str(n), "data", json.dumps(wire)) for n, wire in writers.items()
    )
    return Payload(wires, (), json.dumps(reader))


def record(fields: Mapping[str, Json], name: str = "R") -> Json:
    """Make a record's schema."""
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()]}


def reader_of(fields: Mapping[str, Json], name: str = "R") -> Json:
    """Make a record to read with: every field nullable, absent ones null."""
    built = [{"name": n, "type": ["null", t], "default": None} for n, t in fields.items()]
    return {"type": "record", "name": name, "fields": built}


def payloads(spark: SparkSession, messages: Sequence[bytes | None]) -> DataFrame:
    """Put messages into one partition of a frame, by number."""
    rows = [(n, None if message is None else bytearray(message)) for n, message in enumerate(messages)]
    return spark.createDataFrame(rows, "n int, message binary").coalesce(1)


def by_us(spark: SparkSession, payload: Payload, messages: Sequence[bytes | None]) -> list[Outcome]:
    """Decode with our decoder."""
    return _outcomes(decode_payload(payloads(spark, messages), payload, "message", "d"), is_whole("d"))


def by_spark(spark: SparkSession, payload: Payload, messages: Sequence[bytes | None]) -> list[Outcome]:
    """Decode with `from_avro`, which has to find bytes of ours right behind the record."""
    options = {"mode": "PERMISSIVE", "datetimeRebaseMode": "CORRECTED", "avroSchema": _framed(payload.reader)}
    behind = F.expr(f"concat(substring(message, 6), X'{SENTINEL}')")
    decoded = F.when(F.expr("false"), from_avro(behind, _framed(payload.reader), options))
    for writer in payload.writers:
        matches = F.expr(f"substring(message, 1, 5) = X'00{writer.schema_id:08X}'")
        decoded = decoded.when(matches, from_avro(behind, _framed(writer.wire), options))
    whole = f"coalesce(d.tail = X'{SENTINEL}', false)"
    return _outcomes(payloads(spark, messages).withColumn("d", decoded), whole)


def _framed(inner: str) -> str:
    tail = {"type": "fixed", "name": "Tail", "size": 8}
    fields = [{"name": "value", "type": json.loads(inner)}, {"name": "tail", "type": tail}]
    return json.dumps({"type": "record", "name": "Framed", "fields": fields})


def _outcomes(decoded: DataFrame, whole: str) -> list[Outcome]:
    text = "to_json(d.value, map('ignoreNullFields', 'false'))"
    rows = decoded.selectExpr("n", f"{whole} as whole", f"if({whole}, {text}, null) as record").collect()
    return [
        (row.whole, None if row.record is None else json.loads(row.record, parse_float=str))
        for row in sorted(rows)
    ]
