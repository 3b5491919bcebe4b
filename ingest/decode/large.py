"""Records that are too large, and are rejected without their values.

`ingest.kafka.read` replaces the value of a record beyond `[rejects] max_record_mb` by a mark, which no schema
reads.  Avro's decoder stops at a record if its values take too much memory.
"""

from typing import Final

from ingest.compile.table import CompiledTable
from ingest.decode.rejects import Check
from ingest.kafka.read import LARGE_MARK
from ingest.sql.template import Sql, binary, ident, literal, sql

DECODED: Final = 4
"""The limit of a record's decoded values, as a multiple of the largest record's bytes."""
_NO_MEMORY: Final = "memory"


def unread_value() -> Sql:
    """Return the mark that replaces a record for which the JVM runs out of memory."""
    return binary(LARGE_MARK + _NO_MEMORY.encode())


def most_decoded(compiled: CompiledTable) -> int:
    """Return the memory, in bytes, that the decoded values of one record may take."""
    return DECODED * compiled.table.rejects.max_record_bytes


def large_checks(compiled: CompiledTable) -> list[Check]:
    """Return the checks of records that are too large. The checks of decoded records imply them."""
    decoded = {"value": "event", "key": "keyed"} if compiled.table.format == "avro" else {}
    return [_marked(compiled), *(_decoded(compiled, side, column) for side, column in decoded.items())]


def _marked(compiled: CompiledTable) -> Check:
    """Return the check of a value that was replaced by its size, or by the mark for too little memory."""
    text = sql("decode(substring(value, {start}), 'UTF-8')", start=len(LARGE_MARK) + 1)
    error = sql(
        "if({text} = {no_memory}, {died}, concat('record: ', format_number({bytes}, 0), {limit}))",
        bytes=sql("cast({text} as bigint)", text=text),
        text=text,
        no_memory=literal(_NO_MEMORY),
        died=literal(
            "record: the JVM runs out of memory over this record alone. Raise [spark.conf] "
            f'"spark.driver.memory", then {_replay(compiled)}'
        ),
        limit=literal(f" bytes; {_limit(compiled)}"),
    )
    is_marked = sql("startswith(value, {mark})", mark=binary(LARGE_MARK))
    return Check(is_marked, "too-large", error, implied=True)


def _decoded(compiled: CompiledTable, side: str, column: str) -> Check:
    """Return the check of a payload that the decoder did not finish."""
    given_up = sql("{c} is not null and {c}.whole is null", c=ident(column))
    text = f"{side}: decoded, it takes more than {DECODED} times the memory of the largest record; "
    return Check(given_up, "too-large", literal(text + _limit(compiled)), implied=True)


def _limit(compiled: CompiledTable) -> str:
    limit = f"allowed: [rejects] max_record_mb = {compiled.table.rejects.max_record_mb}"
    return f"{limit}. If it is a change of the table, raise the limit, then {_replay(compiled)}"


def _replay(compiled: CompiledTable) -> str:
    return f"`ingest rejects replay {compiled.table.name}`"
