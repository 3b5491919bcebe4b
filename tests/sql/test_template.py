"""SQL as a value: any name stays one name, and any text one text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest import avro
from ingest.decode.jsonvalue import parse_sql
from ingest.decode.rejects import Check, reason_sql, rejected_sql
from ingest.hudi.keys import unsafe_folders, unsafe_texts
from ingest.order.counts import older_sql
from ingest.sql.template import Sql, any_true, binary, ident, join, literal, quote, sql, struct, word
from ingest.sql.types import Simple, Struct, null_of, reshape
from ingest.typemap.unavailable import unavailable_sql
from tests.compile.sqlserver import ID, compiled

HOSTILE = (
    *("it's", "`", "``", "{c}", "{out}", "{", "}", "$", "${env:HOME}", "${spark.x}", "${system:user.home}"),
    *(";--", "/*", "--", "\\", "\\'", "\\u0027", '"', "a.b", "current_date", "null", "x" * 10_000),
    *("a\nb", "\r", "\t", "\0", "\x1b[2J", "é", "名", "😀", "\ud800", "\u202e"),
)
NAMES = (
    st.sampled_from(HOSTILE)
    | st.text(st.characters(exclude_categories=()))
    | st.text("'`{}$\\c \n", min_size=1)
)
QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|`(?:[^`]|``)*`", re.DOTALL)
"""A literal and a quoted name, as Spark's lexer reads them (SqlBaseLexer.g4)."""


def skeleton(expression: Sql) -> str:
    """Return the SQL without its literals and names."""
    return QUOTED.sub("?", str(expression))


def text_of(expression: Sql) -> str:
    """Read a literal back, as Spark does."""
    escaped = re.fullmatch(r"'((?:[^'\\]|\\.)*)'", str(expression), re.DOTALL)
    assert escaped
    return re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), escaped[1])


@given(NAMES)
def test_a_text_is_one_literal_and_reads_back(text: str) -> None:
    """Quotes, backslashes, control characters and lone surrogates too; and no `${` is left to replace."""
    assert text_of(literal(text)) == text
    assert "${" not in str(literal(text))
    str(literal(text)).encode()


@given(NAMES)
def test_a_name_is_one_name(name: str) -> None:
    """Backticks inside are doubled."""
    quoted = str(ident(name))
    assert QUOTED.fullmatch(quoted)
    assert quoted[1:-1].replace("``", "`") == name


@given(NAMES, NAMES)
def test_a_filled_value_is_never_a_template(name: str, text: str) -> None:
    """One pass: braces in a name or a text are not holes."""
    template = sql("f({c}, {out}, {c})")
    filled = template.of(c=ident(name).field(text), out=literal(text))
    field = f"{ident(name)}.{ident(text)}"
    assert str(filled) == f"f({field}, {literal(text)}, {field})"


def test_a_template_with_an_open_hole_is_not_sql() -> None:
    """It can be filled in steps, and not be run before."""
    half = sql("{a} + {b}", a=1)
    assert half.holes == {"b"}
    with pytest.raises(ValueError, match=r"b.*not filled"):
        str(half)
    assert str(half.of(b=2)) == "1 + 2"


@pytest.mark.parametrize("template", ["{", "}", "{ }", "{a b}", "'{'", "{}"])
def test_an_unmatched_brace_is_refused(template: str) -> None:
    """Where it is written: literals hold braces."""
    with pytest.raises(ValueError, match="not part of a hole"):
        sql(template)


@pytest.mark.parametrize("name", ["", "a b", "int; drop", "`", "é"])
def test_a_word_is_a_word(name: str) -> None:
    """Types and keywords come unquoted, and so have letters only."""
    with pytest.raises(ValueError, match="not a word"):
        word(name)


def test_conditions_are_joined_flat_and_never_null() -> None:
    """Without depth, for any number of them."""
    conditions = [sql("a"), sql("b")]
    assert str(any_true([])) == "false"
    assert str(any_true(conditions[:1])) == "coalesce(a, false)"
    assert str(any_true(conditions)) == "coalesce(greatest(a, b), false)"
    assert str(any_true([sql("x")] * 5_000)).count("(") == 2


@given(NAMES)
def test_names_are_quoted_for_people_only_where_they_must_be(name: str) -> None:
    """As Spark writes DDL."""
    assert quote(name) in (name, str(ident(name)))
    assert quote("plain_1") == "plain_1"


def made(name: str) -> dict[str, Sql]:
    """Call every maker of SQL that takes a name or a text from outside."""
    column, base = ident(name), compiled([ID])
    narrow = Struct((("a", Simple("int")), (name, Simple("int"))))
    wide = Struct((("a", Simple("bigint")), (name, Simple("bigint")), (f"{name}2", Simple("date"))))
    reader = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "in_the_reader", "type": ["null", "double"]}],
    }
    parsed = parse_sql(column, reader, {"": {name: "in_the_reader"}})
    check = Check(sql("{c} is null", c=column), "no-row", literal(name))
    keys = unsafe_texts({name: "string", f"{name}2": "string"}, ident, [name])
    unavailable = unavailable_sql(avro.Scalar("string"), name.encode(errors="replace").decode())
    assert unavailable
    return {
        "reshape": reshape(column, narrow, wide),
        "null": null_of(wide),
        "struct": struct([(name, column)]),
        "raw": parsed.raw,
        "value": parsed.value,
        "whole": parsed.whole,
        "reason": reason_sql([check]),
        "rejected": rejected_sql([check, check]),
        "keys": join(" and ", (condition for condition, _ in keys)),
        "folders": unsafe_folders([name], {name: "string"}, ident)[0][0],
        "unavailable": unavailable.of(c=column),
        "older": older_sql(base, f"{name}."),
        "bytes": binary(name.encode(errors="replace")[:0]),
    }


@given(NAMES)
def test_no_name_changes_the_sql_around_it(name: str) -> None:
    """Every public maker: only the quoted parts differ from those of a plain name."""
    plain, hostile = made("plain"), made(name)
    for maker, expression in hostile.items():
        assert skeleton(expression) == skeleton(plain[maker]), maker
