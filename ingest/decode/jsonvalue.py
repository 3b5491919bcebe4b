"""JSON payloads, parsed to exactly the value that Avro's decoder gives for the same reader.

JsonConverter writes bytes and decimals as base64, dates and times as counts, NaN and the infinities as text
(kafka connect `json/JsonConverter.java`).  Spark's `from_json` reads physical values, of texts that
`ingest_is_json` has found to be JSON.  A frame around the payload adds a flag:

    {"v":[<payload>],"infinite":false}

`from_json` matches names exactly, and only access by name ignores case.  So fields with names that differ
only in case are parsed under other names.
"""

from typing import Any, Final

import attrs

from ingest.decode.jsonlift import Converter, Names
from ingest.sql.template import Sql, ident, join, literal, sql

_OPTIONS: Final = join(
    ", ",
    (
        literal(text)
        for option in {
            "mode": "PERMISSIVE",  # one bad payload must not fail the query
            "columnNameOfCorruptRecord": "bad",
            "allowSingleQuotes": "false",  # Spark's default accepts text that is not JSON
            "allowNonNumericNumbers": "true",  # else the text "NaN" is null
            "maxStringLen": f"{2**31 - 1}",  # Jackson's own limit is 20 million characters
        }.items()
        for text in option
    ),
)


@attrs.frozen
class Parsed:
    """How to parse a payload in three projections, so that Spark parses it once.

    `raw` is over the payload's text, and is the column to select first.  `value` is over that column: null,
    or the reader's struct.  `whole` is over both columns, and is true if the payload was valid JSON of the
    reader's shape.  Otherwise `value` is meaningless.
    """

    raw: Sql
    value: Sql
    whole: Sql


def parse_sql(
    text: Sql,
    reader: Any,
    names: Names,
    *,
    raw: str = "raw",
    value: str = "value",
    second: Sql | None = None,
) -> Parsed:
    """Return how to parse a payload's JSON text as a reader's record.

    `raw` and `value` name the columns of the first two projections.  `second` is the text to parse if the
    first is not of the reader's shape.  Unknown JSON fields are ignored, and absent fields are null.  If the
    reader has text, a number, a boolean or an object gives its JSON.  Raises `SchemaError` for a reader that
    has no JSON form.
    """
    raw_sql, value_sql = ident(raw), ident(value)
    conversion = Converter(names, raw_sql.field("infinite")).convert(reader, "")
    parsed, distinct = (_framed_type(each) for each in (conversion.parsed, conversion.distinct))
    from_json = _from_json(text, parsed)
    if second is not None:
        from_json = sql(
            "get(transform(array({first}), r -> if(r.bad is null, r, {second})), 0)",
            first=from_json,
            second=_from_json(second, parsed),
        )
    record = sql("get({raw}.v, 0)", raw=raw_sql)
    fault = conversion.fails(record, value_sql)
    return Parsed(
        raw=from_json if parsed == distinct else sql("cast({c} as {type})", c=from_json, type=distinct),
        value=conversion.convert(record),
        whole=sql(
            "coalesce({raw}.bad is null and {record} is not null and not ({fault}), false)",
            raw=raw_sql,
            record=record,
            fault=fault or sql("false"),
        ),
    )


def _from_json(text: Sql, parsed: Sql) -> Sql:
    return sql(
        "from_json({text}, {type}, map({options}))",
        text=_framed(text),
        type=literal(str(parsed)),
        options=_OPTIONS,
    )


def _framed_type(payload: Sql) -> Sql:
    return sql("struct<v: array<{type}>, infinite: boolean, bad: string>", type=payload)


def _framed(text: Sql) -> Sql:
    """Return a payload's text in its frame, or null for a text that is not JSON.

    Text that is not JSON could end the frame by itself.  The lambda evaluates the text once.
    """
    frame = sql(
        "if(ingest_is_json(t), "
        "concat({before}, t, {infinite}, string(contains(t, 'Infinity')), {end}), null)",
        before=literal('{"v":['),
        infinite=literal('],"infinite":'),
        end=literal("}"),
    )
    return sql("get(transform(array({text}), t -> {frame}), 0)", text=text, frame=frame)
