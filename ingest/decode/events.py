"""The room's one door: a frame of Kafka messages becomes a frame of events.

Given `partition, offset, key, value`; returned, one row for each message:

| column | what |
| --- | --- |
| `kind` | `change`, or what is counted and ignored: `tombstone`, `heartbeat`, … |
| `rejected` | whether it is set aside |
| `partition`, `offset`, `key`, `value` | as given |
| `schema_id` | the schema that wrote the value |
| `op`, `source` | operation and source block of a change |
| `k` | struct of the key columns, by name |
| `row` | struct of the row image's variants, by their field; null for a delete |
"""

from pyspark.sql import DataFrame

from ingest.compile.sparktype import SparkType, quote, reshape
from ingest.compile.table import CompiledTable, Variant
from ingest.decode.confluent import decode_side, is_whole
from ingest.decode.rejects import Check, reason_sql, rejected_sql
from ingest.decode.route import CHANGE, event_checks, kind_sql
from ingest.decode.wire import framing_checks, schema_id_sql, written_id_sql

_MESSAGE = ("partition", "offset", "key", "value")


def decode_events(messages: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Decode, convert and judge every message."""
    rejected = rejected_sql(_checks(compiled))
    return _converted(messages, compiled).selectExpr(
        "kind",
        f"kind = '{CHANGE}' and ({rejected}) as rejected",
        *_MESSAGE,
        f"{schema_id_sql('value', compiled.schema_ids)} as schema_id",
        "event.value.op as op",
        "event.value.source as source",
        "k",
        "if(event.value.after is null, null, row) as row",
    )


def explain_rejects(messages: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Say of messages that `decode_events` rejected why: `partition, offset, key, value, reason`."""
    reason = reason_sql(_checks(compiled))
    return _converted(messages, compiled).selectExpr(*_MESSAGE, f"{reason} as reason")


def _converted(messages: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Decode and convert, in two projections: what is used twice after one must be made by it.

    Spark joins projections unless that would repeat something costly.
    """
    decoded = messages.select(
        *_MESSAGE,
        decode_side(compiled.value, "value").alias("event"),
        decode_side(compiled.key, "key").alias("keyed"),
    )
    return decoded.selectExpr(
        *_MESSAGE,
        "event",
        "keyed",
        f"{kind_sql(compiled.value)} as kind",
        f"{_struct([(v.field, v.mapped.convert(_image(v))) for v in _row_variants(compiled)])} as row",
        f"{_struct([(name, _key(compiled, name, kind)) for name, kind in compiled.key_columns])} as k",
    )


def _struct(parts: list[tuple[str, str]]) -> str:
    fields = [f"'{name}', {sql}" for name, sql in parts]
    return f"named_struct({', '.join(fields)})"


def _image(variant: Variant) -> str:
    return f"event.value.after.{variant.field}"


def _row_variants(compiled: CompiledTable) -> list[Variant]:
    """Return the variants that the row image gives: all but those of a message key's columns."""
    keys = {name for name, _ in compiled.key_columns} if not compiled.key_in_row else set()
    return [variant for variant in compiled.value.variants if variant.column not in keys]


def _key(compiled: CompiledTable, name: str, kind: SparkType) -> str:
    """Return SQL for a key column: from the message key, or from the row image (before it, if deleted)."""
    side = compiled.value if compiled.key_in_row else compiled.key
    images = ("event.value.after", "event.value.before") if compiled.key_in_row else ("keyed.value",)
    values = [
        reshape(variant.mapped.convert(f"{image}.{variant.field}"), variant.mapped.spark, kind)
        for image in images
        for variant in side.columns()[name]
    ]
    return f"coalesce({', '.join(values)})"


# --- checks ------------------------------------------------------------------------------------


def _checks(compiled: CompiledTable) -> list[Check]:
    """Return every reason to set a change aside, the most basic first."""
    value_ids = [writer.schema_id for writer in compiled.value.writers]
    return [
        *framing_checks("value", value_ids),
        _unreadable("value", "event"),
        *event_checks(),
        *([] if compiled.key_in_row else _key_checks(compiled)),
        *(_null_key(name) for name, _ in compiled.key_columns),
        *_key_moves(compiled),
        *_conversion_checks(compiled),
        *_position_checks(compiled),
    ]


UNREADABLE = "not readable with its own schema"
"""How the reason reads that a look at the bytes can say more of."""


def _unreadable(column: str, decoded: str) -> Check:
    reason = f"concat('{column}: {UNREADABLE}, id ', {written_id_sql(column)})"
    return Check(f"not {is_whole(decoded)}", reason)


def _key_checks(compiled: CompiledTable) -> list[Check]:
    key_ids = [writer.schema_id for writer in compiled.key.writers]
    null = Check("key is null", "'key: null, so the change has no row'", implied=True)
    return [null, *framing_checks("key", key_ids), _unreadable("key", "keyed")]


def _null_key(name: str) -> Check:
    return Check(f"k.{quote(name)} is null", f"'key: column {name} is null'")


def _key_moves(compiled: CompiledTable) -> list[Check]:
    """Return the check of an update that changes a declared key: it would leave the old row behind."""
    if not compiled.key_in_row:
        return []
    moved = [
        f"event.value.before.{v.field} != event.value.after.{v.field}"
        for name, _ in compiled.key_columns
        for v in compiled.value.columns()[name]
    ]
    condition = f"event.value.op = 'u' and ({' or '.join(moved)})"
    return [Check(condition, "'value: the update changes a key column that the table file declares'")]


def _conversion_checks(compiled: CompiledTable) -> list[Check]:
    return [
        Check(
            variant.mapped.fails(_image(variant), f"row.{variant.field}"),
            f"'value: column {variant.column} is no {variant.mapped.spark}'",
        )
        for variant in _row_variants(compiled)
        if variant.mapped.fault
    ]


def _position_checks(compiled: CompiledTable) -> list[Check]:
    return [
        Check(
            term.fault.replace("{c}", f"event.value.source.{term.field}"),
            f"'value: source.{term.field} is no position'",
        )
        for term in compiled.dialect.terms
    ]
