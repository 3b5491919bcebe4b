"""JSON messages, each parsed by the schema that wrote it: the one in the message itself, or a declared one.

JsonConverter writes `{"schema":…,"payload":…}`: what stands before the payload, the *frame*, tells the schema
as a Confluent header does; without schemas it writes the payload alone, and the one writer has no frame.
"""

import json
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.payload import CompiledWriter, Payload, WriterSchema
from ingest.decode.jsonvalue import Parsed, parse_sql
from ingest.decode.rejects import Check
from ingest.typemap.sparktype import literal

BEFORE_PAYLOAD: Final = ',"payload":'
_BEFORE_SCHEMA: Final = '{"schema":'
_WITH_SCHEMA: Final = f"{_BEFORE_SCHEMA}{{"
_NOTHING: Final = ("null", '{"schema":null,"payload":null}')
"""What a converter may write for no value at all."""


def written_by(written: WriterSchema, column: str) -> str:
    """Return SQL that is true for messages that a schema wrote."""
    return f"startswith({text_sql(column)}, {literal(written.frame.decode())})"


def text_sql(column: str) -> str:
    """Return SQL for a message's text, in the order and spacing in which JsonConverter writes its parts."""
    text = f"cast({column} as string)"
    parts = [
        literal(_BEFORE_SCHEMA),
        f"get_json_object({text}, '$.schema')",
        literal(BEFORE_PAYLOAD),
        # A row without its schema may have a column of that name.
        f"coalesce(get_json_object({text}, '$.payload'), if(contains({text}, '\"payload\"'), 'null', null))",
        "'}'",
    ]
    return f"if({_is_usual(text)}, {text}, coalesce(concat({', '.join(parts)}), {text}))"


def _is_usual(text: str) -> str:
    """Return SQL that is true for a message spaced as JsonConverter does; see `ingest.run.messages`."""
    before = f"substring_index({text}, {literal(BEFORE_PAYLOAD)}, 1)"
    return (
        f"startswith({text}, {literal(_WITH_SCHEMA)}) "
        f"and contains({text}, {literal(BEFORE_PAYLOAD)}) and endswith({before}, '}}')"
    )


def frame_sql(column: str) -> str:
    """Return SQL for what stands before the payload; null where a message holds no schema."""
    text = text_sql(column)
    frame = f"concat(substring_index({text}, '{BEFORE_PAYLOAD}', 1), '{BEFORE_PAYLOAD}')"
    return f"if({_is_usual(text)}, {frame}, null)"


def writer_sql(payload: Payload, column: str) -> str:
    """Return SQL for the number of the writer among a side's; -1 for another, null for no value."""
    text = text_sql(column)
    branches = [f"when {_wrote(writer, text)} then {index}" for index, writer in enumerate(payload.writers)]
    nothing = ", ".join(map(literal, _NOTHING))
    known = f"case {' '.join(branches)} else -1 end" if branches else "-1"
    return f"if({column} is null or cast({column} as string) in ({nothing}), null, {known})"


def _wrote(writer: CompiledWriter, text: str) -> str:
    """Tell by the text around the payload: the brace behind it is cut off unseen."""
    around = f"(startswith({text}, {literal(writer.frame.decode())}) and endswith({text}, '}}'))"
    return around if writer.frame else "true"


def decode_payload(messages: DataFrame, payload: Payload, column: str, name: str) -> DataFrame:
    """Add the decoded record of a binary column, as struct `value`, `whole`; null for an unknown writer.

    Each step is a projection of its own, so that Spark parses once.
    """
    writers = [(index, writer) for index, writer in enumerate(payload.writers) if writer.wire]
    parsed = {index: _parse(payload, writer, name, index) for index, writer in writers}
    numbered = messages.withColumns(
        {f"{name}_text": F.expr(text_sql(column)), f"{name}_writer": F.expr(writer_sql(payload, column))}
    )
    raw = numbered.withColumns(
        {f"{name}_raw{i}": F.expr(f"if({name}_writer = {i}, {one.raw}, null)") for i, one in parsed.items()}
    )
    valued = raw.withColumns({f"{name}_value{i}": F.expr(one.value) for i, one in parsed.items()})
    branches = [
        f"when {i} then named_struct('value', {name}_value{i}, 'whole', {one.whole})"
        for i, one in parsed.items()
    ]
    decoded = (
        f"case {name}_writer {' '.join(branches)} end" if branches else "cast(null as struct<value: int>)"
    )
    return valued.select(*messages.columns, F.expr(decoded).alias(name))


def _parse(payload: Payload, writer: CompiledWriter, name: str, index: int) -> Parsed:
    """Return how to parse what a writer wrote: the payload alone is cut out of the message."""
    reader = json.loads(payload.reader)
    text = f"{name}_text"
    body = _behind(writer.frame, text) if writer.frame else _bare(text)
    names = {image: _names(reader, payload, writer, image) for image in payload.images}
    return parse_sql(body, reader, names, raw=f"{name}_raw{index}", value=f"{name}_value{index}")


def _behind(frame: bytes, text: str) -> str:
    """Return SQL for what stands behind a frame, cut by bytes: to count characters costs twice as much."""
    size = len(frame)
    return f"cast(substring(cast({text} as binary), {size + 1}, octet_length({text}) - {size + 1}) as string)"


def _bare(text: str) -> str:
    """Return SQL for a payload whose schema is declared: one in the message, if any, is not looked at.

    A row may begin with a column called schema: then it has no payload.
    """
    held = f"startswith({text}, {literal(_BEFORE_SCHEMA)})"
    return f"if({held}, coalesce(get_json_object({text}, '$.payload'), {text}), {text})"


def _names(reader: dict[str, object], payload: Payload, writer: CompiledWriter, image: str) -> dict[str, str]:
    """Return the reader's fields by their names in JSON; what is no column has the same name there."""
    if image:
        held = {column_version.field for column_version in payload.column_versions}
        return {origin: field for origin, field in writer.names.items() if field in held}
    columns = {column_version.field for column_version in payload.column_versions}
    fields = [str(field["name"]) for field in reader["fields"]]  # type: ignore[attr-defined]
    return {**{field: field for field in fields if field not in columns}, **writer.names}


def is_whole(decoded: str) -> str:
    """Return SQL that is true where a payload was JSON of its schema's shape."""
    return f"coalesce({decoded}.whole, false)"


def label_sql(_: str) -> str:
    """Return SQL for how a reason names the schema of a message: it has no id."""
    return "''"


def framing_checks(payload: Payload, column: str) -> list[Check]:
    """Return the checks of messages that no known schema wrote."""
    unknown = f"coalesce({writer_sql(payload, column)}, -1) = -1"
    return [
        Check(f"length({column}) = 0", "unreadable", f"'{column}: empty payload'", implied=True),
        Check(
            f"get_json_object(cast({column} as string), '$') is null",
            "unreadable",
            f"'{column}: is no JSON'",
            implied=True,
        ),
        Check(
            unknown, "unknown-schema", f"'{column}: written with a schema that cannot be read'", implied=True
        ),
    ]
