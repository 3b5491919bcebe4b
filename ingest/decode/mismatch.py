"""The checks that a message's key and its row hold equal values.

The row also has the columns of a message key: in its image, or in the previous image if it is deleted.
Producers derive the key from the row, so two different values mean a damaged or wrongly joined message.
"""

from collections.abc import Iterator

import attrs

from ingest.compile.column_versions import ColumnVersion, merged_type
from ingest.compile.row_model import Coordinates, Document, RowKey
from ingest.compile.table import CompiledTable
from ingest.decode.keys import KEY
from ingest.decode.rejects import Check
from ingest.decode.route import op_sql
from ingest.errors import SchemaError
from ingest.sql.template import Sql, join, literal, sql
from ingest.sql.types import Simple, SparkType, has_map, reshape

_SHOWN = 100
"""The characters of a value that a reason shows."""


@attrs.frozen
class _Pair:
    """A column of a key and of the row, both as the table's value. The label names the column of the key."""

    label: str
    spark: SparkType
    in_key: Sql
    in_row: Sql


def mismatch_checks(compiled: CompiledTable) -> list[Check]:
    """Return the checks of a change with a key that contradicts its row. A null contradicts nothing."""
    if compiled.table.key.mismatch == "ignore" or compiled.key_source == Coordinates():
        return []
    return [*_unreadable_key(compiled), *map(_differs, _pairs(compiled))]


def key_flags(compiled: CompiledTable) -> list[Sql]:
    """Return the columns that the checks need of the key's bytes.

    JSON text that is not an object, such as a plain number, is a key without columns.
    """
    if not _keeps_both_keys(compiled):
        return []
    is_object = sql("startswith(cast(key as string), {brace})", brace=literal("{"))
    return [(sql("true") if compiled.table.format == "avro" else is_object).alias("is_key_record")]


def _keeps_both_keys(compiled: CompiledTable) -> bool:
    """Return whether the table has its key from the row, and the messages have keys with columns."""
    return compiled.key_source == RowKey() and bool(compiled.key.writers)


def _unreadable_key(compiled: CompiledTable) -> list[Check]:
    if not _keeps_both_keys(compiled):
        return []
    condition = sql("is_key_record and keyed is not null and not coalesce(keyed.whole, false)")
    return [Check(condition, "unreadable", literal("key: not readable, and cannot be compared with the row"))]


def _differs(pair: _Pair) -> Check:
    parts = {"in_key": pair.in_key, "in_row": pair.in_row}
    error = sql(
        "concat({column}, {key}, {text}, {row})",
        column=literal(f"{pair.label} is "),
        key=_shown(pair.in_key, pair.spark),
        text=literal(", and the row has "),
        row=_shown(pair.in_row, pair.spark),
    )
    return Check(sql("{in_key} != {in_row}", **parts), "key-mismatch", error)


def _shown(value: Sql, spark_type: SparkType) -> Sql:
    text = sql("hex({c})" if spark_type == Simple("binary") else "cast({c} as string)", c=value)
    return sql("left({text}, {most})", text=text, most=_SHOWN)


def _pairs(compiled: CompiledTable) -> Iterator[_Pair]:
    if compiled.image == Document():
        yield from _document_pairs(compiled)
        return
    in_value = compiled.value.columns()
    for name, in_key in compiled.key.columns().items():
        versions = in_value.get(name, ())
        spark_type = _common_type((*in_key, *versions)) if versions else None
        if spark_type:
            from_key = _merged([(KEY.field(v.field), v) for v in in_key], spark_type)
            in_row = _merged(_in_row(compiled, versions), spark_type)
            yield _Pair(f"key: column {name}", spark_type, from_key, in_row)
    yield from _unique_pairs(compiled)


def _unique_pairs(compiled: CompiledTable) -> Iterator[_Pair]:
    """Return the columns of the key that the value holds beside the row."""
    unique = compiled.form.unique_field
    if not unique or unique not in compiled.value.images:
        return
    for name, spark_type in compiled.key_columns:
        versions = compiled.value.columns().get(name, ())
        if versions:
            in_key = _merged([(compiled.form.at(unique).field(v.field), v) for v in versions], spark_type)
            in_row = _merged(_in_row(compiled, versions), spark_type)
            yield _Pair(f"value: {unique}.{name}", spark_type, in_key, in_row)


def _document_pairs(compiled: CompiledTable) -> Iterator[_Pair]:
    form = compiled.form
    document = sql("coalesce({after}, {before})", after=form.at("after"), before=form.at("before"))
    in_row = sql("ingest_document_id({document})", document=document)
    for name, versions in compiled.key.columns().items():
        values = [(KEY.field(version.field), version) for version in versions]
        yield _Pair(f"key: column {name}", Simple("string"), _merged(values, Simple("string")), in_row)


def _common_type(versions: tuple[ColumnVersion, ...]) -> SparkType | None:
    """Return the type to compare as, or None if the types of key and row have no common type."""
    try:
        spark_type = merged_type(versions, "")
    except SchemaError:
        return None
    return None if has_map(spark_type) else spark_type


def _in_row(compiled: CompiledTable, versions: tuple[ColumnVersion, ...]) -> list[tuple[Sql, ColumnVersion]]:
    form = compiled.form
    row = form.at(form.row_field)
    if not form.before_field or form.before_field not in compiled.value.images:
        return [(row.field(version.field), version) for version in versions]
    before, is_delete = form.at(form.before_field), sql("{op} = 'd'", op=op_sql(compiled))
    return [
        (
            sql(
                "if({d}, {before}, {after})",
                d=is_delete,
                before=before.field(v.field),
                after=row.field(v.field),
            ),
            v,
        )
        for v in versions
    ]


def _merged(values: list[tuple[Sql, ColumnVersion]], spark_type: SparkType) -> Sql:
    """Return the first value that is not null, as the table has it."""
    parts = (reshape(v.mapped.convert(value), v.mapped.spark, spark_type) for value, v in values)
    return sql("coalesce({values})", values=join(", ", parts))
