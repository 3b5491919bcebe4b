"""Masks of compiled tables: types, keys, renamed columns, and what is refused."""

import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from ingest import avro
from ingest.compile.payload import WriterSchema
from ingest.compile.table import compile_table
from ingest.errors import SchemaError, TableFileError
from ingest.masking import Masking, salt_id_of
from ingest.names import SchemaId
from ingest.tables import Column, Feed, WrongValueError
from ingest.testing import decimal, nullable, semantic
from tests.compile.sqlserver import KEY_ID, VALUE_ID, compiled, envelope, key, spark_types, table, written
from tests.feeds import feed

SALTED = Masking(salt_id=salt_id_of("a salt of sufficient length"))
INSTANT = semantic("string", "io.debezium.time.ZonedTimestamp")
NUMBERS = {"type": "array", "items": "int"}


def masked(**masks: Any) -> Feed:
    """Return a feed with the masks of these columns."""
    return feed(table(columns={name: Column(mask=mask) for name, mask in masks.items()}), SALTED)


@pytest.mark.parametrize(
    ("node", "mask", "expected"),
    [
        ("string", "hash", "string"),
        ("int", "hash", "string"),
        (decimal(9, 2), "hash", "string"),
        (INSTANT, "hash", "string"),
        ("bytes", "redact", "string"),
        (NUMBERS, "redact", "string"),
        ("long", "last4", "string"),
        (decimal(9, 2), "null", "decimal(9,2)"),
        (NUMBERS, "null", "array<int>"),
    ],
    ids=str,
)
def test_a_mask_decides_the_type(node: Any, mask: str, expected: str) -> None:
    """Text, but for `null`, which keeps the type of the column."""
    result = compiled([{"id": "int", "v": node}], of=masked(v=mask))
    assert spark_types(result)["v"] == [expected]
    assert result.masks == {"id": None, "v": mask}


@pytest.mark.parametrize(
    ("node", "mask"), [(NUMBERS, "hash"), (NUMBERS, "last4"), ("double", "last4"), (decimal(9, 2), "last4")]
)
def test_a_mask_that_does_not_fit_a_type_is_refused(node: Any, mask: str) -> None:
    """The error names the column, its type and the masks that fit."""
    with pytest.raises(SchemaError, match=r"\$\.after\.v: a .* cannot have the mask .* Use \"redact\""):
        compiled([{"id": "int", "v": node}], of=masked(v=mask))


def test_a_hash_needs_a_salt() -> None:
    """Without one the error names key and remedy."""
    unsalted = feed(masked(v="hash").table)
    with pytest.raises(TableFileError, match=r"columns\.v\.mask: 'hash' needs a salt\. Set \[masking\] salt"):
        compiled([{"id": "int", "v": "string"}], of=unsalted)


def test_a_hashed_key_stays_a_key() -> None:
    """As text, in the key and in the row."""
    result = compiled([{"id": "int", "v": "string"}], of=masked(id="hash"))
    assert [(name, str(kind)) for name, kind in result.key_columns] == [("id", "string")]


@pytest.mark.parametrize("mask", ["redact", "last4", "null"])
def test_other_masks_of_a_key_are_refused(mask: str) -> None:
    """They would merge rows: a key from the registry, or declared in the file."""
    with pytest.raises(SchemaError, match="would merge rows of different keys"):
        compiled([{"id": "int", "v": "string"}], of=masked(id=mask))
    with pytest.raises(WrongValueError, match="would merge rows of different keys"):
        table("id", columns={"id": Column(mask=mask)})  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", ["evolve", "ignore"])
def test_a_renamed_column_keeps_its_mask(policy: str) -> None:
    """A later version calls it otherwise, by an Avro alias: no version of the column is in clear."""
    old = written(VALUE_ID, envelope({"id": "int", "email": nullable("string")}))
    newer = envelope({"id": "int", "mail": nullable("string")})
    (field,) = (item for item in newer["fields"][0]["type"][1]["fields"] if item["name"] == "mail")
    field["aliases"] = ["email"]
    of = feed(
        attrs.evolve(table(columns={"email": Column(mask="redact")}), evolution={"column-renamed": policy}),
        SALTED,
    )

    result = compile_table(of, [written(KEY_ID, key({"id": "int"}))], [old, written(VALUE_ID + 1, newer)])

    masks = {v.origin: v.mapped.mask for v in result.value.column_versions}
    assert masks == {"id": None, "email": "redact", "mail": "redact"}


