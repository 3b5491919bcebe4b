"""Avro payloads, each decoded with the schema that wrote it, in one pass, by our own function on the JVM."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.compile.payload import Payload
from ingest.spark.java import java_column, jvm_of
from ingest.sql.template import Sql, ident, sql

MOST_DECODED: Final = 256 << 20
"""The memory that the values of one record may take, where no table file says more."""


def decode_payload(
    messages: DataFrame, payload: Payload, column: str, name: str, most_bytes: int = MOST_DECODED
) -> DataFrame:
    """Add the decoded record of a binary column, as struct `value`, `whole`.

    Null where the header names an unknown schema; `value` is null where the bytes are not exactly one record
    of their schema, see `is_whole`; `whole` is null where the decoded values take more than `most_bytes`.
    """
    writers = {writer.schema_id: writer.wire for writer in payload.writers if writer.wire}
    octets = java_column(F.col(column))
    decode = jvm_of(messages.sparkSession).io.hudicdc.ingest.DecodeAvro.column
    decoded = decode(octets, payload.reader, list(writers), list(writers.values()), most_bytes)
    return messages.withColumn(name, Column(decoded))


def is_whole(decoded: str) -> Sql:
    """Return a condition that is true where a payload was read to its last byte and not further."""
    return sql("coalesce({decoded}.whole, false)", decoded=ident(decoded))
