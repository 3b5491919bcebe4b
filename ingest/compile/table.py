"""Key and value schemas, all versions of them, compiled into one table."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import attrs

from ingest import avro
from ingest.compile.column_versions import (
    ColumnVersion,
    Image,
    compile_columns,
    reader_json,
    readers,
    target_name,
    wire_json,
)
from ingest.compile.document import Derived, compile_document, derived_columns
from ingest.compile.envelope import Envelope, classify, find_envelope, plain_record, why_foreign
from ingest.compile.event import COORDINATES, EventForm, form_of
from ingest.compile.keys import (
    bare_key,
    compile_keys,
    key_columns_of,
    message_key,
    no_key,
    source_column,
    unique_key,
)
from ingest.compile.payload import CompiledWriter, Payload, WriterSchema
from ingest.compile.position import terms_of
from ingest.compile.row_model import (
    Columns,
    Coordinates,
    Document,
    KeySource,
    MessageKey,
    RowImage,
    RowKey,
    RowModel,
    row_model,
)
from ingest.compile.tags import tagged
from ingest.dialects import DIALECTS, RECORD, Dialect, Term
from ingest.errors import SchemaError
from ingest.masking import Mask
from ingest.names import SchemaId
from ingest.registry import Side
from ingest.sql.template import Sql
from ingest.sql.types import Simple, SparkType
from ingest.tables import Feed, TableConfig
from ingest.typemap.column import reader_record

_NO_KEYS = Payload((), (), reader_json("K", {}))
_COORDINATES = tuple(zip(COORDINATES, (Simple("int"), Simple("bigint")), strict=True))
"""The key of a table that keeps every change: its coordinates in the topic."""


@attrs.frozen
class CompiledTable:
    """All that the later rooms need of one table."""

    feed: Feed
    dialect: Dialect
    form: EventForm
    key: Payload
    value: Payload
    key_columns: tuple[tuple[str, SparkType], ...]
    key_source: KeySource
    derived: tuple[Derived, ...] = ()
    """Columns made of a document."""
    misfits: Mapping[SchemaId, str] = attrs.field(factory=dict, hash=False)
    """Versions that are not events of this table (another form, connector or kind), and the reasons."""
    unmapped: tuple[tuple[WriterSchema, str], ...] = ()
    """Value schemas that cannot be compiled, and the reasons.  Their messages are rejected."""
    unmapped_keys: tuple[tuple[WriterSchema, str], ...] = ()
    """The same of keys."""
    key_rules: tuple[tuple[Sql, str], ...] = ()
    """Conditions that are true of keys which cannot be stored, and why.  Their changes are rejected."""

    @property
    def table(self) -> TableConfig:
        """The table file."""
        return self.feed.table

    @property
    def schema_ids(self) -> tuple[SchemaId, ...]:
        """The ids of the value schemas."""
        return tuple(writer.schema_id for writer in self.value.writers)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of the position."""
        return terms_of(self.dialect, self.form)

    @property
    def model(self) -> RowModel:
        """How changes become rows."""
        return row_model(self.table.target)

    @property
    def image(self) -> RowImage:
        """What a row consists of."""
        return Document() if self.dialect.is_document else Columns()

    @property
    def record_key(self) -> tuple[str, ...]:
        """The columns that identify a row of the table.  The versions of a row have its key in common."""
        names = tuple(name for name, _ in self.key_columns)
        return (*names, *COORDINATES) if self.model.has_versions else names

    @property
    def keyed_tombstones(self) -> bool:
        """Whether a tombstone's key is a row's key, and the tombstone itself does not count as a delete."""
        return self.key_source == MessageKey() and not self.form.tombstone_deletes

    @property
    def merges_tombstones(self) -> bool:
        """Whether a tombstone counts as a message of its key's row.  In a history each change is a row."""
        return self.keyed_tombstones and not self.model.has_versions

    def unmapped_of(self, side: Side) -> tuple[tuple[WriterSchema, str], ...]:
        """Return the schemas of keys or of values that cannot be compiled, and the reasons."""
        return self.unmapped_keys if side == "key" else self.unmapped

    @property
    def row_variants(self) -> tuple[ColumnVersion, ...]:
        """The variants that the row image gives: all except the columns of a message key."""
        keys = {name for name, _ in self.key_columns} if self.key_source == MessageKey() else set()
        return tuple(
            column_version
            for column_version in self.value.column_versions
            if column_version.column not in keys
        )

    @property
    def masks(self) -> dict[str, Mask | None]:
        """The mask of each column, or None for a column without one."""
        versions = (*self.key.column_versions, *self.value.column_versions)
        return {version.column: version.mapped.mask for version in versions}

    @property
    def may_be_partial(self) -> bool:
        """Whether an event may lack values of its row, so that an older one has to give them.

        A history completes each version from the one before.  A delete lacks all values but the key.
        """
        if self.model.keeps_deletes:
            return self.model.marks_deletes
        return self.image == Document() or any(v.mapped.unavailable for v in self.row_variants)


