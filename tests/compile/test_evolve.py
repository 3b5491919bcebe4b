"""What a batch brings against what the table holds."""

from typing import Any

import pytest

from ingest.compile.evolve import SchemaChange, TargetColumn, evolve
from ingest.compile.sparktype import parse_ddl
from ingest.errors import EvolutionError
from tests.compile.sqlserver import ID, VALUE_ID, compiled, decimal

FIRST, SECOND = VALUE_ID, VALUE_ID + 1


def present(**columns: str) -> dict[str, Any]:
    """Make a table's columns."""
    return {name: parse_ddl(kind) for name, kind in columns.items()}


def test_a_new_table_has_the_columns_of_the_schemas_seen() -> None:
    """Those of versions that no record of the batch has do not come yet; a new table has no changes."""
    result = compiled([{**ID, "a": "int"}, {**ID, "a": "long", "b": "string"}])
    first = evolve(result, [FIRST], None)
    assert [str(column.spark) for column in first.keys] == ["int"]
    assert [(column.name, str(column.spark)) for column in first.columns] == [("a", "int")]
    both = evolve(result, [FIRST, SECOND], None)
    assert [(column.name, str(column.spark)) for column in both.columns] == [("a", "bigint"), ("b", "string")]
    assert both.changes == ()


def test_an_added_and_a_widened_column_are_changes() -> None:
    """Named with their kind, type, and what was."""
    result = compiled([{**ID, "a": "long", "b": "string"}])
    found = evolve(result, [FIRST], present(id="int", a="int", _cdc_op="string"))
    assert found.changes == (
        SchemaChange("column-widened", "a", "bigint", "int"),
        SchemaChange("column-added", "b", "string"),
    )


def test_a_batch_of_an_older_version_is_widened_to_the_table() -> None:
    """And changes nothing."""
    result = compiled([{**ID, "a": "int", "d": decimal(9, 2)}])
    found = evolve(result, [FIRST], present(id="int", a="bigint", d="decimal(19,4)", gone="date"))
    assert [str(column.spark) for column in found.columns] == ["bigint", "decimal(19,4)"]
    assert found.changes == ()


def test_a_struct_keeps_the_tables_order_of_fields() -> None:
    """The order in which a version happens to write them is no change."""

    def struct(*names: str) -> Any:
        return {"type": "record", "name": "P", "fields": [{"name": name, "type": "int"} for name in names]}

    result = compiled([{**ID, "p": struct("b", "a")}, {**ID, "p": struct("c", "b", "a")}])
    held = present(id="int", p="struct<a:int,b:int>")
    assert evolve(result, [FIRST], held).changes == ()
    (change,) = evolve(result, [FIRST, SECOND], held).changes
    assert change.type == "struct<a:int,b:int,c:int>"


@pytest.mark.parametrize(
    ("brought", "held"),
    [
        ("int", "string"),
        ("string", "int"),
        ("string", "binary"),
        ("long", "double"),
        (decimal(38, 0), "decimal(38,2)"),
    ],
    ids=str,
)
def test_a_change_that_would_lose_or_falsify_stops_with_the_column(brought: Any, held: str) -> None:
    """Hudi would take some of them silently, and for ever."""
    result = compiled([{**ID, "a": brought}])
    with pytest.raises(EvolutionError) as caught:
        evolve(result, [FIRST], present(id="int", a=held))
    assert (caught.value.table, caught.value.column, caught.value.present) == ("t", "a", held)


def test_versions_in_one_batch_that_no_type_holds_stop_too() -> None:
    """Before the table even exists."""
    result = compiled([{**ID, "a": "int"}, {**ID, "a": "string"}])
    with pytest.raises(EvolutionError):
        evolve(result, [FIRST, SECOND], None)
    assert [str(column.spark) for column in evolve(result, [SECOND], None).columns] == ["string"]


def test_a_column_is_read_from_the_variants_that_carry_it() -> None:
    """One alone, the first that is there of several, nothing where none is in the batch."""
    result = compiled([{**ID, "a": "int"}, {**ID, "a": "long"}])
    both, first = evolve(result, [FIRST, SECOND], None), evolve(result, [FIRST], None)
    assert both.columns[0].value("row") == "coalesce(cast(row.c1 as bigint), row.c2)"
    assert first.columns[0].value("row") == "row.c1"
    assert TargetColumn("a", parse_ddl("int")).value("row") == "cast(null as int)"
