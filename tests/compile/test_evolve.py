"""The columns of a batch against those of the table."""

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from ingest.compile.diff import SchemaChange
from ingest.compile.evolve import Evolution, TargetColumn, evolve
from ingest.compile.table import compile_table
from ingest.errors import EvolutionError
from ingest.names import SchemaId
from ingest.sql.template import sql
from ingest.sql.types import parse_ddl
from ingest.testing import decimal
from tests.compile.sqlserver import ID, KEY_ID, VALUE_ID, compiled, envelope, key, table, written
from tests.feeds import feed

FIRST, SECOND = VALUE_ID, SchemaId(VALUE_ID + 1)


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
    """Named with their kind, new type and old type."""
    result = compiled([{**ID, "a": "long", "b": "string"}])
    outcome = evolve(result, [FIRST], present(id="int", a="int", _cdc_op="string"))
    assert outcome.changes == (
        SchemaChange("column-widened", "a", "bigint", "int"),
        SchemaChange("column-added", "b", "string"),
    )


def test_a_batch_of_an_older_version_is_widened_to_the_table() -> None:
    """And changes nothing."""
    result = compiled([{**ID, "a": "int", "d": decimal(9, 2)}])
    outcome = evolve(result, [FIRST], present(id="int", a="bigint", d="decimal(19,4)", gone="date"))
    assert [str(column.spark) for column in outcome.columns] == ["bigint", "decimal(19,4)"]
    assert outcome.changes == ()


def test_a_struct_keeps_the_tables_order_of_fields() -> None:
    """The order in which a version happens to write them is not a change; a field more is."""

    def struct(*names: str) -> Any:
        return {"type": "record", "name": "P", "fields": [{"name": name, "type": "int"} for name in names]}

    result = compiled([{**ID, "p": struct("b", "a")}, {**ID, "p": struct("c", "b", "a")}])
    stored = present(id="int", p="struct<a:int,b:int>")
    assert evolve(result, [FIRST], stored, [FIRST]).changes == ()
    outcome = evolve(result, [FIRST, SECOND], stored, [FIRST])
    assert outcome.changes == (SchemaChange("field-added", "p.c", "int"),)
    assert str(outcome.columns[0].spark) == "struct<a:int,b:int,c:int>"


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
    """Hudi would take some of them silently, and permanently."""
    result = compiled([{**ID, "a": brought}])
    with pytest.raises(EvolutionError) as caught:
        evolve(result, [FIRST], present(id="int", a=held)).check()
    error = caught.value
    assert (error.table, error.column, error.kind, error.old) == ("t", "a", "column-changed", held)
    assert "srv.db.dbo.t-value v1 (id 101)" in str(error)
    assert "[evolution] column-changed can be evolve: " in str(error)


def test_versions_in_one_batch_that_no_type_holds_stop_too() -> None:
    """Before the table even exists."""
    result = compiled([{**ID, "a": "int"}, {**ID, "a": "string"}])
    with pytest.raises(EvolutionError):
        evolve(result, [FIRST, SECOND], None).check()
    assert [str(column.spark) for column in evolve(result, [SECOND], None).columns] == ["string"]


def test_whole_numbers_that_become_decimals_need_the_table_rewritten() -> None:
    """Hudi widens everything else where it lies; a table that does not exist yet needs nothing."""
    result = compiled([{**ID, "a": "int", "b": "int"}, {**ID, "a": decimal(9, 2), "b": "long"}])
    stored = present(id="int", a="int", b="int")
    outcome = evolve(result, [FIRST, SECOND], stored, [FIRST])
    assert [str(column.spark) for column in outcome.columns] == ["decimal(12,2)", "bigint"]
    assert outcome.rewrites == ("a",)
    assert evolve(result, [FIRST, SECOND], None).rewrites == ()


# --- policies ------------------------------------------------------------------------------------

HELD = present(id="int", a="int")


def evolved(versions: Sequence[Any], seen: Sequence[int], **policies: str) -> Evolution:
    """Fit versions to a table with an int `a`, of which the first version is known."""
    text = {kind.replace("_", "-"): policy for kind, policy in policies.items()}
    result = compiled(versions, of=attrs.evolve(table(), evolution=text))
    return evolve(result, [SchemaId(item) for item in seen], HELD, [SchemaId(FIRST)])


ADDED = [{**ID, "a": "int"}, {**ID, "a": "int", "b": "string"}]
DROPPED = [{**ID, "a": "int"}, ID]
NARROWED = [{**ID, "a": "int", "b": "long"}, {**ID, "a": "int", "b": "int"}]
CLASHED = [{**ID, "a": "int"}, {**ID, "a": "string"}, {**ID, "a": "string"}, {**ID, "a": "boolean"}]
THIRD, FOURTH = VALUE_ID + 2, VALUE_ID + 3


def names(found: Evolution) -> list[str]:
    """Return the columns that a batch writes, with their types."""
    return [f"{column.name} {column.spark}" for column in found.columns]