def compile_table(feed: Feed, keys: Sequence[WriterSchema], values: Sequence[WriterSchema]) -> CompiledTable:
    """Compile a table from every schema that its keys and values may have been written with.

    The order of `values` is the order of columns.  Raises `SchemaError` or `UnmappedTypeError`, with the
    schema's label and the field's path.
    """
    feed = tagged(feed, keys, values)
    table = feed.table
    dialect = DIALECTS[table.dialect]
    if dialect.is_document and feed.masking.columns:
        name, mask = next(iter(feed.masking.columns.items()))
        problem = f"a tag gives it the mask '{mask}', and the column `doc` would hold all values"
        raise SchemaError(f"topic {feed.topic}", f"$.{name}", problem, "Documents cannot have masks")
    envelopes, misfits = _envelopes(dialect, values)
    if not envelopes:
        label = values[-1].label if values else f"topic {feed.topic}"
        problem = next(iter(misfits.values()), "is not a change event")
        raise SchemaError(label, "$", problem, "Onboard topics of change events")
    newest = next(envelopes[writer.schema_id] for writer in reversed(values) if writer.schema_id in envelopes)
    form = form_of(newest, dialect)
    _check_history(feed, form)
    derived = derived_columns(table) if dialect.is_document else ()
    if table.target.mode == "append":
        value = _compile_values(feed, form, values, envelopes, (), key_in_row=False)
        return CompiledTable(
            feed,
            dialect,
            form,
            _NO_KEYS,
            value,
            (*_COORDINATES, *source_column(feed)),
            Coordinates(),
            derived=derived,
            misfits=misfits,
        )
    in_message = message_key(keys)
    key_names = table.key.columns or in_message or unique_key(newest)
    if not key_names:
        raise no_key(feed, keys)
    key_in_row = set(key_names) != set(in_message)
    key = compile_keys(feed, dialect, keys or bare_key(feed, newest, key_names))
    older = _older_columns(table, key, key_names, in_message)
    value = _compile_values(feed, form, values, envelopes, older, key_in_row=key_in_row)
    columns = (*key_columns_of(feed, value if key_in_row else key, key_names), *source_column(feed))
    source = RowKey() if key_in_row else MessageKey()
    return CompiledTable(feed, dialect, form, key, value, columns, source, derived, misfits=misfits)


def _older_columns(
    table: TableConfig, key: Payload, names: Sequence[str], in_message: Sequence[str]
) -> set[str]:
    """Return the columns to read of a row before its change: a key in the row, and all keys to compare."""
    in_row = names if set(names) != set(in_message) else ()
    compared = key.column_versions if table.key.mismatch == "reject" else ()
    return {*(target_name(table, name) for name in in_row), *(version.column for version in compared)}


