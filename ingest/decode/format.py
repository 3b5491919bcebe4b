"""The forms of bytes, as values: how to recognise the writer of a record, and how to decode the record."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import attrs
from pyspark.sql import DataFrame

from ingest.compile.payload import Payload, WriterSchema
from ingest.compile.table import CompiledTable
from ingest.decode import confluent, embedded, wire
from ingest.decode.rejects import Check
from ingest.sql.template import Sql


@attrs.frozen
class Format:
    """One form of bytes. The functions take keys or values, and the name of a binary column."""

    writer: Callable[[Payload, str], Sql]
    """The number of the writer, -1 for an unknown writer, and null for null bytes."""
    decode: Callable[[DataFrame, Payload, str, str, int], DataFrame]
    """The rows with the decoded record as another column, a struct with the reader's `value`.

    Arguments: rows, payload, name of the bytes, name of the new column, and the most memory of a record.
    """
    is_whole: Callable[[str], Sql]
    """A condition that is true if all of a record was read, over the name of the decoded struct."""
    written_by: Callable[[WriterSchema, str], Sql]
    """A condition that is true for the bytes that one schema wrote."""
    label: Callable[[str], Sql]
    """The writer, as a reason names it behind the column's name."""
    checks: Callable[[Payload, str], list[Check]]
    """The checks of bytes before they are decoded. `is_whole` implies all of them."""


AVRO: Final = Format(
    wire.writer_sql,
    confluent.decode_payload,
    confluent.is_whole,
    wire.written_by,
    wire.label_sql,
    wire.framing_checks,
)
JSON: Final = Format(
    embedded.writer_sql,
    embedded.decode_payload,
    embedded.is_whole,
    embedded.written_by,
    embedded.label_sql,
    embedded.framing_checks,
)

FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {"avro": AVRO, "debezium-json": JSON, "cdl-json": JSON}
)
"""Every form by its name in table files."""


def format_of(compiled: CompiledTable) -> Format:
    """Return the form that a table's topic is written in."""
    return FORMATS[compiled.table.format]
