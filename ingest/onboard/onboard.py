"""Topics become table files.

For each topic: what it is, by its schema; the connector, by the source block's record; the key, by the key's
schema; the Hudi table's layout, by a rule.  What is no data topic is left out, with the reason.  A person's
edits are never overwritten.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import attrs

from ingest import avro
from ingest.compile.envelope import Envelope, classify, find_envelope, plain_record, why_foreign
from ingest.compile.payload import WriterSchema
from ingest.compile.table import compile_table
from ingest.config.rules import WrongValueError
from ingest.dialects import DIALECTS, Dialect
from ingest.errors import BrokerUnreachableError, SchemaError, UnmappedTypeError, UsageError
from ingest.kafka.watermarks import Watermarks, fetch_watermarks
from ingest.names import Topic
from ingest.onboard.caveats import caveats, lossless_keys
from ingest.onboard.discover import TopicSchemas, find_held, find_registered, held_topics, registered_topics
from ingest.onboard.layout import choose_target
from ingest.registry import Registry, TopicSubjects, key_beside
from ingest.settings import Settings
from ingest.tables import Format, Key, TableConfig, Target, Types, clashes, merge, read, render, table_name

State = Literal["new", "unchanged", "completed", "left out", "failed"]

_LEFT_OUT = {
    "heartbeat": "the connector's heartbeats, no table's changes",
    "transaction": "the connector's transaction metadata, no table's changes",
    "schema-change": "the connector's schema changes (DDL), no table's changes",
    "message": "logical messages, no table's changes",
    "notification": "the connector's notifications, no table's changes",
}
_HEARTBEATS = "cdc_heartbeat"
"""CDL's heartbeats are changes of a table of that name, in any case."""


@attrs.frozen
class Onboarded:
    """What became of one topic; `reason` says why it was left out or failed."""

    topic: Topic
    state: State
    reason: str = ""
    path: Path | None = None
    table: TableConfig | None = None
    key_columns: tuple[str, ...] = ()
    columns: int = 0
    layout: str = ""
    """Why the Hudi table is laid out as it is."""
    caveats: tuple[str, ...] = ()


@attrs.frozen
class OnboardOptions:
    """What a person asks of onboarding beside the topics.

    A template of names, the messages' format, a schema for bare ones, and whether every change is to be kept.
    """

    name: str | None = None
    format: Format = "avro"
    schema: Path | None = None
    append: bool = False


def onboard(
    settings: Settings,
    registry: Registry,
    patterns: Sequence[str],
    wish: OnboardOptions = OnboardOptions(),
    *,
    dry_run: bool = False,
) -> tuple[Onboarded, ...]:
    """Onboard every topic that matches one of the globs; with `dry_run` nothing is written.

    Topics of Avro are those of the registry; JSON has the broker's.  Raises `UsageError` where nothing
    matches, or two topics would become one table.
    """
    is_avro = wish.format == "avro"
    kafka = settings.kafka
    topics = registered_topics(registry, kafka, patterns) if is_avro else held_topics(kafka, patterns)
    sizes = _sizes(settings, [one.topic for one in topics])
    found = [_onboard_one(settings, registry, one, wish, sizes) for one in topics]
    made = {one.topic: one.table.name for one in found if one.table}
    for shared, twins in clashes(made).items():
        raise UsageError(
            f"the topics {', '.join(twins)} would all become table {shared}",
            "Give them names that differ, with --name",
        )
    return tuple(one if one.table is None else _write(settings, one, dry_run=dry_run) for one in found)


def _sizes(settings: Settings, topics: Sequence[Topic]) -> Watermarks | None:
    """Ask the broker how much the topics hold; without one the smallest layout is chosen."""
    kafka = settings.kafka
    if not kafka.bootstrap_servers:
        return None
    try:
        return fetch_watermarks(kafka.bootstrap_servers, kafka.properties, topics)
    except BrokerUnreachableError:
        return None


def _onboard_one(
    settings: Settings,
    registry: Registry,
    named: TopicSubjects,
    wish: OnboardOptions,
    sizes: Watermarks | None,
) -> Onboarded:
    try:
        if wish.format == "avro":
            found = find_registered(registry, named)
        else:
            found = find_held(settings.kafka, named.topic, wish.schema)
        return _examine(settings, found, wish, sizes)
    except (SchemaError, UnmappedTypeError, WrongValueError) as error:
        return Onboarded(named.topic, "failed", str(error))
    except UsageError as error:
        if wish.name:  # a template that a person can change
            raise
        return Onboarded(named.topic, "failed", str(error))


