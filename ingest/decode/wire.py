"""The bytes around an Avro record: magic byte, schema id, payload.

Confluent's framing: a byte 0, four bytes of schema id, the Avro binary of one record.
https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format
"""

from ingest.compile.payload import Payload, WriterSchema
from ingest.decode.rejects import Check, Reason
from ingest.names import SchemaId

HEADER_BYTES = 5


def header_sql(column: str) -> str:
    """Return SQL for the header of a binary column."""
    return f"substring({column}, 1, {HEADER_BYTES})"


def header_literal(schema_id: SchemaId) -> str:
    """Return the header of a schema id as a SQL literal."""
    return f"X'00{schema_id:08X}'"


def written_by(written: WriterSchema, column: str) -> str:
    """Return SQL that is true for bytes that a schema wrote."""
    return f"{header_sql(column)} = {header_literal(written.schema_id)}"


def writer_sql(payload: Payload, column: str) -> str:
    """Return SQL for the number of the writer among a side's; -1 for another, null for no bytes at all."""
    branches = [f"when {header_literal(w.schema_id)} then {index}" for index, w in enumerate(payload.writers)]
    known = f"case {header_sql(column)} {' '.join(branches)} else -1 end" if branches else "-1"
    return f"if({column} is null, null, {known})"


def framing_checks(payload: Payload, column: str) -> list[Check]:
    """Return the checks of bytes that do not begin with the header of a known schema.

    Such bytes decode to nothing, so that the check of the decoded record implies all of these.
    """
    first = f"substring({column}, 1, 1)"
    literals = ", ".join(header_literal(writer.schema_id) for writer in payload.writers) or "null"
    size = f"length({column})"
    texts: list[tuple[str, Reason, str]] = [
        (f"{size} = 0", "unreadable", f"'{column}: empty payload'"),
        (f"{first} = X'01'", "unreadable", f"'{column}: a schema GUID (magic byte 1) is not supported yet'"),
        (
            f"{first} != X'00'",
            "unreadable",
            f"concat('{column}: magic byte 0x', hex({first}), ' is not 0x00')",
        ),
        (
            f"{size} < {HEADER_BYTES}",
            "unreadable",
            f"concat('{column}: ', {size}, ' bytes are too few for a schema id')",
        ),
        (
            f"coalesce({header_sql(column)} not in ({literals}), true)",
            "unknown-schema",
            f"concat('{column}: unknown schema id ', {written_id_sql(column)})",
        ),
    ]
    return [Check(condition, reason, error, implied=True) for condition, reason, error in texts]


def label_sql(column: str) -> str:
    """Return SQL for how a reason names the schema of a binary column."""
    return f"concat(', id ', {written_id_sql(column)})"


def written_id_sql(column: str) -> str:
    """Return SQL for the number behind the magic byte, as text."""
    return f"conv(hex(substring({column}, 2, 4)), 16, 10)"
