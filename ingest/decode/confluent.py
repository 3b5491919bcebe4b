"""Avro payloads, each decoded with the schema that wrote it, in one pass, by our own function on the JVM."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.compile.payload import Payload
from ingest.java import java_column, jvm_of


def decode_payload(messages: DataFrame, payload: Payload, column: str, name: str) -> DataFrame:
    """Add the decoded record of a binary column, as struct `value`, `whole`.

    Null where the header names no schema of this side; `value` is null where the payload is not exactly one
    record of its schema, see `is_whole`.
    """
    writers = {writer.schema_id: writer.wire for writer in payload.writers if writer.wire}
    octets = java_column(F.col(column))
    decode = jvm_of(messages.sparkSession).io.hudicdc.ingest.DecodeAvro.column
    decoded = decode(octets, payload.reader, list(writers), list(writers.values()))
    return messages.withColumn(name, Column(decoded))


def is_whole(decoded: str) -> str:
    """Return SQL that is true where a payload was read to its last byte and not further."""
    return f"coalesce({decoded}.whole, false)"