def _envelopes(
    dialect: Dialect, values: Sequence[WriterSchema]
) -> tuple[dict[SchemaId, Envelope], dict[SchemaId, str]]:
    """Return the envelopes of the schemas that wrote changes of this table, and why others did not.

    With plain records, every schema has an envelope.  The oldest version's form is the table's form.
    """
    if dialect == RECORD:
        return {writer.schema_id: plain_record(writer.schema, writer.label) for writer in values}, {}
    envelopes: dict[SchemaId, Envelope] = {}
    misfits: dict[SchemaId, str] = {}
    for writer in values:
        kind = classify(writer.schema)
        if kind == "foreign" and writer.version:
            misfits[writer.schema_id] = why_foreign(writer.schema)
        if kind != "data":
            continue
        envelope = find_envelope(writer.schema, writer.label)
        form = next((earlier.form for earlier in envelopes.values()), envelope.form)
        if envelope.source_record and envelope.dialect != dialect:
            misfits[writer.schema_id] = f"is an event of {envelope.source_record}, not one of {dialect.title}"
        elif envelope.form != form:
            misfits[writer.schema_id] = f"is an event of the form '{envelope.form}', the others are '{form}'"
        else:
            envelopes[writer.schema_id] = envelope
    return envelopes, misfits


def _check_history(feed: Feed, form: EventForm) -> None:
    """Refuse a history of events that do not say when they happened."""
    if feed.table.target.mode != "history":
        return
    problem = ""
    if form.tombstone_deletes:
        problem = "its deletes are tombstones, which do not have a source time"
    elif not form.has_source_time:
        problem = "its events do not have a source time"
    if problem:
        raise SchemaError(
            f"topic {feed.topic}",
            "$",
            f"{problem}, and a history needs the time of each change",
            "Add `source.ts_ms` and `__deleted` to the rows (ExtractNewRecordState: add.fields, "
            'delete.tombstone.handling.mode), or set [target] mode = "upsert"',
        )


def _compile_values(
    feed: Feed,
    form: EventForm,
    values: Sequence[WriterSchema],
    envelopes: Mapping[SchemaId, Envelope],
    older: Collection[str],
    *,
    key_in_row: bool,
) -> Payload:
    """Compile the values.  `older` are the columns to read of a row before its change, too."""
    dialect = DIALECTS[feed.table.dialect]
    images = {
        written.schema_id: Image(
            written.schema_id, written.label, envelopes[written.schema_id].row, written.version
        )
        for written in values
        if written.schema_id in envelopes
    }
    if dialect.is_document:
        column_versions = compile_document(tuple(images))
    else:
        path = f"$.{form.row_field}" if form.row_field else "$"
        column_versions = compile_columns(feed, dialect, tuple(images.values()), path)
    writers = tuple(
        _value_writer(written, images.get(written.schema_id), column_versions) for written in values
    )
    row = readers(column_versions) if not dialect.is_document else {}
    key_readers = readers(v for v in column_versions if v.column in older)
    before = row if feed.table.target.mode == "append" else key_readers
    parts, fields = _images(form, row, before, key_readers if key_in_row else {})
    read = {**parts, **form.parts, **parts}  # a record of columns wins over what the form reads of it
    return Payload(writers, column_versions, reader_json("Event", read), fields)


def _images(
    form: EventForm, row: Mapping[str, Any], before: Mapping[str, Any], unique: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the reader's fields that hold columns: the row, the row before, and the key in the value."""
    if not form.row_field:
        return dict(row), ("",)
    images = {form.row_field: reader_record("Row", row)} if row else {}
    for field, columns in ((form.before_field, before), (form.unique_field, unique)):
        if field and columns:
            images[field] = reader_record(field.capitalize(), columns)
    return images, tuple(images)


def _value_writer(
    written: WriterSchema, image: Image | None, column_versions: Sequence[ColumnVersion]
) -> CompiledWriter:
    writer = CompiledWriter(
        written.schema_id,
        written.label,
        "data",
        frame=written.frame,
        version=written.version,
        frame_ids=written.frame_ids,
    )
    if image is None:
        kind = classify(written.schema)
        writer = attrs.evolve(writer, kind="foreign" if kind == "data" else kind)
        if writer.kind == "foreign" or written.schema_id < 0 or not isinstance(written.schema, avro.Record):
            return writer
        # Decoded only to see that the payload is whole: any other may be a change whose schema id is corrupt.
        root = Image(written.schema_id, written.label, written.schema, written.version)
        return attrs.evolve(writer, wire=wire_json(written.schema, root, ()))
    wire = wire_json(written.schema, image, column_versions)
    return attrs.evolve(writer, wire=wire, names=image.fields(column_versions), record=image.record)
