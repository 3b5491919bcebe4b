"""JSON payloads, parsed to exactly the value that Avro's decoder gives for the same reader.

JsonConverter writes bytes and decimals as base64, dates and times as counts, NaN and the infinities as text
(kafka connect `json/JsonConverter.java`).  Spark's `from_json` reads physical values; what it cannot say of a
payload, that nothing follows it, that its text is UTF-8, stands in a frame put around it:

    {"v":[<payload>],"faithful":true,"infinite":false}

`from_json` matches names exactly; only access by name ignores case, so that names which differ in case alone
are held under others.
"""

from typing import Any, Final

import attrs

from ingest.decode.jsonlift import Lifter, Names
from ingest.typemap.sparktype import literal

_OPTIONS: Final = ", ".join(
    f"'{key}', '{value}'"
    for key, value in {
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": "bad",
        "allowSingleQuotes": "false",
        "allowNonNumericNumbers": "true",  # else the text "NaN" is none
        "maxStringLen": 2**31 - 1,  # Jackson's own limit is 20 million characters
    }.items()
)

# An escaped half of a surrogate pair without its other half: no UTF-8 has it, and Java would make it `?`.
_LONE_SURROGATE: Final = (
    r"(?<!\\)(?:\\\\)*\\u[dD](?:[89abAB]..(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB].{2}\\u[dD])[c-fC-F])"
)


@attrs.frozen
class Parsed:
    """How to parse a payload in three projections, so that Spark parses it once.

    `raw` is SQL over the payload's text: the column to select first.  `value` is SQL over that column: null,
    or the reader's struct.  `whole` is SQL over both columns: true where the payload was valid JSON of the
    reader's shape; where it is not, `value` means nothing.
    """

    raw: str
    value: str
    whole: str


def parse_sql(text: str, reader: Any, names: Names, *, raw: str = "raw", value: str = "value") -> Parsed:
    """Return how to parse a payload, given as SQL of its JSON text, as a reader's record.

    `raw` and `value` are what the columns of the first two projections are called.  Unknown JSON fields are
    ignored, absent ones null; where the reader has text, a number, a boolean or an object gives its JSON.
    Raises `SchemaError` for a reader that has no JSON form.
    """
    lift = Lifter(names, f"{raw}.infinite").lift(reader, "")
    frame = "struct<v: array<{}>, faithful: boolean, infinite: boolean, bad: string>"
    parsed, held = frame.format(lift.parsed), frame.format(lift.held)
    sql = f"from_json({_framed(text)}, {literal(parsed)}, map({_OPTIONS}))"
    record = f"get({raw}.v, 0)"
    checks = [
        f"{raw}.bad is null and {raw}.faithful and size({raw}.v) = 1 and {record} is not null",
        *([f"not ({lift.fails(record, value)})"] if lift.fault else []),
    ]
    return Parsed(
        raw=sql if parsed == held else f"cast({sql} as {held})",
        value=lift.lift(record),
        whole=f"coalesce({' and '.join(checks)}, false)",
    )


def _framed(text: str) -> str:
    """Return SQL that puts the frame around a payload's text, which the lambda makes once."""
    utf8 = "t = decode(cast(t as binary), 'UTF-8')"
    escaped = r"contains(t, '\\ud') or contains(t, '\\uD')"
    lone = f"({escaped}) and t rlike {literal(_LONE_SURROGATE)}"
    frame = (
        f"""concat('{{"v":[', t, '],"faithful":', string({utf8} and not ({lone})), """
        """',"infinite":', string(contains(t, 'Infinity')), '}')"""
    )
    return f"get(transform(array({text}), t -> {frame}), 0)"
