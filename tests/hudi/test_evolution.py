"""A wider or longer row reaches the table, and the rows of before read back right."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.hudi.conftest import Lake

pytestmark = pytest.mark.spark
KEY = "id int not null"


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_widened_and_added_columns_read_back_right(lake: "Lake", kind: str) -> None:
    """Old rows show the same values in the wider types, the added column as null and last in the order."""
    table = lake.table("evolved", type=kind, buckets=1)
    old = "i int, f float, d int, s decimal(10,2), z string"
    new = "i bigint, f double, n array<int>, d double, s decimal(20,4), z string"
    before: tuple[Any, ...] = (7, 0.1, 7, Decimal("1.25"), "z")
    wide: tuple[Any, ...] = (2**40, 0.1, [1], 0.5, Decimal("12345678901234.1234"), "y")
    lake.commit(table, lake.changes(f"{KEY}, {old}", *(("c", "1", key, *before) for key in (1, 2, 3))))
    lake.commit(table, lake.changes(f"{KEY}, {new}", ("u", "2", 2, *wide)))
    lake.commit(table, lake.changes(f"{KEY}, {old}", ("u", "3", 3, *before)))

    retained = (7, 0.1, 7.0, Decimal("1.2500"), "z", None)
    changed = (2**40, 0.1, 0.5, Decimal("12345678901234.1234"), "y", [1])
    assert lake.rows(table, "id", "i", "f", "d", "s", "z", "n") == [
        (1, *retained),
        (2, *changed),
        (3, *retained),
    ]
    assert lake.open(table).fields() == (
        ("_cdc_op", "string", True),
        ("_cdc_position", "string", False),
        ("id", "int", False),
        ("i", "bigint", True),
        ("f", "double", True),
        ("d", "double", True),
        ("s", "decimal(20,4)", True),
        ("z", "string", True),
        ("n", "array<int>", True),
    )


def test_a_dropped_column_stays_and_is_null_in_new_rows(lake: "Lake") -> None:
    """The table keeps the values of older rows."""
    table = lake.table("dropped")
    lake.commit(table, lake.changes(f"{KEY}, a int, b int", ("c", "1", 1, 1, 1), ("c", "1", 2, 1, 1)))
    lake.commit(table, lake.changes(f"{KEY}, a int", ("u", "2", 2, 2)))

    assert lake.rows(table, "id", "a", "b") == [(1, 1, 1), (2, 2, None)]
