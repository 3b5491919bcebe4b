"""The room's one door: a frame of Kafka messages becomes a frame of events.

Given `partition, offset, key, value`; returned, one row for each message:

| column | what |
| --- | --- |
| `kind` | `change`, or what is counted and ignored: `tombstone`, `heartbeat`, … |
| `rejected` | whether it is a change that has to be set aside |
| `partition`, `offset` | where in the topic it is |
| `schema_id` | the schema that wrote the value |
| `op`, `place`, `source_ms` | operation, place in the order (a struct), and source time of a change |
| `k` | struct of the key columns, by name |
| `row` | struct of the row image's variants, by their field; nulls for a delete |

The bytes stay behind: copying them beside what was made of them costs as much as the conversions.  Who needs
those of a rejected record reads it again.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.compile.position import place_sql
from ingest.compile.sparktype import reshape
from ingest.compile.table import CompiledTable
from ingest.compile.variant import Variant
from ingest.decode.confluent import decode_side, is_whole
from ingest.decode.rejects import Check, reason_sql, rejected_sql
from ingest.decode.route import CHANGE, event_checks, kind_sql
from ingest.decode.wire import framing_checks, header_sql, schema_id_sql, written_id_sql

_MESSAGE = ("partition", "offset", "key", "value")


def decode_events(messages: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Decode, convert and judge every message.

    Two projections: one decodes, the other does all the rest.  What the latter says twice Spark does once
    (subexpression elimination), as long as it stands under no condition.
    """
    kind = kind_sql(compiled.value)
    decoded = messages.select(
        "partition", "offset", F.expr(header_sql("value")).alias("header"), *_decoded(compiled)
    )
    return decoded.selectExpr(
        f"{kind} as kind",
        f"{kind} = '{CHANGE}' and {rejected_sql(_checks(compiled))} as rejected",
        "partition",
        "offset",
        f"{schema_id_sql('header', compiled.schema_ids)} as schema_id",
        "event.value.op as op",
        f"{place_sql(compiled.dialect, 'event.value')} as place",
        "event.value.source.ts_ms as source_ms",
        f"{_struct([(name, _key(compiled, name)) for name, _ in compiled.key_columns])} as k",
        f"{_struct([(v.field, v.mapped.convert(_image(v))) for v in _row_variants(compiled)])} as row",
    )


def explain_rejects(messages: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Say of messages that `decode_events` rejected why: `partition, offset, key, value, reason`."""
    decoded = messages.select(*_MESSAGE, *_decoded(compiled))
    return decoded.selectExpr(*_MESSAGE, f"{reason_sql(_checks(compiled))} as reason")


def _decoded(compiled: CompiledTable) -> tuple[Column, Column]:
    """Decode both sides; Spark keeps their projection apart, since the next one uses both many times."""
    return (
        decode_side(compiled.value, "value").alias("event"),
        decode_side(compiled.key, "key").alias("keyed"),
    )


def _struct(parts: list[tuple[str, str]]) -> str:
    fields = [f"'{name}', {sql}" for name, sql in parts or [("none", "cast(null as boolean)")]]
    return f"named_struct({', '.join(fields)})"  # Spark knows no struct without fields


def _image(variant: Variant) -> str:
    return f"event.value.after.{variant.field}"


def _row_variants(compiled: CompiledTable) -> list[Variant]:
    """Return the variants that the row image gives: all but those of a message key's columns."""
    keys = {name for name, _ in compiled.key_columns} if not compiled.key_in_row else set()
    return [variant for variant in compiled.value.variants if variant.column not in keys]


def _key(compiled: CompiledTable, name: str) -> str:
    """Return SQL for a key column: from the message key, or from the row image (before it, if deleted)."""
    kind = dict(compiled.key_columns)[name]
    values = [
        reshape(variant.mapped.convert(place), variant.mapped.spark, kind)
        for place, variant in _key_places(compiled, name).items()
    ]
    return f"coalesce({', '.join(values)})"


def _key_places(compiled: CompiledTable, name: str) -> dict[str, Variant]:
    side = compiled.value if compiled.key_in_row else compiled.key
    images = ("event.value.after", "event.value.before") if compiled.key_in_row else ("keyed.value",)
    return {f"{image}.{variant.field}": variant for image in images for variant in side.columns()[name]}


# --- checks ------------------------------------------------------------------------------------


def _checks(compiled: CompiledTable) -> list[Check]:
    """Return every reason to set a change aside, the most basic first."""
    value_ids = [writer.schema_id for writer in compiled.value.writers]
    return [
        *framing_checks("value", value_ids),
        _unreadable("value", "event"),
        *event_checks(),
        *([] if compiled.key_in_row else _key_checks(compiled)),
        *(_null_key(compiled, name) for name, _ in compiled.key_columns),
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


def _null_key(compiled: CompiledTable, name: str) -> Check:
    return Check(f"{_key(compiled, name)} is null", f"'key: column {name} is null'")


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
    places = {_image(variant): variant for variant in _row_variants(compiled)}
    for name, _ in compiled.key_columns:
        places |= _key_places(compiled, name)
    return [
        Check(
            variant.mapped.fails(place),
            f"'{'key' if place.startswith('keyed') else 'value'}: "
            f"column {variant.column} is no {variant.mapped.spark}'",
        )
        for place, variant in places.items()
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
