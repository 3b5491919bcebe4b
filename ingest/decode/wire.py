"""The bytes around an Avro record: magic byte, schema id, payload.

Confluent's framing: a byte 0, four bytes of schema id, the Avro binary of one record.
https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format
"""

from typing import Final

from ingest.compile.payload import Payload, WriterSchema
from ingest.decode.rejects import Cause, Check, implied_checks
from ingest.names import SchemaId
from ingest.sql.template import Sql, binary, ident, join, literal, sql

HEADER_BYTES = 5
TODO: Final = 'name the producers\' framings in the table file, such as framings = ["confluent-guid"]'
"""What to do about messages of a framing that the table does not expect."""


def header_sql(column: str) -> Sql:
    """Return the header of a binary column."""
    return sql("substring({c}, 1, {bytes})", c=ident(column), bytes=HEADER_BYTES)


def header_literal(schema_id: SchemaId) -> Sql:
    """Return the header of a schema id."""
    return binary(b"\0" + schema_id.to_bytes(HEADER_BYTES - 1, "big"))


def is_framed(column: str) -> Sql:
    """Return a condition that is true for bytes that begin with a header."""
    return sql("substring({c}, 1, 1) = X'00' and length({c}) >= {bytes}", c=ident(column), bytes=HEADER_BYTES)


def written_by(written: WriterSchema, column: str) -> Sql:
    """Return a condition that is true for the bytes that a schema wrote."""
    header = header_literal(written.schema_id)
    return sql("{header} = {written}", header=header_sql(column), written=header)


def writer_sql(payload: Payload, column: str) -> Sql:
    """Return the number of the writer in a payload, -1 for an unknown writer, and null for null bytes."""
    headers = (header_literal(writer.schema_id) for writer in payload.writers)
    branches = [sql("when {header} then {n}", header=header, n=n) for n, header in enumerate(headers)]
    if not branches:
        return sql("if({c} is null, null, -1)", c=ident(column))
    return sql(
        "if({c} is null, null, case {header} {branches} else -1 end)",
        c=ident(column),
        header=header_sql(column),
        branches=join(" ", branches),
    )


_CAUSES: Final[tuple[Cause, ...]] = (
    ("unreadable", sql("length({c}) = 0"), sql("': empty payload'")),
    (
        "unreadable",
        sql("substring({c}, 1, 1) = X'01'"),
        literal(f": a schema GUID (magic byte 1): {TODO}"),
    ),
    (
        "unreadable",
        sql("substring({c}, 1, 2) in (X'0300', X'0305')"),
        literal(f": AWS Glue's header (magic byte 3): {TODO}"),
    ),
    (
        "unreadable",
        sql("substring({c}, 1, 1) != X'00'"),
        sql("': magic byte 0x', hex(substring({c}, 1, 1)), ' is not 0x00'"),
    ),
    (
        "unreadable",
        sql("length({c}) < {bytes}", bytes=HEADER_BYTES),
        sql("': ', length({c}), ' bytes are too few for a schema id'"),
    ),
    (
        "unknown-schema",
        sql("{c} is not null and coalesce({header} not in ({headers}), true)"),
        sql("': unknown schema id ', {id}"),
    ),
)


def framing_checks(payload: Payload, column: str) -> list[Check]:
    """Return the checks of bytes that do not begin with the header of a known schema.

    Such bytes decode to null, so that the check of the decoded record implies all of these.
    """
    headers = [header_literal(writer.schema_id) for writer in payload.writers] or [sql("null")]
    parts = {"header": header_sql(column), "headers": join(", ", headers), "id": written_id_sql(column)}
    return implied_checks(column, _CAUSES, **parts)


def label_sql(column: str) -> Sql:
    """Return the schema id of a binary column, as a reason names it."""
    return sql("concat(', id ', {id})", id=written_id_sql(column))


def written_id_sql(column: str) -> Sql:
    """Return the number behind the magic byte, as text."""
    return sql("conv(hex(substring({c}, 2, 4)), 16, 10)", c=ident(column))
