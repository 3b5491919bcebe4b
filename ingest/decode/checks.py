"""The checks of a decoded message: each is a condition for its rejection, with a reason.

`refused` maps the schemas that a policy of the table file rejects to the reason.
"""

from collections.abc import Iterable

from ingest.compile.column_versions import ColumnVersion
from ingest.compile.policy import Refused
from ingest.compile.row_image import decoded_value
from ingest.compile.row_model import Coordinates, Document, MessageKey, RowKey
from ingest.compile.table import CompiledTable
from ingest.decode.format import format_of
from ingest.decode.framing import frame_checks
from ingest.decode.keys import KEY, key_sql, key_values
from ingest.decode.large import large_checks
from ingest.decode.mismatch import mismatch_checks
from ingest.decode.rejects import Check
from ingest.decode.route import event_checks, op_sql, position_checks
from ingest.registry import Side
from ingest.sql.template import Sql, join, literal, sql
from ingest.tables import SOURCE

_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""0001-01-01 and 9999-12-31 in UTC: the range of a timestamp."""


def change_checks(compiled: CompiledTable, refused: Refused) -> list[Check]:
    """Return every reason to reject a change, the most basic first."""
    return [*_value_checks(compiled, refused), *_row_checks(compiled)]


def _value_checks(compiled: CompiledTable, refused: Refused) -> list[Check]:
    return [
        _unreadable(compiled, "value", "event"),
        *_refused_checks(compiled, refused),
        *event_checks(compiled),
    ]


def tombstone_checks(compiled: CompiledTable) -> list[Check]:
    """Return the reasons to reject a tombstone, which are its key's."""
    values = [pair for name, _ in compiled.key_columns for pair in key_values(compiled, name)]
    return [*_key_checks(compiled), *_column_checks(compiled, values)]


def _row_checks(compiled: CompiledTable) -> list[Check]:
    return [
        *_key_checks(compiled),
        *mismatch_checks(compiled),
        *_key_moves(compiled),
        *_conversion_checks(compiled),
        *_document_checks(compiled),
        *_derived_checks(compiled),
        *_time_checks(compiled),
        *position_checks(compiled),
    ]


def reasons(compiled: CompiledTable, refused: Refused) -> list[Check]:
    """Return the checks, including checks of undecoded bytes that only give better reasons."""
    form = format_of(compiled)
    keyed = compiled.key_source == MessageKey()
    null = Check(sql("key is null"), "null-key", literal("key: null, so the change has no row"), implied=True)
    keys = [
        null,
        *_unmapped(compiled, "key"),
        *frame_checks(compiled, "key"),
        *form.checks(compiled.key, "key"),
    ]
    return [
        *large_checks(compiled),
        *_unmapped(compiled, "value"),
        *frame_checks(compiled, "value"),
        *form.checks(compiled.value, "value"),
        *_value_checks(compiled, refused),
        *(keys if keyed else []),
        *_row_checks(compiled),
    ]


def _unmapped(compiled: CompiledTable, side: Side) -> list[Check]:
    form = format_of(compiled)
    return [
        Check(form.written_by(schema, side), "unmapped-schema", literal(f"{side}: {why}"), implied=True)
        for schema, why in compiled.unmapped_of(side)
    ]


UNREADABLE = "not readable with its own schema"
"""The part of a reason by which `diagnosis` finds messages worth a look at their bytes."""


def _unreadable(compiled: CompiledTable, column: str, decoded: str) -> Check:
    form = format_of(compiled)
    condition = sql("not {whole}", whole=form.is_whole(decoded))
    if column == "value" and compiled.form.tombstone_deletes:
        condition = sql("writer is not null and {condition}", condition=condition)
    error = sql("concat({text}, {label})", text=literal(f"{column}: {UNREADABLE}"), label=form.label(column))
    return Check(condition, "unreadable", error)


def _refused_checks(compiled: CompiledTable, refused: Refused) -> list[Check]:
    """Return the check of changes that a policy rejects by the schema that wrote them."""
    numbered = [
        (index, refused[writer.schema_id])
        for index, writer in enumerate(compiled.value.writers)
        if writer.schema_id in refused
    ]
    if not numbered:
        return []
    branches = (sql("when {n} then {text}", n=n, text=literal(f"value: {reason}")) for n, reason in numbered)
    numbers = join(", ", (sql("{n}", n=n) for n, _ in numbered))
    condition = sql("coalesce(writer in ({numbers}), false)", numbers=numbers)
    error = sql("case writer {branches} end", branches=join(" ", branches))
    return [Check(condition, "refused-by-policy", error)]


