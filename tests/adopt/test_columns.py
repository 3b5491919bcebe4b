"""The columns of other rows against those of a table: names, types, masks, and what is refused."""

from typing import Any

import pytest

from ingest.adopt.columns import FittedColumns, fit_columns, unmasked
from ingest.errors import UsageError
from ingest.masking import Masking, salt_id_of
from ingest.tables import Column, Feed
from ingest.testing import decimal, nullable, semantic
from ingest.testing import time as time_of_day
from tests.compile.sqlserver import ID, compiled, table
from tests.feeds import feed

MICROS = semantic("long", "io.debezium.time.MicroTimestamp")
DAY = semantic("int", "io.debezium.time.Date")


def fit(
    node: Any, ddl: str, *, name: str = "v", of: Feed | None = None, nulls: tuple[str, ...] = (),
    accepts_physical: bool = True,
) -> FittedColumns:  # fmt: skip
    """Fit rows with a column of one type to a table with a column `v`."""
    config = of or feed(table())
    versions = [{**ID, "v": node}]
    rows = {"id": "int", name: ddl}
    return fit_columns(
        compiled(versions, of=config), compiled(versions, of=unmasked(config)), rows, nulls,
        accepts_physical=accepts_physical,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("node", "ddl", "expected"),
    [
        ("long", "bigint", "same"),
        ("long", "int", "wider"),
        ("int", "smallint", "same"),
        ("double", "float", "wider"),
        (decimal(12, 2), "decimal(10,2)", "wider"),
        (decimal(12, 2), "int", "wider"),
        (MICROS, "timestamp_ntz", "same"),
        (MICROS, "bigint", "converted"),
        (DAY, "int", "converted"),
        (time_of_day("us"), "bigint", "converted"),
        ({"type": "array", "items": "int"}, "array<int>", "same"),
    ],
    ids=str,
)
def test_a_type_fits_if_the_tables_holds_every_value(node: Any, ddl: str, expected: str) -> None:
    """Or if it is the one that an event carries."""
    (column,) = fit(node, ddl).columns
    assert (column.fit, column.origin) == (expected, "v")


@pytest.mark.parametrize(
    ("node", "ddl", "problem"),
    [
        ("int", "bigint", "column v is a bigint, which does not fit int"),
        ("string", "binary", "column v is a binary, which does not fit string"),
        (decimal(9, 2), "decimal(12,4)", "does not fit decimal(9,2)"),
        (MICROS, "timestamp", 'does not fit timestamp_ntz: [types] timestamps = "utc" stores wall clocks so'),
        (MICROS, "string", "does not fit timestamp_ntz"),
        ("long", "map<int,string>", "column v is a map<int,string>, which does not fit bigint"),
    ],
    ids=str,
)
def test_a_type_that_would_lose_values_is_a_problem(node: Any, ddl: str, problem: str) -> None:
    """It names the column and both types."""
    (found,) = fit(node, ddl).problems
    assert problem in found


def test_an_export_has_the_tables_types() -> None:
    """Numbers of an event are not taken for times: an export is written by something else."""
    assert fit(MICROS, "bigint", accepts_physical=False).problems


@pytest.mark.parametrize("name", ["v", "V", "Amount", "amount"])
def test_names_fit_by_either_name_and_in_any_case(name: str) -> None:
    """That of the source, and the new one of the table file."""
    renamed = feed(table(columns={"v": Column(rename="amount")}))
    (column,) = fit("int", "int", name=name, of=renamed).columns
    assert (column.name, column.origin) == ("amount", name)


def test_a_missing_column_is_a_problem_unless_it_may_be_null() -> None:
    """A key column never may; a name that is not a column is refused."""
    fitted = fit("int", "int", name="w")
    assert fitted.problems == ("column v (int) is missing",)
    assert fitted.dropped == ("w",)
    assert fit("int", "int", name="w", nulls=("v",)).problems == ()
    with pytest.raises(UsageError, match=r"--null w: is not a column of the table"):
        fit("int", "int", name="w", nulls=("w",))
    no_key = fit_columns(compiled([ID]), compiled([ID]), {"v": "int"}, ("id",), accepts_physical=True)
    assert no_key.problems == ("key column id (int) is missing",)


def test_masked_columns_are_fitted_by_their_types_before() -> None:
    """The mask is applied to the value that the table would have."""
    salted = Masking(salt_id=salt_id_of("a salt, long enough"))
    config = feed(table(columns={"v": Column(mask="hash")}), salted)
    (column,) = fit(nullable("long"), "int", of=config).columns
    assert (str(column.spark), column.fit, column.mask) == ("string", "wider", "hash")
    assert str(column.value).startswith("ingest_hash(cast(cast(`v` as bigint) as string), ")
