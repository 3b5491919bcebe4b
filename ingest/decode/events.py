"""Decode Kafka messages into events: the only entrance of this room.

Takes `partition, offset, key, value`; returns one row for each message:

| column | content |
| --- | --- |
| `kind` | `change`, or an event that is counted and ignored: `tombstone`, `heartbeat`, … |
| `rejected` | whether it is a change that has to be rejected |
| `partition`, `offset` | its coordinates in the topic |
| `writer` | the schema that wrote the value, by its number among the compiled ones |
| `op` | operation of a change; `tombstone` |
| `sort_key`, `source_ms` | sort key (a struct), and source time of a change |
| `bytes` | the length of key and value |
| `k` | struct of the key columns, by name |
| `row` | struct of the row image's column versions, by their field; nulls for a delete |
| `partial` | whether the row lacks values that an older one has to give |

The bytes are left out: copying them next to the decoded values costs as much as the conversions.  To explain
a reject, read its message again.
"""

from collections.abc import Iterable
from typing import assert_never

from pyspark.sql import DataFrame

from ingest.compile.column_versions import ColumnVersion
from ingest.compile.event import CHANGE, TOMBSTONE
from ingest.compile.position import sort_key_sql
from ingest.compile.row_image import decoded_value, partial_sql, row_fields
from ingest.compile.row_model import Coordinates, MessageKey, RowKey
from ingest.compile.table import CompiledTable
from ingest.decode.format import format_of
from ingest.decode.rejects import Check, reason_sql, rejected_sql
from ingest.decode.route import event_checks, kind_sql, op_sql
from ingest.typemap.sparktype import reshape
from ingest.typemap.sql import Sql, ident, join, literal, sql, struct

_MESSAGE = ("partition", "offset", "key", "value")
_SIZE = "coalesce(octet_length(key), 0L) + coalesce(octet_length(value), 0L) as bytes"
_IS_KEYLESS = "key is null as is_keyless"
"""Both are computed at once, so that no bytes have to stay for them."""
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""0001-01-01 and 9999-12-31 in UTC: the range of a timestamp."""


def decode_events(messages: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Decode, convert and check every message.

    Two projections: one decodes, the other does all the rest.  Spark computes the latter's common expressions
    once (subexpression elimination), as long as they are not conditional.
    """
    decoded = _decoded(messages.selectExpr(*_MESSAGE, _SIZE, _IS_KEYLESS), compiled)
    return decoded.selectExpr(*map(str, _event_columns(compiled)))


def _event_columns(compiled: CompiledTable) -> list[Sql]:
    kind = kind_sql(compiled)
    op, is_tombstone = op_sql(compiled), None
    if compiled.keyed_tombstones:
        is_tombstone, tombstone = sql("writer is null"), literal(TOMBSTONE)
        op = sql(
            "if({is_tombstone}, {tombstone}, {op})", is_tombstone=is_tombstone, tombstone=tombstone, op=op
        )
    key_fields = [(name, key_sql(compiled, name)) for name, _ in compiled.key_columns]
    return [
        kind.alias("kind"),
        _is_rejected(compiled, kind).alias("rejected"),
        sql("partition"),
        sql("offset"),
        sql("writer"),
        op.alias("op"),
        sort_key_sql(compiled.dialect, compiled.form, is_tombstone).alias("sort_key"),
        compiled.form.source_ms.alias("source_ms"),
        sql("bytes"),
        _struct(key_fields).alias("k"),
        _struct(row_fields(compiled)).alias("row"),
        *([partial_sql(compiled).alias("partial")] if compiled.may_be_partial else []),
    ]


def _is_rejected(compiled: CompiledTable, kind: Sql) -> Sql:
    """Return a condition that is true for changes that cannot be read, and for tombstones with such keys."""
    change = sql(
        "{kind} = {change} and {rejected}",
        kind=kind,
        change=literal(CHANGE),
        rejected=rejected_sql(_checks(compiled)),
    )
    if not compiled.keyed_tombstones:
        return change
    return sql(
        "({change} or {kind} = {tombstone} and {rejected})",
        change=change,
        kind=kind,
        tombstone=literal(TOMBSTONE),
        rejected=rejected_sql(_tombstone_checks(compiled)),
    )