def _key_checks(compiled: CompiledTable) -> list[Check]:
    if compiled.key_source == Coordinates():
        return []
    nulls = [_null_key(compiled, name) for name, _ in compiled.key_columns if name != SOURCE]
    unsafe = [Check(unsafe, "unsafe-key", literal(f"key: {why}")) for unsafe, why in compiled.key_rules]
    unread = [_unreadable(compiled, "key", "keyed")] if compiled.key_source == MessageKey() else []
    return [*unread, *nulls, *unsafe]


def _null_key(compiled: CompiledTable, name: str) -> Check:
    is_null = sql("{key} is null", key=key_sql(compiled, name))
    return Check(is_null, "null-key", literal(f"key: column {name} is null"))


def _key_moves(compiled: CompiledTable) -> list[Check]:
    """Return the check of an update that changes a declared key: it would leave the old row behind."""
    form = compiled.form
    if compiled.key_source != RowKey() or form.before_field not in compiled.value.images:
        return []
    before, after = form.at(form.before_field), form.at(form.row_field)
    moved = [
        sql("{before} != {after}", before=before.field(v.field), after=after.field(v.field))
        for name, _ in compiled.key_columns
        for v in compiled.value.columns().get(name, ())
    ]
    condition = sql("{op} = 'u' and ({moved})", op=op_sql(compiled), moved=join(" or ", moved))
    error = literal("value: the update changes a key column that the table file declares")
    return [Check(condition, "moved-key", error)]


def _conversion_checks(compiled: CompiledTable) -> list[Check]:
    """Return the checks of values that cannot be converted. A value of both row and key is checked once."""
    values = [
        *((decoded_value(compiled, version), version) for version in compiled.row_variants),
        *(pair for name, _ in compiled.key_columns for pair in key_values(compiled, name)),
    ]
    return _column_checks(compiled, values)


def _column_checks(compiled: CompiledTable, values: Iterable[tuple[Sql, ColumnVersion]]) -> list[Check]:
    """Return the check of each decoded value's conversion."""
    return [
        Check(fault, "conversion", literal(f"{_source(compiled, value)}: {_no_value(version)}"))
        for value, version in dict(values).items()
        if (fault := version.mapped.fails(value))
    ]


def _source(compiled: CompiledTable, value: Sql) -> str:
    """Return the part of the message that a decoded value comes from."""
    in_key = {KEY.field(version.field) for version in compiled.key.column_versions}
    return "key" if value in in_key else "value"


def _no_value(version: ColumnVersion) -> str:
    return f"column {version.column} is not a valid {version.mapped.spark}"


def _document_checks(compiled: CompiledTable) -> list[Check]:
    """Return the check of each text of a document event that must be a JSON object."""
    if compiled.image != Document():
        return []
    update = compiled.form.at("updateDescription")
    texts = {
        "after": compiled.form.at(compiled.form.row_field),
        "updateDescription.updatedFields": update.field("updatedFields"),
    }
    return [
        Check(
            sql("{text} is not null and not ingest_is_json_object({text})", text=text),
            "conversion",
            literal(f"value: {name} is not a JSON object"),
        )
        for name, text in texts.items()
    ]


def _derived_checks(compiled: CompiledTable) -> list[Check]:
    document = compiled.form.at(compiled.form.row_field)
    return [
        Check(
            derived.fault.of(doc=document),
            "conversion",
            literal(f"value: column {derived.name} is not a valid {derived.spark}"),
        )
        for derived in compiled.derived
        if derived.fault
    ]


def _time_checks(compiled: CompiledTable) -> list[Check]:
    """Return the check of a source time beyond a timestamp: the table has it as `_cdc_source_ts`."""
    outside = sql(
        "{ms} not between {first} and {last}", ms=compiled.form.source_ms, first=_FIRST_MS, last=_LAST_MS
    )
    return [Check(outside, "conversion", literal("value: source.ts_ms is not a valid timestamp"))]
