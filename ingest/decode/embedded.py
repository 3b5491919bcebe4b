"""JSON messages, each parsed by the schema that wrote it: embedded in the message, or declared.

JsonConverter writes `{"schema":…,"payload":…}`.  The text before the payload, the *frame*, identifies the
schema as a Confluent header does.  Without schemas it writes only the payload, and its one writer has no
frame.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame

from ingest import avro
from ingest.compile.payload import CompiledWriter, Payload, WriterSchema
from ingest.decode.jsonvalue import Parsed, parse_sql
from ingest.decode.rejects import Cause, Check, implied_checks
from ingest.sql.template import Sql, ident, join, literal, sql

BEFORE_PAYLOAD: Final = ',"payload":'
_BEFORE_SCHEMA: Final = '{"schema":'
_WITH_SCHEMA: Final = f"{_BEFORE_SCHEMA}{{"
_END: Final = literal("}")
_NULLS: Final = join(", ", map(literal, ("null", '{"schema":null,"payload":null}')))
"""The texts that a converter may write for null."""


def written_by(written: WriterSchema, column: str) -> Sql:
    """Return a condition that is true for messages that a schema wrote."""
    return sql("startswith({text}, {frame})", text=text_sql(column), frame=literal(written.frame.decode()))


def text_sql(column: str) -> Sql:
    """Return a message's text, in the order and spacing in which JsonConverter writes its parts."""
    text = sql("cast({c} as string)", c=ident(column))
    # A row without its schema may have a column called payload.
    payload = sql(
        "coalesce(ingest_json_member({text}, 'payload'), if(contains({text}, {name}), 'null', null))",
        text=text,
        name=literal('"payload"'),
    )
    return sql(
        "if({usual} or not ingest_is_json({text}), {text}, coalesce(concat("
        "{before_schema}, get_json_object({text}, '$.schema'), {before_payload}, {payload}, {end}), {text}))",
        usual=_is_usual(text),
        text=text,
        before_schema=literal(_BEFORE_SCHEMA),
        before_payload=literal(BEFORE_PAYLOAD),
        payload=payload,
        end=_END,
    )


def _is_usual(text: Sql) -> Sql:
    """Return a condition that is true for a message spaced as JsonConverter does."""
    return sql(
        "startswith({text}, {with_schema}) and contains({text}, {before_payload}) "
        "and endswith(substring_index({text}, {before_payload}, 1), {end})",
        text=text,
        with_schema=literal(_WITH_SCHEMA),
        before_payload=literal(BEFORE_PAYLOAD),
        end=_END,
    )


def frame_sql(column: str) -> Sql:
    """Return the text before the payload, or null if a message holds no schema."""
    text = text_sql(column)
    return sql(
        "if({usual}, concat(substring_index({text}, {before_payload}, 1), {before_payload}), null)",
        usual=_is_usual(text),
        text=text,
        before_payload=literal(BEFORE_PAYLOAD),
    )


def writer_sql(payload: Payload, column: str) -> Sql:
    """Return the number of the writer in a payload, -1 for an unknown writer, and null for null."""
    writer = _by_text(payload, column) if len(payload.writers) <= _FEW else _by_digest(payload, column)
    return sql(
        "if({c} is null or cast({c} as string) in ({nulls}), null, {writer})",
        c=ident(column),
        nulls=_NULLS,
        writer=writer,
    )


def _by_text(payload: Payload, column: str) -> Sql:
    text = text_sql(column)
    branches = [
        sql("when {wrote} then {n}", wrote=_wrote(writer, text), n=index)
        for index, writer in enumerate(payload.writers)
    ]
    return sql("case {branches} else -1 end", branches=join(" ", branches)) if branches else sql("-1")


def _by_digest(payload: Payload, column: str) -> Sql:
    """Look up a frame by its digest. With its text in each branch, Spark plans each writer for a second."""
    digests = (literal(hashlib.md5(writer.frame).hexdigest()) for writer in payload.writers)  # noqa: S324
    return sql(
        "if(endswith({text}, {end}), coalesce(cast("
        "array_position(array({digests}), md5(cast({frame} as binary))) as int), 0) - 1, -1)",
        text=text_sql(column),
        end=_END,
        digests=join(", ", digests),
        frame=frame_sql(column),
    )


