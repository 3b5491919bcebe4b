"""Describe a table by its schemas: its kind, its columns, its layout, and the caveats."""

from collections.abc import Sequence
from typing import Final

import attrs

from ingest import avro
from ingest.compile.envelope import Envelope, classify, find_envelope, plain_record, why_foreign
from ingest.compile.payload import WriterSchema
from ingest.compile.row_model import Coordinates
from ingest.compile.table import compile_table
from ingest.dialects import DIALECTS, Dialect
from ingest.hudi.keys import check_key_types
from ingest.names import Topic
from ingest.onboard.caveats import caveats, lossless_keys
from ingest.onboard.discover import TopicSchemas
from ingest.onboard.layout import choose_buckets
from ingest.onboard.outcome import Onboarded, OnboardOptions
from ingest.tables import Feed

LEFT_OUT: Final = {
    "heartbeat": "the connector's heartbeats, not changes of a table",
    "transaction": "the connector's transaction metadata, not changes of a table",
    "schema-change": "the connector's schema changes (DDL), not changes of a table",
    "message": "logical messages, not changes of a table",
    "notification": "the connector's notifications, not changes of a table",
}
_HEARTBEATS: Final = "cdc_heartbeat"
"""CDL's heartbeats are changes of a table of that name, in any case."""


def newest_change(values: Sequence[WriterSchema]) -> WriterSchema:
    """Return the schema that shows a topic's kind: the newest of changes, rather than of heartbeats."""
    changes = [value for value in values if classify(value.schema) == "data"]
    return (changes or values)[-1]


def why_left_out(topic: Topic, newest: WriterSchema, options: OnboardOptions) -> str:
    """Return why a topic does not become a table, or an empty text if it does.

    With `append` any record may become a table.
    """
    event_kind = classify(newest.schema)
    if event_kind != "data":
        may_be_kept = options.append and isinstance(newest.schema, avro.Record)
        return "" if may_be_kept else LEFT_OUT.get(event_kind) or why_foreign(newest.schema)
    if topic.lower().endswith(_HEARTBEATS):
        return LEFT_OUT["heartbeat"]
    return "Debezium's signal table" if find_envelope(newest.schema, newest.label).is_signal else ""


def envelope_of(newest: WriterSchema) -> Envelope:
    """Return the parts of a change event, or of a plain record."""
    find = find_envelope if classify(newest.schema) == "data" else plain_record
    return find(newest.schema, newest.label)


def unknown_source(envelope: Envelope) -> str:
    """Return the reason why the events of a connector are left out."""
    supported = ", ".join(sorted(DIALECTS))
    if not envelope.source_record:
        return (
            "a flattened row without the fields of a source position: let ExtractNewRecordState add them, "
            "with `add.fields` (see Sources)"
        )
    return f"{envelope.source_record}: not supported (only {supported})"


def describe(
    feed: Feed,
    schemas: TopicSchemas,
    envelope: Envelope,
    dialect: Dialect,
    messages: int | None,
) -> Onboarded:
    """Complete the table by its source, key and size, and check that it compiles.

    `messages` is the number of messages in the topic or of the table, or None if the broker was not asked.
    If the table is a part of its topic, its keys are columns of its rows.
    """
    lossless = lossless_keys(schemas.keys[-1].schema, dialect) if schemas.keys else {}
    table = attrs.evolve(feed.table, columns=lossless | feed.table.columns)
    compiled = compile_table(
        attrs.evolve(feed, table=table), () if table.source_table else schemas.keys, schemas.values
    )
    if compiled.key_source != Coordinates():
        check_key_types(table.name, {name: str(kind) for name, kind in compiled.key_columns})
    names = () if compiled.key_source == Coordinates() else tuple(name for name, _ in compiled.key_columns)
    buckets, reason = choose_buckets(messages or 0)
    target = attrs.evolve(table.target, buckets=buckets)
    return Onboarded(
        feed.topic,
        "new",
        source_table=table.source_table or "",
        layout=reason if messages is not None else f"{reason} (the broker was not asked)",
        table=attrs.evolve(table, target=target, key=attrs.evolve(table.key, columns=names)),
        key_columns=names,
        columns=len(compiled.value.columns()),
        messages=messages or 0,
        caveats=(*schemas.caveats, *caveats(compiled, dialect, envelope)),
        guessed=schemas.guess.text if schemas.guess else "",
    )
