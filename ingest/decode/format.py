"""The forms of bytes, as values: how the writer of a record is told, and how the record is decoded."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import attrs
from pyspark.sql import DataFrame

from ingest.compile.payload import Payload, WriterSchema
from ingest.compile.table import CompiledTable
from ingest.decode import confluent, embedded, wire
from ingest.decode.rejects import Check


@attrs.frozen
class Format:
    """One form of bytes; the functions take a side and the name of a binary column."""

    writer: Callable[[Payload, str], str]
    """SQL for the number of the writer; -1 for an unknown one, null where there are no bytes."""
    decode: Callable[[DataFrame, Payload, str, str], DataFrame]
    """A frame with the decoded record in one more column: a struct whose `value` is the side's reader's."""
    is_whole: Callable[[str], str]
    """SQL that is true where all of a record was read, over the name of the decoded struct."""
    written_by: Callable[[WriterSchema, str], str]
    """SQL that is true for the bytes that one schema wrote."""
    label: Callable[[str], str]
    """SQL for what a reason says of the writer, behind the column's name."""
    checks: Callable[[Payload, str], list[Check]]
    """What can be wrong with bytes before they are decoded; all implied by `is_whole`."""


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
