"""Decode Kafka messages into events: the only entrance of this room.

Takes `partition, offset, key, value`, `timestamp` for a history, and `headers` if the table expects other
framings than `confluent`.  Returns one row for each message:

| column | content |
| --- | --- |
| `kind` | `change`, or an event that is counted and ignored: `tombstone`, `heartbeat`, … |
| `rejected` | whether it is a change that has to be rejected |
| `partition`, `offset` | its coordinates in the topic |
| `writer` | the schema that wrote the value, by its number among the compiled ones |
| `op` | operation of a change, or `tombstone` |
| `sort_key`, `source_ms` | sort key (a struct), and source time of a change |
| `bytes` | the length of key and value |
| `k` | struct of the key columns, by name |
| `row` | struct of the row image's column versions, by their field, with nulls for a delete |
| `partial` | whether the row lacks values that an older one has to give |

The bytes are left out, because copying them next to the decoded values costs as much as the conversions.  To
explain a reject, read its message again.
"""

from pyspark.sql import DataFrame

from ingest.compile.event import CHANGE, TOMBSTONE
from ingest.compile.policy import ALL_ALLOWED, Refused
from ingest.compile.position import sort_key_sql
from ingest.compile.row_image import partial_sql, row_fields
from ingest.compile.table import CompiledTable
from ingest.decode.checks import change_checks, reasons, tombstone_checks
from ingest.decode.format import format_of
from ingest.decode.framing import frame_checks, has_framings, unframe
from ingest.decode.keys import key_sql
from ingest.decode.large import large_checks, most_decoded
from ingest.decode.mismatch import key_flags
from ingest.decode.rejects import reason_sql, rejected_sql
from ingest.decode.route import kind_sql, op_sql
from ingest.spark.java import select_expr
from ingest.sql.template import Sql, ident, literal, sql, struct

_MESSAGE = ("partition", "offset", "key", "value")
_SIZE = "coalesce(octet_length(key), 0L) + coalesce(octet_length(value), 0L) as bytes"
_IS_KEYLESS = "key is null as is_keyless"
_TIME = "unix_millis(timestamp) as message_ms"
"""These are computed at once, so that no bytes have to stay for them."""


def decode_events(messages: DataFrame, compiled: CompiledTable, refused: Refused = ALL_ALLOWED) -> DataFrame:
    """Decode, convert and check every message.

    `refused` maps the schemas that a policy of the table file rejects to the reason.

    Two projections: one decodes, the other does all the rest.  Spark computes the latter's common expressions
    once (subexpression elimination), as long as they are not conditional.
    """
    headers = ("headers",) if has_framings(compiled.table) else ()
    times = (_TIME,) if _has_timed_tombstones(compiled) else ()
    sized = select_expr(messages, *_MESSAGE, *headers, *times, _SIZE, _IS_KEYLESS)
    decoded = _decoded(unframe(sized, compiled), compiled)
    return select_expr(decoded, *map(str, _event_columns(compiled, refused)))


def _event_columns(compiled: CompiledTable, refused: Refused) -> list[Sql]:
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
        _is_rejected(compiled, kind, refused).alias("rejected"),
        sql("partition"),
        sql("offset"),
        sql("writer"),
        op.alias("op"),
        sort_key_sql(compiled.dialect, compiled.form, is_tombstone).alias("sort_key"),
        _source_ms(compiled).alias("source_ms"),
        sql("bytes"),
        _struct(key_fields).alias("k"),
        _struct(row_fields(compiled)).alias("row"),
        *([partial_sql(compiled).alias("partial")] if compiled.may_be_partial else []),
    ]


def _has_timed_tombstones(compiled: CompiledTable) -> bool:
    return compiled.keyed_tombstones and compiled.model.has_versions


def _source_ms(compiled: CompiledTable) -> Sql:
    """Return the source time of a change. In a history a tombstone has its message's time."""
    source_ms = compiled.form.source_ms
    if not _has_timed_tombstones(compiled):
        return source_ms
    return sql("if(writer is null, message_ms, {source_ms})", source_ms=source_ms)


def _is_rejected(compiled: CompiledTable, kind: Sql, refused: Refused) -> Sql:
    """Return a condition that is true for changes that cannot be read, and for tombstones with such keys."""
    change = sql(
        "{kind} = {change} and {rejected}",
        kind=kind,
        change=literal(CHANGE),
        rejected=rejected_sql(change_checks(compiled, refused)),
    )
    if not compiled.keyed_tombstones:
        return change
    return sql(
        "({change} or {kind} = {tombstone} and {rejected})",
        change=change,
        kind=kind,
        tombstone=literal(TOMBSTONE),
        rejected=rejected_sql(tombstone_checks(compiled)),
    )


def explain_rejects(
    messages: DataFrame, compiled: CompiledTable, refused: Refused = ALL_ALLOWED
) -> DataFrame:
    """Add to messages that `decode_events` rejected the columns `reason` and `error`.

    Both are null for a message that is not rejected.  The messages keep all their columns, and `unframe` has
    replaced their framings.
    """
    columns = [str(ident(column)) for column in messages.columns]
    explained = _decoded(messages, compiled).selectExpr(*columns, str(_why(compiled, refused).alias("why")))
    return explained.selectExpr(*columns, "why.reason", "why.error")


def _why(compiled: CompiledTable, refused: Refused) -> Sql:
    reason = reason_sql(reasons(compiled, refused))
    if not compiled.keyed_tombstones:
        return reason
    form = format_of(compiled)
    checks = [
        *large_checks(compiled),
        *frame_checks(compiled, "key"),
        *form.checks(compiled.key, "key"),
        *tombstone_checks(compiled),
    ]
    return sql("if(writer is null, {tombstone}, {reason})", tombstone=reason_sql(checks), reason=reason)


def _decoded(messages: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Decode values and keys. Spark keeps their projection apart, since the next one uses both many times."""
    form = format_of(compiled)
    flags = [form.writer(compiled.value, "value").alias("writer"), *key_flags(compiled)]
    numbered = select_expr(messages, "*", *map(str, flags))
    most_bytes = most_decoded(compiled)
    with_event = form.decode(numbered, compiled.value, "value", "event", most_bytes)
    return form.decode(with_event, compiled.key, "key", "keyed", most_bytes)


def _struct(fields: list[tuple[str, Sql]]) -> Sql:
    """Return a struct. Spark has no struct without fields."""
    return struct(fields or [("none", sql("cast(null as boolean)"))])
