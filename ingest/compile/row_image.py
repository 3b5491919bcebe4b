"""The row of an event as SQL, and what to do where it lacks values.

An update may come without values that it did not touch: as a placeholder in a column (PostgreSQL's TOAST,
large objects of Oracle and SQL Server), or as a description of the update in place of the document (MongoDB).
Such an event is *partial*: an older row gives what it lacks.
"""

from ingest.compile.column_versions import ColumnVersion
from ingest.compile.document import DOCUMENT
from ingest.compile.table import CompiledTable

_UPDATE_FIELDS = ("updatedFields", "removedFields", "truncatedArrays")


def place_of(compiled: CompiledTable, version: ColumnVersion) -> str:
    """Return SQL for the decoded value of a row's variant."""
    form = compiled.form
    image = form.at(form.row_field)
    if compiled.dialect.is_document:
        return image
    if compiled.keeps_all and form.before_field:  # a delete's row is the one before
        return f"if({form.op} = 'd', {form.at(form.before_field)}.{version.field}, {image}.{version.field})"
    return f"{image}.{version.field}"


def row_fields(compiled: CompiledTable) -> list[tuple[str, str]]:
    """Return the fields of an event's row, by name, and their SQL over the decoded event."""
    if compiled.dialect.is_document:
        return _document_fields(compiled)
    return [(v.field, _field(compiled, v)) for v in compiled.row_variants]


def _field(compiled: CompiledTable, version: ColumnVersion) -> str:
    """Return SQL for a field; a value that is not there is null in a row that no older one completes."""
    value = version.mapped.convert(place_of(compiled, version))
    if not compiled.keeps_all or not version.mapped.unavailable:
        return value
    return f"if({version.mapped.unavailable.replace('{c}', value)}, null, {value})"


def _document_fields(compiled: CompiledTable) -> list[tuple[str, str]]:
    """Return the document, or, where it is not there, what is to be done to an older one.

    A pre-image is as good as the document.
    """
    update = compiled.form.at("updateDescription")
    parts = {field: f"{update}.{field}" for field in _UPDATE_FIELDS}
    before = compiled.form.at("before")
    updated = f"ingest_document_update({before}, {', '.join(parts.values())})"
    document = f"coalesce({compiled.form.at('after')}, if({update} is null, null, {updated}))"
    return [(DOCUMENT, document), *parts.items()]


def partial_sql(compiled: CompiledTable) -> str:
    """Return SQL that is true for an event whose row lacks values; never null."""
    fields = dict(row_fields(compiled))
    op = "writer is not null and " + f"{compiled.form.op} in ('c', 'u', 'r')"
    deleted = _deleted_sql(compiled)
    if compiled.dialect.is_document:
        return f"({deleted} or coalesce({op} and ({fields[DOCUMENT]}) is null, false))"
    lacking = [
        f"int(coalesce({v.mapped.unavailable.replace('{c}', fields[v.field])}, false))"
        for v in compiled.row_variants
        if v.mapped.unavailable
    ]
    lacks = f"coalesce({op}, false) and ({' + '.join(lacking)}) > 0" if lacking else "false"
    return f"({deleted} or {lacks})"


def _deleted_sql(compiled: CompiledTable) -> str:
    """Return SQL that is true for a delete that lacks the row, since that is to stay; never null."""
    if not compiled.marks_deleted:
        return "false"
    nothing = "writer is null or " if compiled.form.tombstone_deletes else ""
    return f"({nothing}coalesce({compiled.form.op} = 'd', false))"


def lacks_sql(compiled: CompiledTable, version: ColumnVersion, row: str) -> str:
    """Return SQL that is true where a row lacks the value of a variant; empty where it never does."""
    field = f"{row}.{version.field}"
    if compiled.dialect.is_document:
        return f"{field} is null"
    return version.mapped.unavailable.replace("{c}", field)


def patch_sql(compiled: CompiledTable, row: str, old: str) -> str:
    """Return SQL for a value that a row lacks, from the old one."""
    if not compiled.dialect.is_document:
        return old
    return f"ingest_document_update({old}, {', '.join(f'{row}.{field}' for field in _UPDATE_FIELDS)})"
