"""Avro payloads, each decoded with the schema that wrote it, in one pass."""

import json

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from ingest.compile.table import Side
from ingest.decode.wire import header_literal, header_sql, payload_sql

_SENTINEL = "4F4646534554214C"
"""Eight bytes put behind every payload: a decoder that then finds them consumed exactly the payload.

Avro's binary has no length of its own; without this, trailing bytes would be accepted.
"""

# The Gregorian calendar throughout: Debezium's days and milliseconds are proleptic.
_OPTIONS = {"mode": "PERMISSIVE", "datetimeRebaseMode": "CORRECTED"}


def decode_side(messages: DataFrame, side: Side, column: str, name: str) -> DataFrame:
    """Add the decoded record of a binary column, as struct `value`, `tail`.

    Null where the header names no schema of this side; a struct of nulls where the payload is not a record
    of its schema (that is what PERMISSIVE makes of it), see `is_whole`.
    """
    payload = F.expr(f"concat({payload_sql(column)}, X'{_SENTINEL}')")
    options = {**_OPTIONS, "avroSchema": _framed(side.reader)}
    decoded = F.when(F.expr("false"), from_avro(payload, _framed(side.reader), options))
    for writer in side.writers:
        if writer.wire:
            matches = F.expr(f"{header_sql(column)} = {header_literal(writer.schema_id)}")
            decoded = decoded.when(matches, from_avro(payload, _framed(writer.wire), options))
    return messages.withColumn(name, decoded)


def is_whole(decoded: str) -> str:
    """Return SQL that is true where a payload was read to its last byte and not further."""
    return f"coalesce({decoded}.tail = X'{_SENTINEL}', false)"


def _framed(record: str) -> str:
    tail = {"type": "fixed", "name": "Tail", "size": len(_SENTINEL) // 2}
    fields = [{"name": "value", "type": json.loads(record)}, {"name": "tail", "type": tail}]
    return json.dumps({"type": "record", "name": "Framed", "fields": fields})