_FEW: Final = 4
"""The most writers that are recognised by their text, which is faster to run."""


def _wrote(writer: CompiledWriter, text: Sql) -> Sql:
    """Compare the text around the payload. The closing brace is cut off without a look."""
    if not writer.frame:
        return sql("true")
    frame = literal(writer.frame.decode())
    return sql("(startswith({text}, {frame}) and endswith({text}, {end}))", text=text, frame=frame, end=_END)


def decode_payload(messages: DataFrame, payload: Payload, column: str, name: str, _: int) -> DataFrame:
    """Add the decoded record of a binary column, as struct `value`, `whole`, or null for an unknown writer.

    Each step is a projection, so that Spark parses once.  Writers that differ in nothing that decoding needs,
    such as documentation, share one parser.
    """
    alike = _alike(payload)
    parsed = [_parse(payload, writers, name, group) for group, writers in enumerate(alike)]
    numbered = _with(
        messages, text_sql(column).alias(f"{name}_text"), writer_sql(payload, column).alias(f"{name}_writer")
    )
    grouped = _with(numbered, _group(alike, ident(f"{name}_writer")).alias(f"{name}_group"))
    group = ident(f"{name}_group")
    raw = _with(
        grouped,
        *(
            sql("if({group} = {n}, {raw}, null)", group=group, n=n, raw=each.raw).alias(f"{name}_raw{n}")
            for n, each in enumerate(parsed)
        ),
    )
    valued = _with(raw, *(each.value.alias(f"{name}_value{n}") for n, each in enumerate(parsed)))
    return valued.selectExpr(
        *(str(ident(kept_column)) for kept_column in messages.columns),
        str(_decoded(parsed, name).alias(name)),
    )


Writers = Mapping[int, CompiledWriter]
"""Writers by their numbers."""


def _alike(payload: Payload) -> list[Writers]:
    """Return the writers that decoding needs, grouped by parser."""
    alike: dict[tuple[object, ...], dict[int, CompiledWriter]] = {}
    for number, writer in enumerate(payload.writers):
        if writer.wire:
            scales = writer.record and json.dumps(find_scales(writer.record))
            parser = (writer.wire, tuple(writer.names.items()), scales, bool(writer.frame))
            alike.setdefault(parser, {})[number] = writer
    return list(alike.values())


def _group(alike: Sequence[Writers], writer: Sql) -> Sql:
    """Return the number of a writer's group, or null without a group."""
    groups = {number: group for group, writers in enumerate(alike) for number in writers}
    numbers = (
        sql("{n}", n=groups[n]) if n in groups else sql("null") for n in range(max(groups, default=0) + 1)
    )
    return sql("cast(get(array({numbers}), {writer}) as int)", numbers=join(", ", numbers), writer=writer)


def _with(messages: DataFrame, *columns: Sql) -> DataFrame:
    return messages.selectExpr("*", *map(str, columns))


def _decoded(parsed: Sequence[Parsed], name: str) -> Sql:
    """Return the struct of the group that wrote the message."""
    if not parsed:
        return sql("cast(null as struct<value: int>)")
    branches = (
        sql(
            "when {n} then named_struct('value', {value}, 'whole', {whole})",
            n=n,
            value=ident(f"{name}_value{n}"),
            whole=each.whole,
        )
        for n, each in enumerate(parsed)
    )
    return sql("case {group} {branches} end", group=ident(f"{name}_group"), branches=join(" ", branches))


def _parse(payload: Payload, writers: Writers, name: str, group: int) -> Parsed:
    """Return how to parse the messages of a group. Only the payload is cut out of the message."""
    reader = json.loads(payload.reader)
    text, writer = ident(f"{name}_text"), next(iter(writers.values()))
    body = _behind(_frame_length(writers, ident(f"{name}_writer")), text) if writer.frame else _bare(text)
    names = {image: _names(reader, payload, writer, image) for image in payload.images}
    columns = {"raw": f"{name}_raw{group}", "value": f"{name}_value{group}"}
    return parse_sql(body, reader, names, second=with_base64(body, payload, writer), **columns)