def _examine(
    settings: Settings, found: TopicSchemas, wish: OnboardOptions, sizes: Watermarks | None
) -> Onboarded:
    topic = found.topic
    if not found.values:
        return Onboarded(topic, "left out", "without a schema in its messages: give one with --schema FILE")
    newest = _telling(found.values)
    reason = _why_left_out(topic, newest, wish)
    if reason:
        return Onboarded(topic, "left out", reason)
    envelope = _envelope(newest)
    if envelope.dialect is None:
        return Onboarded(topic, "left out", _unknown_source(envelope))
    table = TableConfig(
        name=table_name(topic, wish.name) if wish.name else table_name(topic),
        topic=topic,
        dialect=envelope.dialect.name,  # type: ignore[arg-type]  # DIALECTS holds the names that files allow
        subjects=found.subjects,
        format=wish.format,
        schema=_beside(found.schema, settings) if found.schema else None,
        target=Target(mode="append" if wish.append else "upsert"),
    )
    path = settings.tables_dir / f"{table.name}.toml"
    said = read(path) if path.exists() else None
    key = said.key if said and said.key.columns else Key(found.key_names)
    target = said.target if said else table.target
    keyed = found.keys or key.columns or envelope.unique or target.mode == "append"
    if not keyed:
        return Onboarded(topic, "left out", _keyless(found))
    types = Types(out_of_range="null") if envelope.dialect.has_infinity else Types()
    columns = said.columns if said else {}
    table = attrs.evolve(table, key=key, target=target, types=said.types if said else types, columns=columns)
    try:
        return _describe(table, found, envelope, envelope.dialect, sizes)
    except (SchemaError, UnmappedTypeError) as error:
        return Onboarded(topic, "failed", str(error), table=table)  # with a file to mend it in


def _beside(schema: Path, settings: Settings) -> str:
    """Name a schema's file as seen from the table files, which name it."""
    return os.path.relpath(schema.resolve(), settings.tables_dir.resolve())


def _telling(values: Sequence[WriterSchema]) -> WriterSchema:
    """Return the schema that tells what a topic is: the newest of changes, heartbeats between them aside."""
    changes = [one for one in values if classify(one.schema) == "data"]
    return (changes or values)[-1]


def _why_left_out(topic: Topic, newest: WriterSchema, wish: OnboardOptions) -> str:
    """Say why a topic is no table; empty if it is one.  Any record may be kept as it is."""
    kind = classify(newest.schema)
    if kind != "data":
        may_be_kept = wish.append and isinstance(newest.schema, avro.Record)
        return "" if may_be_kept else _LEFT_OUT.get(kind) or why_foreign(newest.schema)
    if topic.lower().endswith(_HEARTBEATS):
        return _LEFT_OUT["heartbeat"]
    return "Debezium's signal table" if find_envelope(newest.schema, newest.label).is_signal else ""


def _envelope(newest: WriterSchema) -> Envelope:
    found = find_envelope if classify(newest.schema) == "data" else plain_record
    return found(newest.schema, newest.label)


def _unknown_source(envelope: Envelope) -> str:
    known = ", ".join(sorted(DIALECTS))
    what = envelope.source_record or "a flattened row without the fields of a source position"
    return f"{what}: not supported (only {known})"


def _keyless(found: TopicSchemas) -> str:
    value = found.subjects.value
    missing = f"no subject {key_beside(value)}" if value else "no key"
    return f"{missing}: name unique columns in [key] columns of a table file, or keep every change: --append"


def _describe(
    table: TableConfig, found: TopicSchemas, envelope: Envelope, dialect: Dialect, sizes: Watermarks | None
) -> Onboarded:
    """Complete the table with what its source, its key and its size ask for, and see that it compiles."""
    lossless = lossless_keys(found.keys[-1].schema) if found.keys else {}
    table = attrs.evolve(table, columns=lossless | table.columns)
    compiled = compile_table(table, found.keys, found.values)
    names = () if compiled.keeps_all else tuple(name for name, _ in compiled.key_columns)
    size = sizes.found.get(table.topic) if sizes else None
    held = sum(mark.end - mark.begin for mark in size.values()) if size else 0
    choice = choose_target(held, (), names)
    mode = table.target.mode
    target = Target(mode=mode, index=choice.index, buckets=choice.buckets, first_load=choice.first_load)
    return Onboarded(
        table.topic,
        "new",
        layout=choice.reason if size is not None else f"{choice.reason} (the broker was not asked)",
        table=attrs.evolve(table, target=target, key=Key(names)),
        key_columns=names,
        columns=len(compiled.value.columns()),
        caveats=(*found.caveats, *caveats(compiled, dialect, envelope)),
    )


def _comments(one: Onboarded) -> dict[str, str]:
    """Return the remarks of a new file, by dotted key."""
    remarks = {"key.columns": "from the key subject", "target.buckets": one.layout}
    if one.caveats:
        remarks["dialect"] = "\n".join(["Known of this source:", *(f"- {caveat}" for caveat in one.caveats)])
    return remarks


def _write(settings: Settings, one: Onboarded, *, dry_run: bool) -> Onboarded:
    """Write a new table file, or add to an existing one what it cannot be read without."""
    table = one.table
    if table is None:
        return one
    path = settings.tables_dir / f"{table.name}.toml"
    before = path.read_text(encoding="utf-8") if path.exists() else None
    after = render(table, _comments(one)) if before is None else merge(before, table)
    state: State = "new" if before is None else "unchanged" if after == before else "completed"
    if not dry_run and state != "unchanged":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(after, encoding="utf-8")
    return attrs.evolve(one, state="failed" if one.state == "failed" else state, path=path)