def test_an_added_column_is_added_ignored_rejected_or_fails() -> None:
    """By policy: a change that is ignored or rejected leaves the table as it was."""
    both = [FIRST, SECOND]
    assert names(evolved(ADDED, both)) == ["a int", "b string"]
    ignored = evolved(ADDED, both, column_added="ignore")
    assert (names(ignored), ignored.changes, ignored.refused) == (["a int"], (), {})
    refused = evolved(ADDED, both, column_added="reject")
    assert (names(refused), refused.changes) == (["a int"], ())
    assert refused.refused == {SECOND: "column-added b string, and [evolution] says reject"}
    (failure,) = evolved(ADDED, both, column_added="fail").failing
    assert (failure.kind, failure.column, failure.new) == ("column-added", "b", "string")


def test_a_dropped_column_is_reported_once() -> None:
    """Of the version that drops it, when the table first meets that; `ignore` says nothing."""
    assert evolved(DROPPED, [SECOND]).changes == (SchemaChange("column-dropped", "a", was="int"),)
    assert evolved(DROPPED, [SECOND], column_dropped="ignore").changes == ()
    assert evolved(DROPPED, [SECOND], column_dropped="fail").failing
    existing = compiled(DROPPED)
    assert evolve(existing, [SECOND], HELD, [FIRST, SECOND]).changes == ()


def test_a_narrower_version_stops_and_a_late_older_one_does_not() -> None:
    """The same two types: the order of versions counts, not that of arrival or of ids."""
    stored = present(id="int", a="int", b="bigint")
    narrowed = compiled(NARROWED)
    (failure,) = evolve(narrowed, [SECOND], stored, [FIRST]).failing
    assert (failure.kind, failure.new, failure.old) == ("column-narrowed", "int", "bigint")
    late = compiled(NARROWED[::-1])
    assert evolve(late, [FIRST], stored, [SECOND]).failing == ()
    assert evolve(late, [FIRST], stored, [SECOND]).changes == ()


def test_a_clashing_type_gets_a_column_named_after_its_version() -> None:
    """A later version of that type goes there too, another clash to one of its own; it is reported once."""
    outcome = evolved(CLASHED, [FIRST, SECOND], column_changed="evolve")
    assert names(outcome) == ["a int", "a_v2 string"]
    assert outcome.changes == (
        SchemaChange("column-changed", "a", "string", "int"),
        SchemaChange("column-added", "a_v2", "string"),
    )
    result = compiled(CLASHED, of=attrs.evolve(table(), evolution={"column-changed": "evolve"}))
    stored = {**HELD, **present(a_v2="string")}
    later = evolve(result, [SchemaId(THIRD), SchemaId(FOURTH)], stored, [FIRST, SECOND])
    assert names(later) == ["a_v2 string", "a_v4 boolean"]
    assert [change.column for change in later.changes] == ["a", "a_v4"]


def test_a_clashing_type_can_be_ignored_or_rejected() -> None:
    """The column then has no source in the batch; a rejected change adds nothing else either."""
    ignored = evolved(CLASHED, [SECOND], column_changed="ignore")
    assert (names(ignored), ignored.failing) == ([], ())
    refused = evolved([CLASHED[0], {**CLASHED[1], "b": "int"}], [FIRST, SECOND], column_changed="reject")
    assert (names(refused), list(refused.refused)) == (["a int"], [SECOND])


def test_several_failing_changes_are_counted() -> None:
    """The first is named, with how many more there are."""
    versions = [{**ID, "a": "int"}, {**ID, "a": "string", "b": "int"}]
    result = evolved(versions, [SECOND], column_added="fail")
    with pytest.raises(EvolutionError, match=r"\(and 1 more\)"):
        result.check()


def test_a_column_with_an_alias_is_the_column_that_it_was() -> None:
    """Under its first name; with `ignore` it is another one."""
    newer = envelope({**ID, "z": "int"})
    (field,) = (item for item in newer["fields"][0]["type"][1]["fields"] if item["name"] == "z")
    field["aliases"] = ["a"]
    older = attrs.evolve(written(VALUE_ID, envelope({**ID, "a": "int"})), version=1)
    versions = [older, attrs.evolve(written(VALUE_ID + 1, newer), version=2)]

    def found(**policies: str) -> Evolution:
        of = attrs.evolve(table(), evolution={"column-renamed": policies.get("renamed", "evolve")})
        result = compile_table(feed(of), [written(KEY_ID, key(ID))], versions)
        return evolve(result, [FIRST, SECOND], HELD, [FIRST])

    assert names(found()) == ["a int"]
    assert found().changes == (SchemaChange("column-renamed", "a", "z", "a"),)
    assert names(found(renamed="ignore")) == ["a int", "z int"]
    assert {change.kind for change in found(renamed="ignore").changes} == {"column-added", "column-dropped"}


