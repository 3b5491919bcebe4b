"""Avro payloads, each decoded with the schema that wrote it, in one pass, by a function in the JVM."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.compile.payload import Payload
from ingest.spark.java import java_column, jvm_of
from ingest.sql.template import Sql, ident, sql

MOST_DECODED: Final = 256 << 20
"""The memory in bytes that the values of one record may take, unless the table file says more."""


def decode_payload(
    messages: DataFrame, payload: Payload, column: str, name: str, most_bytes: int = MOST_DECODED
) -> DataFrame:
    """Add the decoded record of a binary column, as struct `value`, `whole`.

    The struct is null if the header names an unknown schema.  `value` is null if the bytes are not exactly
    one record of their schema, see `is_whole`.  `whole` is null if the decoded values take more than
    `most_bytes`.
    """
    writers = {writer.schema_id: writer.wire for writer in payload.writers if writer.wire}
    octets = java_column(F.col(column))
    decode = jvm_of(messages.sparkSession).io.hudicdc.ingest.avro.DecodeAvro.column
    decoded = decode(octets, payload.reader, list(writers), list(writers.values()), most_bytes)
    return messages.withColumn(name, Column(decoded))


def is_whole(decoded: str) -> Sql:
    """Return a condition that is true if a payload was read exactly to its last byte."""
    return sql("coalesce({decoded}.whole, false)", decoded=ident(decoded))