def test_masked_and_clear_values_never_share_a_column() -> None:
    """Their units differ, so that a table with the one refuses the other."""
    versions = [{"id": "int", "v": "string"}]
    clear = compiled(versions).value.columns()["v"][0].mapped
    hashed = compiled(versions, of=masked(v="hash")).value.columns()["v"][0].mapped
    assert hashed.clash(clear.units)


def tagging(text: str, *tags: tuple[str, tuple[str, ...]]) -> avro.Schema:
    """Parse a schema, with the tags of its metadata."""
    return avro.with_tags(avro.parse(text, where="v1"), tags)


@pytest.mark.parametrize(
    "path", ["srv.db.dbo.t.Value.email", "Value.email", "**.email", "*.email", "email"], ids=str
)
def test_tags_come_from_the_registrys_metadata(path: str) -> None:
    """By the record's full or short name, with wildcards; the other columns stay in clear."""
    text = json.dumps(envelope({"id": "int", "email": nullable("string"), "city": "string"}))
    value = WriterSchema(SchemaId(VALUE_ID), "v1", tagging(text, (path, ("PII",))))
    of = feed(table(), attrs.evolve(SALTED, tags={"PII": "hash"}))

    result = compile_table(of, [written(KEY_ID, key({"id": "int"}))], [value])

    assert result.masks == {"id": None, "email": "hash", "city": None}


def inline(node: Any) -> dict[str, Any]:
    """Return a field's `confluent:tags`."""
    return {"type": node, "confluent:tags": ["OTHER", "PII"]}


def by_parameter(node: Any) -> dict[str, Any]:
    """Return a type with the parameter of Kafka Connect."""
    return {"type": {"type": node, "connect.parameters": {"tags": "PII,OTHER"}}}


@pytest.mark.parametrize("tag", [inline, by_parameter])
def test_a_tag_in_any_version_masks_every_version(tag: Callable[[Any], dict[str, Any]]) -> None:
    """Of the value or of the key alone: the older values, too, and the key in both."""
    older, newer = envelope({"id": "int", "v": "string"}), envelope({"id": "int", "v": "string"})
    (field,) = (item for item in newer["fields"][0]["type"][1]["fields"] if item["name"] == "v")
    field |= tag("string")
    keyed = key({"id": "int"})
    keyed["fields"][0] |= tag("int")
    of = feed(table(), attrs.evolve(SALTED, tags={"PII": "hash"}))

    result = compile_table(
        of, [written(KEY_ID, keyed)], [written(VALUE_ID, older), written(VALUE_ID + 1, newer)]
    )

    assert {(v.origin, v.mapped.mask) for v in result.value.column_versions} == {
        ("id", "hash"),
        ("v", "hash"),
    }
    assert result.masks == {"id": "hash", "v": "hash"}


def test_the_table_file_wins_over_a_tag_and_a_nested_tag_counts() -> None:
    """A person's mask is chosen; a struct with a tagged field is redacted, since it has no hash."""
    inner = {"type": "record", "name": "Address", "fields": [{"name": "street", **inline("string")}]}
    columns = {"id": "int", "address": inner, "phone": "string"}
    node = envelope(columns)
    (field,) = (item for item in node["fields"][0]["type"][1]["fields"] if item["name"] == "phone")
    field |= inline("string")
    of = feed(table(columns={"phone": Column(mask="last4")}), attrs.evolve(SALTED, tags={"PII": "hash"}))

    result = compile_table(of, [written(KEY_ID, key({"id": "int"}))], [written(VALUE_ID, node)])

    assert result.masks == {"id": None, "address": "redact", "phone": "last4"}
