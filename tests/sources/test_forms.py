"""Every row of the type table has a canonical form, or a reason why it has none."""

import pytest
from pyspark.sql import SparkSession

from ingest.sources.databases import DATABASES
from ingest.sources.forms import SPARK, Form, form_of
from ingest.sql.template import ident, sql
from ingest.sql.types import ArrayOf, Decimal, MapOf, Simple, Struct, parse_ddl
from ingest.typemap.lookup import WALL_CLOCK
from ingest.typemap.mapped import Mapped
from ingest.typemap.rows import TYPES, TYPES_BY_TICK, TYPES_OF_DURATIONS, TypeRow

ROWS = [*TYPES.values(), *TYPES_BY_TICK[100].values(), *TYPES_OF_DURATIONS.values()]
SIMPLE = [row for row in ROWS if row.spark and "{" not in row.spark]


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{n}-{row.semantic}-{row.policy}") for n, row in enumerate(SIMPLE)]
)
def test_a_row_of_the_type_table_has_a_form_or_a_reason(row: TypeRow) -> None:
    """A form has SQL for Spark; a reason is a phrase."""
    form = form_of(
        Mapped(row.semantic, row.physical, parse_ddl(row.spark), row.physical), parse_ddl(row.spark)
    )
    if isinstance(form, Form):
        assert "`c`" in str(form.part(ident("c")))
    else:
        assert " " in form


def test_a_wall_clock_stored_as_if_in_utc_is_compared_as_a_wall_clock() -> None:
    """Its form is that of the source's column, also in an array; an instant keeps its own."""
    for spark_type, unit, wanted in (
        ("timestamp", WALL_CLOCK, Form("timestamp3", in_utc=True)),
        ("timestamp", "", Form("instant")),
        ("timestamp_ntz", "", Form("timestamp3")),
    ):
        semantic = (
            "io.debezium.time.Timestamp" if wanted.name != "instant" else "io.debezium.time.ZonedTimestamp"
        )
        mapped = Mapped(semantic, "long", Simple(spark_type), "long", units={"": unit})
        assert form_of(mapped, Simple(spark_type)) == wanted
    stored = ArrayOf(Simple("timestamp"))
    mapped = Mapped("", "array", stored, "array", units={"[]": WALL_CLOCK})
    form = form_of(mapped, stored)
    assert form == Form("array", item=Form("timestamp", in_utc=True))
    assert "ingest_timestamp(cast(x as timestamp_ntz))" in str(form.spark(ident("c")))


@pytest.mark.spark
def test_a_stored_value_has_its_canonical_text(spark: SparkSession) -> None:
    """Whatever its column is called, and however many digits its row's event had."""
    cases = (
        ("number", "'1.50'", "1.5"),
        ("uuid", "'AB'", "ab"),
        ("bits", "X'0A01'", "266"),
        ("bits", "X''", "0"),
        ("clock3", "'12:34:56.700000'", "12:34:56.700"),
        ("clock3", "'12:34:56.700001'", "12:34:56.700001"),
        ("clock6", "'-838:59:58.700'", "-838:59:58.700000"),
        ("clock6", "'12:34:56.700000'", "12:34:56.700000"),
        ("instant_text", "'2024-02-29T12:34:56.700000+05:00'", "2024-02-29 07:34:56.7"),
        ("instant_text", "'infinity'", "infinity"),
        ("instant_text", "'-0043-03-15T12:00:00Z'", "-0043-03-15T12:00:00Z"),
    )
    for column in ("i", "x"):
        texts = [
            f"(select {Form(name).spark(ident(column))} from (select {value} as {column}))"
            for name, value, _ in cases
        ]
        (row,) = spark.sql(f"select {', '.join(texts)}").collect()
        assert list(row) == [text for _, _, text in cases]


def test_each_form_of_a_database_is_one_of_sparks() -> None:
    """A name that Spark lacks would never be used."""
    for database in DATABASES.values():
        assert set(database.forms) <= set(SPARK) - {"small_decimal"}


def test_structures_say_why_they_are_not_compared() -> None:
    """Maps and structs have no text that both sides write alike; arrays follow their elements."""
    plain = Mapped("", "array", Simple("string"), "array")
    assert form_of(plain, ArrayOf(Simple("int"))) == Form("array", item=Form("integer"))
    assert "map" in str(form_of(plain, MapOf(Simple("int"))))
    assert "struct" in str(form_of(plain, Struct((("a", Simple("int")),))))
    assert str(form_of(plain, ArrayOf(MapOf(Simple("int"))))).startswith("an array: ")
    assert form_of(plain, Decimal(38, 10)) == Form("small_decimal", 10)
    assert "31 digits" in str(form_of(plain, Decimal(38, 31)))


@pytest.mark.parametrize(
    ("database", "form", "column_type", "expected"),
    [
        ("postgres", Form("decimal", 2), "numeric(12,2)", "nullif(c, 'NaN')::text"),
        ("postgres", Form("text"), "text", "c"),
        ("postgres", Form("text"), "character(5)", "case when c is not null then concat(c) end"),
        ("postgres", Form("text"), "hstore", None),
        ("postgres", Form("json"), "public.hstore", None),
        ("postgres", Form("bits"), "bit varying(65)", None),
        ("mysql", Form("decimal", 3), "decimal(10,3) unsigned", "cast(c as char)"),
        ("mysql", Form("json"), "json", None),
        ("sqlserver", Form("integer"), "bigint", "cast(c as varchar(20))"),
        (
            "oracle",
            Form("number"),
            "NUMBER",
            r"regexp_replace(to_char(c, 'TM9', 'NLS_NUMERIC_CHARACTERS=''.,'''), '^(-?)[.]', '\10.')",
        ),
        ("mysql", Form("number"), "decimal(60,0)", "cast(c as char)"),
        (
            "mysql",
            Form("number"),
            "decimal(60,2)",
            "trim(trailing '.' from trim(trailing '0' from cast(c as char)))",
        ),
    ],
)
def test_the_source_writes_a_value_by_its_type(
    database: str, form: Form, column_type: str, expected: str | None
) -> None:
    """None where the database has no text that equals the stored one."""
    text = DATABASES[database].text(form, column_type, sql("c"))
    assert (None if text is None else str(text)) == expected


@pytest.mark.parametrize(
    ("database", "name", "text"),
    [
        ("postgres", '"a""b"', r"'it''s \'"),
        ("mysql", '`a"b`', r"'it''s \\'"),
        ("sqlserver", '[a"b]', r"'it''s \'"),
        ("oracle", '"a""b"', r"'it''s \'"),
    ],
)
def test_names_and_texts_are_quoted(database: str, name: str, text: str) -> None:
    """Names and values come from outside."""
    assert str(DATABASES[database].ident('a"b')) == name
    assert str(DATABASES[database].literal("it's \\")) == text
