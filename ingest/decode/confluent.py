"""Avro payloads, each decoded with the schema that wrote it, in one pass, by our own function on the JVM."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.compile.payload import Payload
from ingest.java import java_column, jvm_of
from ingest.typemap.sql import Sql, ident, sql


def decode_payload(messages: DataFrame, payload: Payload, column: str, name: str) -> DataFrame:
    """Add the decoded record of a binary column, as struct `value`, `whole`.

    Null where the header names an unknown schema; `value` is null where the bytes are not exactly one record
    of their schema, see `is_whole`.
    """
    writers = {writer.schema_id: writer.wire for writer in payload.writers if writer.wire}
    octets = java_column(F.col(column))
    decode = jvm_of(messages.sparkSession).io.hudicdc.ingest.DecodeAvro.column
    decoded = decode(octets, payload.reader, list(writers), list(writers.values()))
    return messages.withColumn(name, Column(decoded))


def is_whole(decoded: str) -> Sql:
    """Return a condition that is true where a payload was read to its last byte and not further."""
    return sql("coalesce({decoded}.whole, false)", decoded=ident(decoded))
