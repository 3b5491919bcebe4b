"""Where each form of events holds its parts, as SQL and in the reader's schema."""

import json
import re
from pathlib import Path
from typing import Any

import attrs
import pytest

from ingest import avro
from ingest.avro import connect
from ingest.compile.envelope import find_envelope
from ingest.compile.event import EVENT, EventForm, form_of
from ingest.compile.table import compile_table
from ingest.dialects import DIALECTS
from ingest.errors import SchemaError
from ingest.tables import Target
from ingest.testing import fields_of, nullable
from tests.compile.sqlserver import ID, KEY_ID, VALUE_ID, envelope, key, table, written
from tests.feeds import feed

SAMPLES = Path(__file__).parents[1] / "data" / "connect"


def of_sample(name: str) -> EventForm:
    """Return the form of a document's sample."""
    schema = connect.parse(json.loads((SAMPLES / f"{name}.json").read_text()), where=name)
    result = find_envelope(schema, name)
    assert result.dialect is not None
    return form_of(result, result.dialect)


def flat(**metadata: str) -> Any:
    """Make the schema of a flattened row, every field but the key optional."""
    fields = {"id": "int", "a": nullable("string")} | {name: nullable(k) for name, k in metadata.items()}
    return {"type": "record", "name": "Value", "namespace": "srv.db.dbo.t", "fields": fields_of(fields)}


def of_flat(**metadata: str) -> EventForm:
    """Return the form of a flattened row."""
    result = find_envelope(avro.parse(json.dumps(flat(**metadata))), "v")
    assert result.dialect is not None
    return form_of(result, result.dialect)


@pytest.mark.parametrize(
    "name", ["sqlserver-zh-value", "oracle-value", "mongodb-value", "cdl-value", "cdl-debezium-value"]
)
def test_fields_named_in_sql_are_read(name: str) -> None:
    """A field that the reader did not take would be an error of Spark's."""
    form = of_sample(name)
    texts = map(str, [form.op, form.source_ms, *form.source.values()])
    roots = {match for text in texts for match in re.findall(rf"{re.escape(str(EVENT))}\.`?(\w+)", text)}
    assert roots
    assert roots <= set(form.parts) | {form.row_field}


def test_a_dialects_sql_is_filled_in() -> None:
    """Source fields by name, and the operation."""
    form = of_sample("sqlserver-zh-value")
    assert str(form.resolve("if({op} = 'r', {s.commit_lsn}, null)")) == (
        f"if({EVENT}.`op` = 'r', {EVENT}.`source`.`commit_lsn`, null)"
    )
    assert (str(form.at("after")), form.at("")) == (f"{EVENT}.`after`", EVENT)


def test_a_flattened_row_has_its_parts_in_the_root() -> None:
    """A field of the position that `add.fields` lacks is null, of its own type."""
    form = of_flat(__op="string", __deleted="string", __commit_lsn="string", __source_ts_ms="long")
    assert {name: str(value) for name, value in form.source.items()} == {
        "commit_lsn": f"{EVENT}.`__commit_lsn`",
        "change_lsn": "cast(null as string)",
        "event_serial_no": "cast(null as bigint)",
    }
    assert str(form.source_ms) == f"{EVENT}.`__source_ts_ms`"
    assert (form.row_field, form.before_field, form.tombstone_deletes) == ("", "", False)
    assert str(form.op) == flat_op(f"{EVENT}.`__op`")


def flat_op(op: str) -> str:
    """Return the operation of a row with `__deleted`, which is true or false."""
    deleted = f"{EVENT}.`__deleted`"
    return (
        f"case coalesce({deleted}, 'false') when 'true' then 'd' when 'false' then {op} "
        f"else concat('__deleted', ' ', {deleted}) end"
    )


def test_without_deleted_a_tombstone_is_the_delete() -> None:
    """It has no position, so that nothing but Kafka's order is left, for all changes alike."""
    form = of_flat(__op="string", __commit_lsn="string")
    assert form.tombstone_deletes
    compiled = compile_table(
        feed(table()),
        [written(KEY_ID, key(ID))],
        [written(VALUE_ID, flat(__op="string", __commit_lsn="string"))],
    )
    assert compiled.terms == ()


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({"__op": "string", "__source_ts_ms": "long", "__lsn": "long"}, "its deletes are tombstones"),
        ({"__op": "string", "__deleted": "string", "__lsn": "long"}, "do not have a source time"),
    ],
)
def test_a_history_needs_the_time_of_each_change(metadata: dict[str, str], problem: str) -> None:
    """Flattened rows without it are refused, and the message says what to add."""
    config = attrs.evolve(table(), dialect="postgres", target=Target(mode="history"))
    keys, values = [written(KEY_ID, key(ID))], [written(VALUE_ID, flat(**metadata))]
    with pytest.raises(SchemaError, match=f"{problem}.*ExtractNewRecordState"):
        compile_table(feed(config), keys, values)
    whole = flat(__op="string", __deleted="string", __lsn="long", __source_ts_ms="long")
    compiled = compile_table(feed(config), keys, [written(VALUE_ID, whole)])
    assert compiled.record_key == ("id", "_cdc_partition", "_cdc_offset")


def test_without_op_every_row_that_is_not_deleted_is_an_update() -> None:
    """`__deleted` alone tells the rest."""
    form = of_flat(__deleted="string", __lsn="long")
    assert str(form.op) == flat_op("'u'")
    assert str(form.source_ms) == "cast(null as bigint)"


def test_a_key_outside_the_row_is_known() -> None:
    """CDL says the key in the value, in both of its forms; Debezium does not."""
    assert of_sample("cdl-value").unique_field == "unique"
    assert of_sample("cdl-debezium-value").unique_field == "unique"
    assert of_sample("oracle-value").unique_field == ""


def test_metadata_is_not_a_column() -> None:
    """It is read, and stays out of the table."""
    metadata = {"__op": "string", "__deleted": "string", "__commit_lsn": "string", "__table": "string"}
    compiled = compile_table(feed(table()), [written(KEY_ID, key(ID))], [written(VALUE_ID, flat(**metadata))])
    assert [column_version.column for column_version in compiled.row_variants] == ["a"]
    read = {field["name"] for field in json.loads(compiled.value.reader)["fields"]}
    assert {"__op", "__deleted", "__commit_lsn"} <= read
    assert "__table" not in read


def test_a_version_of_another_form_is_not_an_event_of_the_table() -> None:
    """They have no common order: the oldest version's form is the table's."""
    values = [
        written(VALUE_ID, envelope(ID)),
        written(VALUE_ID + 1, flat(__op="string", __commit_lsn="string")),
    ]
    compiled = compile_table(feed(table()), [written(KEY_ID, key(ID))], values)
    assert compiled.misfits == {
        VALUE_ID + 1: "is an event of the form 'flattened', the others are 'debezium'"
    }
    assert [writer.kind for writer in compiled.value.writers] == ["data", "foreign"]


def test_every_dialect_has_a_form_of_its_events() -> None:
    """Each source field that a position is made of is there, in the envelope's form."""
    for dialect in DIALECTS.values():
        for record in dialect.source_records:
            result = find_envelope(avro.parse(json.dumps(envelope(ID, source_record=record))), "v")
            assert result.dialect is dialect
            assert set(form_of(result, dialect).source) == set(dialect.source)
