"""The columns of documents to compare, and the keys to look up."""

import json
from pathlib import Path

import pytest
from bson import Binary, Int64, ObjectId, json_util

from ingest import avro
from ingest.compile.payload import WriterSchema
from ingest.compile.table import CompiledTable, compile_table
from ingest.errors import UsageError
from ingest.names import SchemaId, Subject
from ingest.sql.types import parse_ddl
from ingest.tables import TableConfig
from ingest.tables.table import Document, DocumentColumn, Subjects
from ingest.verify.documents import document_layout
from tests.feeds import feed

FIXTURES = Path(__file__).parents[2] / "registry_fixtures" / "mongodb"
STORED = {
    name: parse_ddl(ddl)
    for name, ddl in {
        "_cdc_op": "string", "id": "string", "doc": "string", "n": "int", "name": "string",
        "gone": "int",
    }.items()
}  # fmt: skip


@pytest.fixture(scope="module")
def compiled() -> CompiledTable:
    """Compile a recorded topic with columns cut out of its documents."""

    def written(side: str, schema_id: int) -> WriterSchema:
        text = (FIXTURES / f"mgs.inventory.mixed-{side}" / "v1.avsc").read_text()
        return WriterSchema(SchemaId(schema_id), side, avro.parse(text, where=side))

    columns = {
        "n": DocumentColumn("$.n", "int"),
        "name": DocumentColumn("$.name"),
    }
    config = TableConfig(
        name="mixed",
        topic="mgs.inventory.mixed",
        dialect="mongodb",
        document=Document(columns),
        subjects=Subjects(value=Subject("mgs.inventory.mixed-value")),
    )
    return compile_table(feed(config), (written("key", 280),), (written("value", 281),))


def test_a_document_is_compared_by_its_value_and_its_columns(compiled: CompiledTable) -> None:
    """Texts cut out of a document are not, and say why."""
    layout = document_layout(compiled, STORED, "checksums", ())
    assert [(key.name, key.source) for key in layout.keys] == [("id", "_id")]
    assert [(column.name, column.form.name) for column in layout.columns] == [
        ("doc", "document"), ("n", "integer"),
    ]  # fmt: skip
    assert set(layout.uncompared) == {"name", "gone"}
    assert layout.uncompared["gone"] == "is not in [document.columns]"
    assert str(layout.lake_row("ingest_row_text")) == (
        "ingest_row_text('ffp', if(`id` is null, null, ingest_document_key(`id`)), "
        "if(`doc` is null, null, ingest_document_text(`doc`)), `n`)"
    )


def test_some_columns_are_chosen(compiled: CompiledTable) -> None:
    """The key is always one of them."""
    layout = document_layout(compiled, STORED, "full", ("n",))
    assert [column.name for column in layout.columns] == ["n"]
    assert dict(layout.uncompared) == {}
    with pytest.raises(UsageError, match="--columns: m is not a column"):
        document_layout(compiled, STORED, "full", ("m",))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ('"a"', "a"),
        ("5", 5),
        ('{"$oid":"5f43a1b2c3d4e5f60718293a"}', ObjectId("5f43a1b2c3d4e5f60718293a")),
        ("5000000000", Int64(5_000_000_000)),
        ('{"a":1,"b":"x"}', {"a": 1, "b": "x"}),
        ('{"$binary":{"base64":"AAE=","subType":"00"}}', b"\0\1"),
        (
            '{"$binary":{"base64":"AAAAAAAAAAcAAAAAAAAD6g==","subType":"04"}}',
            Binary(bytes.fromhex("000000000000000700000000000003ea"), 4),
        ),
    ],
)
def test_the_driver_reads_a_key_of_the_table(key: str, value: object) -> None:
    """In the one spelling that the table has."""
    assert json.loads(key) is not None
    assert json_util.loads(key, json_options=json_util.CANONICAL_JSON_OPTIONS) == value