def _frame_length(writers: Writers, number: Sql) -> Sql:
    """Return the bytes of a writer's frame, over the writer's number."""
    lengths = {n: len(writer.frame) for n, writer in writers.items()}
    if len(set(lengths.values())) == 1:
        return sql("{length}", length=next(iter(lengths.values())))
    known = (sql("{length}", length=lengths.get(n, 0)) for n in range(max(lengths) + 1))
    return sql("get(array({lengths}), {number})", lengths=join(", ", known), number=number)


def _behind(length: Sql, text: Sql) -> Sql:
    """Return the text after a frame, cut by bytes. Counting characters costs twice as much."""
    octets = sql("cast({text} as binary)", text=text)
    return sql(
        "cast(substring({octets}, {length} + 1, octet_length({text}) - {length} - 1) as string)",
        octets=octets,
        text=text,
        length=length,
    )


def _bare(text: Sql) -> Sql:
    """Return a payload with a declared schema. A schema in the message is ignored.

    A row may begin with a column called schema. Then it has no payload.
    """
    return sql(
        "if(startswith({text}, {before}) and ingest_is_json({text}), "
        "coalesce(ingest_json_member({text}, 'payload'), {text}), {text})",
        text=text,
        before=literal(_BEFORE_SCHEMA),
    )


def _names(reader: dict[str, Any], payload: Payload, writer: CompiledWriter, image: str) -> dict[str, str]:
    """Return the reader's fields by their names in JSON. A field that is not a column keeps its name."""
    columns = {column_version.field for column_version in payload.column_versions}
    if image:
        return {origin: field for origin, field in writer.names.items() if field in columns}
    fields = [str(field["name"]) for field in reader["fields"]]
    return {**{field: field for field in fields if field not in columns}, **writer.names}


def is_whole(decoded: str) -> Sql:
    """Return a condition that is true if a payload was JSON of its schema's shape."""
    return sql("coalesce({decoded}.whole, false)", decoded=ident(decoded))


def label_sql(_: str) -> Sql:
    """Return an empty text: the schema of a message has no id to name in a reason."""
    return literal("")


_CAUSES: Final[tuple[Cause, ...]] = (
    ("unreadable", sql("length({c}) = 0"), sql("': empty payload'")),
    ("unreadable", sql("not ingest_is_json(cast({c} as string))"), sql("': not JSON'")),
    (
        "unknown-schema",
        sql("{writer} = -1"),
        sql("': written with a schema that cannot be read'"),
    ),
)


def framing_checks(payload: Payload, column: str) -> list[Check]:
    """Return the checks of messages of unknown schemas."""
    return implied_checks(column, _CAUSES, writer=writer_sql(payload, column))


# --- decimals as numbers (`decimal.format=NUMERIC`, KIP-481) ---------------------------------------


Scales = int | dict[str, "Scales"] | list["Scales | None"]
"""A decimal's scale, the fields of a record, `[element]` of an array, or `[null, value]` of a map."""


def with_base64(body: Sql, payload: Payload, writer: CompiledWriter) -> Sql | None:
    """Return a writer's payload with decimals as base64, as JsonConverter writes them by default.

    Return None if the schema has no decimals.
    """
    scales = find_scales(writer.record) if writer.record else None
    if scales is None:
        return None
    by_image = {image: scales for image in payload.images if image}
    text = json.dumps(by_image or scales, separators=(",", ":"))
    return sql("ingest_numeric_decimals({body}, {scales})", body=body, scales=literal(text))


def find_scales(schema: avro.Schema) -> Scales | None:
    """Return the scales of all decimals in a schema, or None if it has no decimals."""
    match schema:
        case avro.Nullable(inner):
            return find_scales(inner)
        case avro.Record():
            fields = {field.name: find_scales(field.type) for field in schema.fields}
            return {name: scales for name, scales in fields.items() if scales is not None} or None
        case avro.Array(items):
            element = find_scales(items)
            return None if element is None else [element]
        case avro.MapOf(values):
            value = find_scales(values)
            return None if value is None else [None, value]
        case avro.Scalar("bytes", notes) if notes.logical == "decimal":
            return notes.scale
        case _:
            return None
