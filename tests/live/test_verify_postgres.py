"""The SQL of `ingest verify` for PostgreSQL, run by a real server: each value has its canonical text."""

from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from ingest.sources.forms import Form
from ingest.sources.postgres import POSTGRES
from ingest.sql.template import sql
from tests.live.database import Database, serve

pytestmark = pytest.mark.live

CASES: tuple[tuple[str, Form, dict[str, str]], ...] = (
    # type, form, canonical texts of values as Spark writes them
    ("smallint", Form("integer"), {"'-32768'": "-32768", "7": "7"}),
    ("bigint", Form("integer"), {"'-9223372036854775808'": "-9223372036854775808"}),
    ("boolean", Form("boolean"), {"true": "true", "false": "false"}),
    ("numeric(12,2)", Form("decimal", 2), {"-0.05": "-0.05", "1234.5": "1234.50", "'NaN'": ""}),
    ("numeric", Form("decimal", 2), {"1.5": "1.50", "1.25": "1.25", "1.255": "1.255", "'NaN'": ""}),
    ("numeric(38,10)", Form("small_decimal", 10), {"0.0000000001": "0.0000000001", "0": "0.0000000000"}),
    ("integer", Form("decimal", 2), {"3": "3.00"}),
    (
        "double precision",
        Form("double"),
        {"0.1": "4591870180066957722", "'-0'": "0", "'inf'": "9218868437227405312"},
    ),
    ("real", Form("double"), {"0.1": "4591870180066957722"}),
    ("real", Form("float"), {"1.5": "1069547520", "'-0'": "0"}),
    (
        "date",
        Form("date"),
        {"'2024-02-29'": "2024-02-29", "'0001-01-01'": "0001-01-01", "'0044-03-15 BC'": "", "'infinity'": ""},
    ),
    (
        "timestamp without time zone",
        Form("timestamp"),
        {"'2024-02-29 12:34:56.78901'": "2024-02-29 12:34:56.78901", "'infinity'": ""},
    ),
    (
        "timestamp(3) without time zone",
        Form("timestamp3"),
        {"'2024-02-29 12:34:56.700'": "2024-02-29 12:34:56.7"},
    ),
    (
        "timestamp with time zone",
        Form("instant"),
        {"'2024-02-29 12:34:56+05'": "2024-02-29 07:34:56", "'-infinity'": ""},
    ),
    (
        "timestamp with time zone",
        Form("instant_text"),
        {
            "'2024-02-29 12:34:56.7+05'": "2024-02-29 07:34:56.7",
            "'-infinity'": "-infinity",
            "'0044-03-15 12:00:00+00 BC'": "-0043-03-15T12:00:00.000000Z",
            "'10000-01-01 00:00:00+00'": "+10000-01-01T00:00:00.000000Z",
        },
    ),
    (
        "uuid",
        Form("uuid"),
        {"'6F5A1A0E-2B2F-4BD5-8B1A-0123456789AB'": "6f5a1a0e-2b2f-4bd5-8b1a-0123456789ab"},
    ),
    ("text", Form("text"), {"''": "0:", "'a,é '": "5:a,é "}),
    ("character(5)", Form("text"), {"'ab'": "5:ab   "}),
    ("bytea", Form("binary"), {"'\\x00ff'": "x00ff", "''": "x"}),
    ("bit(8)", Form("bits"), {"B'101'::bit(8)": "160"}),
    ("integer[]", Form("array", item=Form("integer")), {"'{1,null,-3}'": "[1,n,-3]"}),
    ("interval", Form("duration_micros"), {"'1 day 2 seconds'": "86402000000"}),
)
"""`null` is added to each."""


@pytest.fixture(scope="module")
def database(binaries: Path) -> Iterator[Database]:
    """Serve an empty database."""
    with serve(binaries) as result:
        yield result


@pytest.mark.parametrize(
    ("column_type", "form", "texts"),
    [pytest.param(*case, id=f"{case[0]}-{case[1].name}") for case in CASES],
)
def test_a_value_in_its_row_is_its_text(
    column_type: str, form: Form, texts: dict[str, str], database: Database
) -> None:
    """Null is no text."""
    text = POSTGRES.text(form, column_type, sql("c"))
    assert text is not None
    part = POSTGRES.part(form, text)
    setup = "; ".join(map(str, POSTGRES.setup))
    listed = ", ".join(f"({n}, {value}::{column_type})" for n, value in enumerate([*texts, "null"]))
    values = f"(values {listed}) as t(n, c)"
    rows = database.run(f"{setup}; select {POSTGRES.concat([part, part])} from {values} order by n")
    assert rows.splitlines() == [f"{text},{text}" for text in [*texts.values(), ""]]


@pytest.mark.parametrize("encoding", ["UTF8", "LATIN1"])
def test_the_hash_of_columns_is_used_where_it_is_that_of_our_functions(
    encoding: str, database: Database
) -> None:
    """Texts of another encoding have other octets."""
    database.run(
        f"create database {encoding} encoding {encoding} lc_collate 'C' lc_ctype 'C' template template0"
    )
    own = attrs.evolve(database, name=encoding.lower())
    hashing = POSTGRES.hashing
    assert hashing is not None
    answers = [own.run(str(query)) for query in hashing.conditions[:1]]
    assert answers == ["true\n" if encoding == "UTF8" else "false\n"]
    assert database.run(str(hashing.conditions[1])) == "true\n"