def test_a_key_that_drifts_stops_the_table_that_is_keyed_by_the_older_one() -> None:
    """The newest message key has a column more than the table file says; `ignore` keeps the table's key."""
    row = {**ID, "tenant": "int"}
    keys = [written(KEY_ID, key(ID)), written(KEY_ID + 1, key(row))]

    def found(**policies: str) -> Evolution:
        text = {kind.replace("_", "-"): policy for kind, policy in policies.items()}
        of = attrs.evolve(table("id"), evolution=text)
        return evolve(
            compile_table(feed(of), keys, [written(VALUE_ID, envelope(row))]), [FIRST], HELD, [FIRST]
        )

    (failure,) = found().failing
    assert (failure.kind, failure.old, failure.new) == ("key-changed", "id", "id, tenant")
    assert found(key_changed="ignore").failing == ()


def test_a_version_that_is_not_an_event_stops_only_batches_with_its_records() -> None:
    """Another connector's, or no envelope at all; `reject` sets its records aside."""
    versions = [
        written(VALUE_ID, envelope({**ID, "a": "int"})),
        written(VALUE_ID + 1, envelope(ID, source_record="io.debezium.connector.oracle.Source")),
        attrs.evolve(written(VALUE_ID + 2, key(ID)), version=3),
    ]

    def found(seen: int, **policies: str) -> Evolution:
        text = {kind.replace("_", "-"): policy for kind, policy in policies.items()}
        result = compile_table(
            feed(attrs.evolve(table(), evolution=text)), [written(KEY_ID, key(ID))], versions
        )
        return evolve(result, [SchemaId(seen)], HELD, [FIRST])

    assert found(FIRST).failing == ()
    for seen, reason in ((SECOND, "oracle"), (THIRD, "not a change event")):
        (failure,) = found(seen).failing
        assert (failure.kind, failure.column) == ("envelope-changed", "")
        assert reason in failure.new
        assert list(found(seen, envelope_changed="reject").refused) == [seen]


def test_a_column_is_read_from_the_variants_that_carry_it() -> None:
    """One alone, the first that is there of several, nothing where none is in the batch."""
    result = compiled([{**ID, "a": "int"}, {**ID, "a": "long"}])
    both, first = evolve(result, [FIRST, SECOND], None), evolve(result, [FIRST], None)
    assert str(both.columns[0].value(sql("row"))) == "coalesce(cast(row.`c1` as bigint), row.`c2`)"
    assert str(first.columns[0].value(sql("row"))) == "row.`c1`"
    assert str(TargetColumn("a", parse_ddl("int")).value(sql("row"))) == "cast(null as int)"


AMOUNTS: list[dict[str, Any]] = [{**ID, "amount": "int"}, {**ID, "amount": "string"}]
OWN: dict[str, Any] = {**ID, "amount": "string", "amount_v2": "long"}


def test_a_clashs_column_stays_its_own_when_the_source_gets_one_of_that_name() -> None:
    """By the order in which the table met the versions, not by the names that are there now."""
    result = compiled([*AMOUNTS, OWN], of=attrs.evolve(table(), evolution={"column-changed": "evolve"}))
    stored = present(id="int", amount="int", amount_v2="string")
    third = SchemaId(THIRD)
    outcome = evolve(result, [SECOND, third], stored, [FIRST, SECOND])
    assert names(outcome) == ["amount_v2 string", "amount_v2_v3 bigint"]
    again = evolve(result, [third], {**stored, **present(amount_v2_v3="bigint")}, [FIRST, SECOND, third])
    assert names(again) == ["amount_v2 string", "amount_v2_v3 bigint"]


def test_a_sources_own_column_is_not_taken_for_a_clashs() -> None:
    """Where the table met it first, a late record of the clashing version gets another column."""
    result = compiled([*AMOUNTS, OWN], of=attrs.evolve(table(), evolution={"column-changed": "evolve"}))
    third = SchemaId(THIRD)
    stored = present(id="int", amount="int", amount_v2="bigint", amount_v3="string")
    outcome = evolve(result, [SECOND, third], stored, [FIRST, third])
    assert sorted(names(outcome)) == ["amount_v2 bigint", "amount_v3 string"]
    again = evolve(result, [SECOND, third], stored, [FIRST, third, SECOND])
    assert sorted(names(again)) == ["amount_v2 bigint", "amount_v3 string"]


def test_a_deleted_version_does_not_undo_a_rename() -> None:
    """The registry lists deleted versions first; names follow the order of versions."""
    renamed = envelope({**ID, "remark": "string"})
    (field,) = (item for item in renamed["fields"][0]["type"][1]["fields"] if item["name"] == "remark")
    field["aliases"] = ["note"]
    nodes = [envelope({**ID, "note": "string"}), renamed, envelope({**ID, "remark": "string", "b": "int"})]
    versions = [
        attrs.evolve(written(VALUE_ID + number, node), version=number + 1)
        for number, node in enumerate(nodes)
    ]
    result = compile_table(feed(table()), [written(KEY_ID, key(ID))], [versions[2], versions[0], versions[1]])
    outcome = evolve(result, [SECOND], present(id="int", note="string"), [FIRST, SECOND])
    assert names(outcome) == ["note string"]
    assert outcome.changes == ()
