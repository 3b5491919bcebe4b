"""The row of an event as SQL, and the way to complete it if it lacks values.

An update may lack values that it did not touch: a column holds a placeholder (PostgreSQL's TOAST, large
objects of Oracle and SQL Server), or a description of the update replaces the document (MongoDB).  Such an
event is *partial*: an older row gives the missing values.
"""

from typing import assert_never

from ingest.compile.column_versions import ColumnVersion
from ingest.compile.document import DOCUMENT
from ingest.compile.row_model import Columns, Document
from ingest.compile.table import CompiledTable
from ingest.sql.template import Sql, any_true, join, sql

UPDATE_FIELDS = ("updatedFields", "removedFields", "truncatedArrays")


def decoded_value(compiled: CompiledTable, version: ColumnVersion) -> Sql:
    """Return the decoded value of one version of a row's column."""
    form = compiled.form
    image = form.at(form.row_field)
    if compiled.image == Document():
        return image
    after = image.field(version.field)
    if not compiled.model.is_log or not form.before_field:
        return after
    before = form.at(form.before_field).field(version.field)
    return sql("if({op} = 'd', {before}, {after})", op=form.op, before=before, after=after)


def row_fields(compiled: CompiledTable) -> list[tuple[str, Sql]]:
    """Return the fields of an event's row, by name, over the decoded event."""
    match compiled.image:
        case Document():
            return _document_fields(compiled)
        case Columns():
            return [(v.field, _field(compiled, v)) for v in compiled.row_variants]
        case image:
            assert_never(image)


def _field(compiled: CompiledTable, version: ColumnVersion) -> Sql:
    """Return a field.  A value that the source did not send is null if no older row completes it."""
    value = version.mapped.convert(decoded_value(compiled, version))
    unavailable = version.mapped.is_unavailable(value)
    if not compiled.model.is_log or unavailable is None:
        return value
    return sql("if({unavailable}, null, {value})", unavailable=unavailable, value=value)


def _document_fields(compiled: CompiledTable) -> list[tuple[str, Sql]]:
    """Return the document, or else the changes to make to an older one.

    A pre-image is as good as the document.
    """
    update = compiled.form.at("updateDescription")
    parts = [(field, update.field(field)) for field in UPDATE_FIELDS]
    document = sql(
        "coalesce({after}, if({update} is null, null, ingest_document_update({before}, {parts})))",
        after=compiled.form.at("after"),
        update=update,
        before=compiled.form.at("before"),
        parts=join(", ", (part for _, part in parts)),
    )
    return [(DOCUMENT, document), *parts]


def partial_sql(compiled: CompiledTable) -> Sql:
    """Return a condition that is true for an event whose row lacks values, and never null."""
    lacks = _lacking_values(compiled)
    deleted = _deleted_sql(compiled)
    if not lacks:
        return deleted
    return sql(
        "({deleted} or (coalesce(writer is not null and {op} in ('c', 'u', 'r'), false) and {lacks}))",
        deleted=deleted,
        op=compiled.form.op,
        lacks=any_true(lacks),
    )


def _lacking_values(compiled: CompiledTable) -> list[Sql]:
    """Return a condition for each value that an event's row may lack."""
    fields = dict(row_fields(compiled))
    match compiled.image:
        case Document():
            return [sql("({document}) is null", document=fields[DOCUMENT])]
        case Columns():
            unavailable = (v.mapped.is_unavailable(fields[v.field]) for v in compiled.row_variants)
            return [condition for condition in unavailable if condition]
        case image:
            assert_never(image)


def _deleted_sql(compiled: CompiledTable) -> Sql:
    """Return a condition that is true for a delete that lacks a soft-delete table's row, and never null."""
    if not compiled.model.marks_deletes:
        return sql("false")
    tombstone = sql("writer is null" if compiled.form.tombstone_deletes else "false")
    return sql("({tombstone} or coalesce({op} = 'd', false))", tombstone=tombstone, op=compiled.form.op)


def lacks_sql(compiled: CompiledTable, version: ColumnVersion, row: Sql) -> Sql | None:
    """Return a condition that is true if a row lacks a version's value, or None if it never does."""
    value = row.field(version.field)
    match compiled.image:
        case Document():
            return sql("{value} is null", value=value)
        case Columns():
            return version.mapped.is_unavailable(value)
        case image:
            assert_never(image)


def patch_sql(compiled: CompiledTable, row: Sql, old: Sql) -> Sql:
    """Return the value that a row lacks, from the old one."""
    match compiled.image:
        case Columns():
            return old
        case Document():
            parts = join(", ", (row.field(field) for field in UPDATE_FIELDS))
            return sql("ingest_document_update({old}, {parts})", old=old, parts=parts)
        case image:
            assert_never(image)