def explain_rejects(messages: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Add to messages that `decode_events` rejected the columns `reason` and `error`.

    Both are null for a message that is not rejected.  The messages keep all their columns.
    """
    columns = [str(ident(column)) for column in messages.columns]
    explained = _decoded(messages, compiled).selectExpr(*columns, str(_why(compiled).alias("why")))
    return explained.selectExpr(*columns, "why.reason", "why.error")


def _why(compiled: CompiledTable) -> Sql:
    reason = reason_sql(_reasons(compiled))
    if not compiled.keyed_tombstones:
        return reason
    checks = [*format_of(compiled).checks(compiled.key, "key"), *_tombstone_checks(compiled)]
    return sql("if(writer is null, {tombstone}, {reason})", tombstone=reason_sql(checks), reason=reason)


def _decoded(messages: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Decode values and keys; Spark keeps their projection apart, since the next one uses both many times."""
    form = format_of(compiled)
    numbered = messages.selectExpr("*", str(form.writer(compiled.value, "value").alias("writer")))
    with_event = form.decode(numbered, compiled.value, "value", "event")
    return form.decode(with_event, compiled.key, "key", "keyed")


def _struct(fields: list[tuple[str, Sql]]) -> Sql:
    """Return a struct; Spark has no struct without fields."""
    return struct(fields or [("none", sql("cast(null as boolean)"))])


def key_sql(compiled: CompiledTable, name: str) -> Sql:
    """Return a key column: from the message key, or from the row image (the one before, if deleted)."""
    if compiled.key_source == Coordinates():
        return ident(name.removeprefix("_cdc_"))
    spark_type = dict(compiled.key_columns)[name]
    values = [
        reshape(version.mapped.convert(value), version.mapped.spark, spark_type)
        for value, version in _key_values(compiled, name)
    ]
    return sql("coalesce({values})", values=join(", ", values))


def _key_values(compiled: CompiledTable, name: str) -> list[tuple[Sql, ColumnVersion]]:
    """Return the decoded values of a key column; the first one that is not null counts."""
    match compiled.key_source:
        case Coordinates():
            return []
        case MessageKey():
            return [(_KEY.field(version.field), version) for version in compiled.key.columns()[name]]
        case RowKey():
            return _key_values_in_row(compiled, name)
        case source:
            assert_never(source)


def _key_values_in_row(compiled: CompiledTable, name: str) -> list[tuple[Sql, ColumnVersion]]:
    """Return the values of a key column: from the fields that only name the key, the row, the row before."""
    images = sorted(compiled.value.images, key=lambda image: image != compiled.form.unique_field)
    versions = compiled.value.columns()[name]
    return [(compiled.form.at(image).field(v.field), v) for image in images for v in versions]


_KEY = sql("keyed.value")


# --- checks ------------------------------------------------------------------------------------


def _checks(compiled: CompiledTable) -> list[Check]:
    """Return every reason to reject a change, the most basic first."""
    return [*_value_checks(compiled), *_row_checks(compiled)]


def _value_checks(compiled: CompiledTable) -> list[Check]:
    return [_unreadable(compiled, "value", "event"), *_refused(compiled), *event_checks(compiled)]


def _tombstone_checks(compiled: CompiledTable) -> list[Check]:
    """Return the reasons to reject a tombstone: those of its key."""
    values = [pair for name, _ in compiled.key_columns for pair in _key_values(compiled, name)]
    return [*_key_checks(compiled), *_column_checks(compiled, values)]


def _row_checks(compiled: CompiledTable) -> list[Check]:
    return [
        *_key_checks(compiled),
        *_key_moves(compiled),
        *_conversion_checks(compiled),
        *_derived_checks(compiled),
        *_time_checks(compiled),
        *_position_checks(compiled),
    ]


def _reasons(compiled: CompiledTable) -> list[Check]:
    """Return the checks with those of bytes before they are decoded, which only give better reasons."""
    form = format_of(compiled)
    keyed = compiled.key_source == MessageKey()
    null = Check(sql("key is null"), "null-key", literal("key: null, so the change has no row"), implied=True)
    unmapped = [
        Check(form.written_by(schema, "value"), "unmapped-schema", literal(f"value: {why}"), implied=True)
        for schema, why in compiled.unmapped
    ]
    return [
        *unmapped,
        *form.checks(compiled.value, "value"),
        *_value_checks(compiled),
        *([null, *form.checks(compiled.key, "key")] if keyed else []),
        *_row_checks(compiled),
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


def _refused(compiled: CompiledTable) -> list[Check]:
    """Return the check of changes that a policy rejects by the schema that wrote them."""
    reasons = [
        (index, compiled.refused[writer.schema_id])
        for index, writer in enumerate(compiled.value.writers)
        if writer.schema_id in compiled.refused
    ]
    if not reasons:
        return []
    branches = (sql("when {n} then {text}", n=n, text=literal(f"value: {reason}")) for n, reason in reasons)
    numbers = join(", ", (sql("{n}", n=n) for n, _ in reasons))
    condition = sql("coalesce(writer in ({numbers}), false)", numbers=numbers)
    error = sql("case writer {branches} end", branches=join(" ", branches))
    return [Check(condition, "refused-by-policy", error)]


def _key_checks(compiled: CompiledTable) -> list[Check]:
    if compiled.key_source == Coordinates():
        return []
    nulls = [_null_key(compiled, name) for name, _ in compiled.key_columns]
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
        for v in compiled.value.columns()[name]
    ]
    condition = sql("{op} = 'u' and ({moved})", op=op_sql(compiled), moved=join(" or ", moved))
    error = literal("value: the update changes a key column that the table file declares")
    return [Check(condition, "moved-key", error)]


def _conversion_checks(compiled: CompiledTable) -> list[Check]:
    """Return the checks of values that cannot be converted; a value of both row and key is checked once."""
    values = [
        *((decoded_value(compiled, version), version) for version in compiled.row_variants),
        *(pair for name, _ in compiled.key_columns for pair in _key_values(compiled, name)),
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
    in_key = {_KEY.field(version.field) for version in compiled.key.column_versions}
    return "key" if value in in_key else "value"


def _no_value(version: ColumnVersion) -> str:
    return f"column {version.column} is not a valid {version.mapped.spark}"


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


def _position_checks(compiled: CompiledTable) -> list[Check]:
    return [
        Check(
            compiled.form.resolve(term.fault),
            "no-position",
            literal(f"value: source.{term.name} is not a valid position"),
        )
        for term in compiled.terms
        if term.fault != "false"
    ]
