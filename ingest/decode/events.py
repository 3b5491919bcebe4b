"""The room's one door: a frame of Kafka messages becomes a frame of events.

Given `partition, offset, key, value`; returned, one row for each message:

| column | what |
| --- | --- |
| `kind` | `change`, or what is counted and ignored: `tombstone`, `heartbeat`, … |
| `rejected` | whether it is a change that has to be set aside |
| `partition`, `offset` | where in the topic it is |
| `writer` | the schema that wrote the value, by its number among the compiled ones |
| `op` | operation of a change; `tombstone` |
| `place`, `source_ms` | place in the order (a struct), and source time of a change |
| `bytes` | how long key and value are |
| `k` | struct of the key columns, by name |
| `row` | struct of the row image's variants, by their field; nulls for a delete |
| `partial` | whether the row lacks values that an older one has to give |

The bytes stay behind: copying them beside what was made of them costs as much as the conversions.  Who needs
those of a rejected record reads it again.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.column_versions import ColumnVersion
from ingest.compile.event import CHANGE, TOMBSTONE
from ingest.compile.position import place_sql
from ingest.compile.row_image import partial_sql, place_of, row_fields
from ingest.compile.table import CompiledTable
from ingest.decode.format import format_of
from ingest.decode.rejects import Check, reason_sql, rejected_sql
from ingest.decode.route import event_checks, kind_sql, op_sql
from ingest.typemap.sparktype import literal, reshape

_MESSAGE = ("partition", "offset", "key", "value")
_SIZE = "coalesce(octet_length(key), 0L) + coalesce(octet_length(value), 0L) as bytes"
_IS_KEYLESS = "key is null as is_keyless"
"""Both are computed at once, so that no bytes have to stay for them."""
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""0001-01-01 and 9999-12-31 in UTC: what a timestamp may be."""


