"""Spark types as values: written and read, widened, reshaped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.sql.template import quote, sql
from ingest.sql.types import (
    MAX_PRECISION,
    ArrayOf,
    Decimal,
    MapOf,
    Simple,
    SparkType,
    Struct,
    has_map,
    parse_ddl,
    reshape,
    widest,
)

NUMBERS = [Simple(name) for name in ("int", "bigint", "float", "double")]
OTHERS = [Simple(name) for name in ("string", "binary", "boolean", "date", "timestamp", "timestamp_ntz")]
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6)
DECIMALS = st.integers(1, MAX_PRECISION).flatmap(
    lambda precision: st.builds(Decimal, st.just(precision), st.integers(0, precision))
)


def structs(
    kinds: st.SearchStrategy[SparkType], names: st.SearchStrategy[str]
) -> st.SearchStrategy[SparkType]:
    """Draw structs of other types."""
    return st.dictionaries(names, kinds, max_size=3).map(lambda fields: Struct(tuple(fields.items())))


def types(names: st.SearchStrategy[str] = NAMES) -> st.SearchStrategy[SparkType]:
    """Draw any type."""
    return st.recursive(
        st.sampled_from([*NUMBERS, *OTHERS]) | DECIMALS,
        lambda kinds: kinds.map(ArrayOf) | kinds.map(MapOf) | structs(kinds, names),
        max_leaves=6,
    )


COMPARABLE = types(st.sampled_from("abc"))


def unordered(kind: SparkType | None) -> object:
    """Return a type without the order of its structs' fields."""
    match kind:
        case Struct(fields):
            return frozenset((name, unordered(field)) for name, field in fields)
        case ArrayOf(items):
            return ("array", unordered(items))
        case MapOf(values):
            return ("map", unordered(values))
        case _:
            return kind


# --- DDL -----------------------------------------------------------------------------------------


@given(types())
def test_a_type_is_read_as_it_was_written(kind: SparkType) -> None:
    """For any names of its fields."""
    assert parse_ddl(str(kind)) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (" array < struct < a : int , b : decimal( 5 , 2 ) > > ", None),
        ("integer", Simple("int")),
        ("long", Simple("bigint")),
        ("struct<>", Struct(())),
        ("struct<`a b`:int,`c``d`:int>", Struct((("a b", Simple("int")), ("c`d", Simple("int"))))),
    ],
)
def test_ddl_is_read_with_spaces_synonyms_and_quotes(text: str, kind: SparkType | None) -> None:
    """As people and Spark write it."""
    expected = kind or ArrayOf(Struct((("a", Simple("int")), ("b", Decimal(5, 2)))))
    assert parse_ddl(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "int int",
        "array<int",
        "array<>",
        "map<int,int>",
        "decimal",
        "decimal(5)",
        "struct<a>",
        "struct<a:>",
        "struct<a:int b:int>",
        "struct<<:int>",
        "struct<a,int>",
        "in`t",
        "array",
        "INT",
        "int;",
        "array<int>>",
        "struct<a:int",
        "`a`",
        "decimal(a,b)",
        "1",
    ],
)
def test_an_invalid_type_is_refused(text: str) -> None:
    """With the text, and nothing guessed."""
    with pytest.raises(ValueError, match="is not a Spark type"):
        parse_ddl(text)


@pytest.mark.parametrize(
    ("name", "quoted"),
    [("a_1", "a_1"), ("A", "A"), ("1a", "`1a`"), ("a b", "`a b`"), ("a`b", "`a``b`"), ("naïve", "`naïve`")],
)
def test_only_names_that_need_it_are_quoted(name: str, quoted: str) -> None:
    """Spark's lexer takes ASCII letters alone as they stand."""
    assert quote(name) == quoted


# --- widening ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("int", "bigint", "bigint"),
        ("int", "double", "double"),
        ("float", "double", "double"),
        ("decimal(9,2)", "decimal(19,2)", "decimal(19,2)"),
        ("decimal(9,2)", "decimal(9,4)", "decimal(11,4)"),
        ("decimal(38,0)", "decimal(5,5)", None),
        ("decimal(33,0)", "decimal(5,5)", "decimal(38,5)"),
        ("array<int>", "array<bigint>", "array<bigint>"),
        ("map<string,float>", "map<string,double>", "map<string,double>"),
        ("struct<a:int,b:int>", "struct<b:bigint,c:date>", "struct<a:int,b:bigint,c:date>"),
        ("struct<a:int>", "struct<a:string>", None),
        ("int", "string", None),
        ("int", "float", None),
        ("bigint", "double", None),
        ("int", "decimal(10,0)", "decimal(10,0)"),
        ("decimal(9,2)", "int", "decimal(12,2)"),
        ("bigint", "decimal(10,4)", "decimal(23,4)"),
        ("bigint", "decimal(38,20)", None),
        ("string", "binary", None),
        ("date", "timestamp_ntz", None),
        ("timestamp", "timestamp_ntz", None),
        ("array<int>", "int", None),
    ],
)
def test_the_widest_type_holds_every_value_of_both(one: str, other: str, expected: str | None) -> None:
    """Or there is none: nothing becomes text, and no digit is lost."""
    result = widest(parse_ddl(one), parse_ddl(other))
    assert (result and str(result)) == expected


@given(COMPARABLE)
def test_widening_to_itself_changes_nothing(kind: SparkType) -> None:
    """Idempotent."""
    assert widest(kind, kind) == kind


@given(COMPARABLE, COMPARABLE)
def test_widening_does_not_ask_which_came_first(one: SparkType, other: SparkType) -> None:
    """Commutative, but for the order of a struct's fields: the first one's stand first."""
    assert unordered(widest(one, other)) == unordered(widest(other, one))


@given(COMPARABLE, COMPARABLE)
def test_the_wider_type_is_wide_enough(one: SparkType, other: SparkType) -> None:
    """The same types widen a column only once."""
    wide = widest(one, other)
    if wide is not None:
        assert widest(wide, one) == widest(wide, other) == wide


# --- reshaping -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "target", "text"),
    [
        ("int", "int", "v"),
        ("int", "bigint", "cast(v as bigint)"),
        ("float", "double", "cast(v as double)"),
        ("decimal(9,2)", "decimal(11,4)", "cast(v as decimal(11,4))"),
        ("array<int>", "array<bigint>", "transform(v, x -> cast(x as bigint))"),
        ("map<string,int>", "map<string,bigint>", "transform_values(v, (k, v) -> cast(v as bigint))"),
        (
            "struct<a:int>",
            "struct<a:bigint,b:date>",
            "if(v is null, null, named_struct('a', cast(v.`a` as bigint), 'b', cast(null as date)))",
        ),
    ],
)
def test_a_value_is_reshaped_by_sql(kind: str, target: str, text: str) -> None:
    """Only where it must be, and a null stays null."""
    assert str(reshape(sql("v"), parse_ddl(kind), parse_ddl(target))) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int", False),
        ("map<string,int>", True),
        ("array<struct<a:map<string,int>>>", True),
        ("array<int>", False),
    ],
)
def test_maps_are_found_at_any_depth(text: str, *, expected: bool) -> None:
    """Spark cannot compare them, so the fold must know."""
    assert has_map(parse_ddl(text)) is expected