def decode_events(messages: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Decode, convert and judge every message.

    Two projections: one decodes, the other does all the rest.  What the latter says twice Spark does once
    (subexpression elimination), as long as it stands under no condition.
    """
    kind = kind_sql(compiled)
    partial = [f"{partial_sql(compiled)} as partial"] if compiled.may_be_partial else []
    decoded = _decoded(messages.selectExpr(*_MESSAGE, _SIZE, _IS_KEYLESS), compiled)
    is_tombstone = "writer is null" if compiled.keyed_tombstones else "false"
    return decoded.selectExpr(
        f"{kind} as kind",
        f"{_is_rejected(compiled, kind)} as rejected",
        "partition",
        "offset",
        "writer",
        f"if({is_tombstone}, '{TOMBSTONE}', {op_sql(compiled)}) as op",
        f"{place_sql(compiled.dialect, compiled.form, is_tombstone)} as place",
        f"{compiled.form.source_ms} as source_ms",
        "bytes",
        f"{_struct([(name, key_sql(compiled, name)) for name, _ in compiled.key_columns])} as k",
        f"{_struct(row_fields(compiled))} as row",
        *partial,
    )


def _is_rejected(compiled: CompiledTable, kind: str) -> str:
    """Return SQL that is true for changes that cannot be read, and for tombstones whose key cannot."""
    change = f"{kind} = '{CHANGE}' and {rejected_sql(_checks(compiled))}"
    if not compiled.keyed_tombstones:
        return change
    return f"({change} or {kind} = '{TOMBSTONE}' and {rejected_sql(_tombstone_checks(compiled))})"


def explain_rejects(messages: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Say of messages that `decode_events` rejected why, in two more columns: `reason` and `error`.

    Both are null for what is not rejected.  The messages keep all their columns.
    """
    reason = reason_sql(_reasons(compiled))
    if compiled.keyed_tombstones:
        checks = [*format_of(compiled).checks(compiled.key, "key"), *_tombstone_checks(compiled)]
        reason = f"if(writer is null, {reason_sql(checks)}, {reason})"
    why = F.expr(reason).alias("why")
    explained = _decoded(messages, compiled).select(*messages.columns, why)
    return explained.select(*messages.columns, "why.reason", "why.error")


def _decoded(messages: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Decode both sides; Spark keeps their projection apart, since the next one uses both many times."""
    form = format_of(compiled)
    numbered = messages.withColumn("writer", F.expr(form.writer(compiled.value, "value")))
    with_event = form.decode(numbered, compiled.value, "value", "event")
    return form.decode(with_event, compiled.key, "key", "keyed")


def _struct(parts: list[tuple[str, str]]) -> str:
    fields = [f"'{name}', {sql}" for name, sql in parts or [("none", "cast(null as boolean)")]]
    return f"named_struct({', '.join(fields)})"  # Spark knows no struct without fields


def key_sql(compiled: CompiledTable, name: str) -> str:
    """Return SQL for a key column: from the message key, or from the row image (before it, if deleted)."""
    if compiled.keeps_all:
        return name.removeprefix("_cdc_")
    kind = dict(compiled.key_columns)[name]
    values = [
        reshape(column_version.mapped.convert(place), column_version.mapped.spark, kind)
        for place, column_version in _key_places(compiled, name).items()
    ]
    return f"coalesce({', '.join(values)})"


def _key_places(compiled: CompiledTable, name: str) -> dict[str, ColumnVersion]:
    if compiled.keeps_all:
        return {}
    if not compiled.key_in_row:
        return {
            f"keyed.value.{column_version.field}": column_version
            for column_version in compiled.key.columns()[name]
        }
    # What names the key apart from the row comes first, then the row, then the row before.
    images = sorted(compiled.value.images, key=lambda image: image != compiled.form.unique_field)
    column_versions = compiled.value.columns()[name]
    return {f"{compiled.form.at(image)}.{v.field}": v for image in images for v in column_versions}


# --- checks ------------------------------------------------------------------------------------


def _checks(compiled: CompiledTable) -> list[Check]:
    """Return every reason to set a change aside, the most basic first."""
    return [*_value_checks(compiled), *_row_checks(compiled)]


def _value_checks(compiled: CompiledTable) -> list[Check]:
    return [_unreadable(compiled, "value", "event"), *_refused(compiled), *event_checks(compiled)]


def _row_checks(compiled: CompiledTable) -> list[Check]:
    return [
        *_key_checks(compiled),
        *_key_moves(compiled),
        *_conversion_checks(compiled),
        *_time_checks(compiled),
        *_position_checks(compiled),
    ]


def _tombstone_checks(compiled: CompiledTable) -> list[Check]:
    """Return the reasons to reject a tombstone: those of its key."""
    places = {
        place: v for name, _ in compiled.key_columns for place, v in _key_places(compiled, name).items()
    }
    return [*_key_checks(compiled), *_column_checks(places)]


def _reasons(compiled: CompiledTable) -> list[Check]:
    """Return the same, with what can be wrong before a record is decoded: for better reasons alone."""
    form = format_of(compiled)
    keyed = not compiled.key_in_row and not compiled.keeps_all
    null = Check("key is null", "null-key", "'key: null, so the change has no row'", implied=True)
    unmapped = [
        Check(form.written_by(one, "value"), "unmapped-schema", literal(f"value: {why}"), implied=True)
        for one, why in compiled.unmapped
    ]
    return [
        *unmapped,
        *form.checks(compiled.value, "value"),
        *_value_checks(compiled),
        *([null, *form.checks(compiled.key, "key")] if keyed else []),
        *_row_checks(compiled),
    ]


UNREADABLE = "not readable with its own schema"
"""How the reason reads that a look at the bytes can say more of."""


def _unreadable(compiled: CompiledTable, column: str, decoded: str) -> Check:
    whole = format_of(compiled).is_whole(decoded)
    condition = f"not {whole}"
    if column == "value" and compiled.form.tombstone_deletes:
        condition = f"writer is not null and {condition}"
    label = format_of(compiled).label(column)
    return Check(condition, "unreadable", f"concat('{column}: {UNREADABLE}', {label})")


def _refused(compiled: CompiledTable) -> list[Check]:
    """Return the check of changes that a policy sets aside by the schema that wrote them."""
    said = {i: compiled.refused[w.schema_id] for i, w in enumerate(compiled.value.writers)
            if w.schema_id in compiled.refused}  # fmt: skip
    if not said:
        return []
    texts = " ".join(f"when {index} then {literal(f'value: {text}')}" for index, text in said.items())
    condition = f"coalesce(writer in ({', '.join(map(str, said))}), false)"
    return [Check(condition, "refused-by-policy", f"case writer {texts} end")]


def _key_checks(compiled: CompiledTable) -> list[Check]:
    if compiled.keeps_all:
        return []
    nulls = [_null_key(compiled, name) for name, _ in compiled.key_columns]
    unsafe = [Check(bad, "unsafe-key", literal(f"key: {why}")) for bad, why in compiled.key_rules]
    unread = [] if compiled.key_in_row else [_unreadable(compiled, "key", "keyed")]
    return [*unread, *nulls, *unsafe]


def _null_key(compiled: CompiledTable, name: str) -> Check:
    return Check(f"{key_sql(compiled, name)} is null", "null-key", f"'key: column {name} is null'")


def _key_moves(compiled: CompiledTable) -> list[Check]:
    """Return the check of an update that changes a declared key: it would leave the old row behind."""
    form = compiled.form
    if not compiled.key_in_row or form.before_field not in compiled.value.images:
        return []
    before, after = form.at(form.before_field), form.at(form.row_field)
    moved = [
        f"{before}.{v.field} != {after}.{v.field}"
        for name, _ in compiled.key_columns
        for v in compiled.value.columns()[name]
    ]
    condition = f"{op_sql(compiled)} = 'u' and ({' or '.join(moved)})"
    return [
        Check(condition, "moved-key", "'value: the update changes a key column that the table file declares'")
    ]


def _conversion_checks(compiled: CompiledTable) -> list[Check]:
    places = {place_of(compiled, column_version): column_version for column_version in compiled.row_variants}
    for name, _ in compiled.key_columns:
        places |= _key_places(compiled, name)
    columns = _column_checks(places)
    document = compiled.form.at(compiled.form.row_field)
    derived = [
        Check(
            one.fault.replace("{doc}", document),
            "conversion",
            f"'value: column {one.name} is no {one.spark}'",
        )
        for one in compiled.derived
        if one.fault
    ]
    return [*columns, *derived]


def _column_checks(places: Mapping[str, ColumnVersion]) -> list[Check]:
    """Return the check of each column's conversion, by the place of its decoded value."""
    return [
        Check(
            column_version.mapped.fails(place),
            "conversion",
            f"'{'key' if place.startswith('keyed') else 'value'}: "
            f"column {column_version.column} is no {column_version.mapped.spark}'",
        )
        for place, column_version in places.items()
        if column_version.mapped.fault
    ]


def _time_checks(compiled: CompiledTable) -> list[Check]:
    """Return the check of a source time that no timestamp can be: the table has it as `_cdc_source_ts`."""
    outside = f"{compiled.form.source_ms} not between {_FIRST_MS} and {_LAST_MS}"
    return [Check(outside, "conversion", "'value: source.ts_ms is no timestamp'")]


def _position_checks(compiled: CompiledTable) -> list[Check]:
    faults = [(term.name, compiled.form.resolve(term.fault)) for term in compiled.terms]
    return [
        Check(fault, "no-position", f"'value: source.{name} is no position'")
        for name, fault in faults
        if fault != "false"
    ]
