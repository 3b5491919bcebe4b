"""Registry subjects become table files.

For each topic with a value subject: what it is, by its schema; the connector, by the source block's record;
the key, by the key subject; the Hudi table's layout, by a rule.  What is no data topic is left out, with the
reason.  A person's edits are never overwritten.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import attrs

from ingest import avro
from ingest.compile.envelope import Envelope, classify, find_envelope, why_foreign
from ingest.compile.table import CompiledTable, compile_table
from ingest.dialects import DIALECTS, Dialect, dialect_of
from ingest.errors import BrokerUnreachableError, SchemaError, UnmappedTypeError, UsageError
from ingest.hudi.layout import choose_target
from ingest.kafka.watermarks import Watermarks, fetch_watermarks
from ingest.names import Topic
from ingest.registry import Registry, fetch_pair, subject_of, topics_of
from ingest.run.schemas import fetch_written, label
from ingest.settings import Settings
from ingest.tables import Column, Key, Subjects, Table, Target, clashes, merge, read, render, table_name

State = Literal["new", "unchanged", "completed", "left out", "failed"]

_LEFT_OUT = {
    "heartbeat": "the connector's heartbeats, no table's changes",
    "transaction": "the connector's transaction metadata, no table's changes",
    "schema-change": "the connector's schema changes (DDL), no table's changes",
    "message": "logical messages, no table's changes",
    "notification": "the connector's notifications, no table's changes",
}


@attrs.frozen
class Onboarded:
    """What became of one topic; `reason` says why it was left out or failed."""

    topic: Topic
    state: State
    reason: str = ""
    path: Path | None = None
    table: Table | None = None
    key_columns: tuple[str, ...] = ()
    columns: int = 0
    layout: str = ""
    """Why the Hudi table is laid out as it is."""
    doubts: tuple[str, ...] = ()


def onboard(
    settings: Settings,
    registry: Registry,
    patterns: Sequence[str],
    *,
    name: str | None = None,
    dry_run: bool = False,
) -> tuple[Onboarded, ...]:
    """Onboard every topic that matches one of the globs; with `dry_run` nothing is written.

    Raises `UsageError` where nothing matches, or two topics would become one table.
    """
    topics = _matching(registry, patterns)
    sizes = _sizes(settings, topics)
    found = [_onboard_one(settings, registry, topic, name, sizes) for topic in topics]
    made = {one.topic: one.table.table for one in found if one.table}
    for shared, twins in clashes(made).items():
        raise UsageError(
            f"the topics {', '.join(twins)} would all become table {shared}",
            "Give them names that differ, with --name",
        )
    return tuple(one if one.table is None else _write(settings, one, dry_run=dry_run) for one in found)


def _matching(registry: Registry, patterns: Sequence[str]) -> tuple[Topic, ...]:
    known = topics_of(registry.subjects())
    topics = tuple(topic for topic in known if any(fnmatchcase(topic, one) for one in patterns))
    if not topics:
        listed = ", ".join(known[:5]) + (", …" if len(known) > len(known[:5]) else "")
        raise UsageError(
            f"no topic of registry {registry.url} matches {' '.join(patterns)}",
            f"Its topics are: {listed}" if known else "It has no value subject at all",
        )
    return topics


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
    settings: Settings, registry: Registry, topic: Topic, name: str | None, sizes: Watermarks | None
) -> Onboarded:
    try:
        return _examine(settings, registry, topic, name, sizes)
    except (SchemaError, UnmappedTypeError) as error:
        return Onboarded(topic, "failed", str(error))


def _examine(
    settings: Settings, registry: Registry, topic: Topic, name: str | None, sizes: Watermarks | None
) -> Onboarded:
    pair = fetch_pair(registry, topic)
    where = label(pair.value)
    *references, text = registry.with_references(pair.value)
    schema = avro.parse(text, references, where=where)
    kind = classify(schema)
    if kind in _LEFT_OUT:
        return Onboarded(topic, "left out", _LEFT_OUT[kind])
    if kind == "foreign":
        return Onboarded(topic, "left out", why_foreign(schema))
    envelope = find_envelope(schema, where)
    dialect = dialect_of(envelope.source_record)
    if envelope.is_signal:
        return Onboarded(topic, "left out", "Debezium's signal table")
    if dialect is None:
        known = ", ".join(sorted(DIALECTS))
        return Onboarded(topic, "left out", f"{envelope.source_record}: not supported yet (only {known})")
    if pair.key is None:
        return Onboarded(topic, "left out", f"no subject {subject_of(topic, 'key')}: a table needs a key")
    table = Table(
        table=table_name(topic, name) if name else table_name(topic),
        topic=topic,
        dialect=dialect.name,  # type: ignore[arg-type]  # DIALECTS holds the names that table files allow
        subjects=Subjects(key=pair.key.subject, value=pair.value.subject),
    )
    path = settings.tables_dir / f"{table.table}.toml"
    said = read(path).columns if path.exists() else {}
    try:
        return _describe(registry, attrs.evolve(table, columns=said), dialect, envelope, sizes)
    except (SchemaError, UnmappedTypeError) as error:
        return Onboarded(topic, "failed", str(error), table=table)  # with a file to mend it in


def _describe(
    registry: Registry, table: Table, dialect: Dialect, envelope: Envelope, sizes: Watermarks | None
) -> Onboarded:
    """Complete the table with what its key and its size ask for, and see that it compiles."""
    keys, values = fetch_written(registry, table)
    table = attrs.evolve(table, columns=_lossless_keys(keys[-1].schema) | table.columns)
    compiled = compile_table(table, keys, values)
    names = tuple(name for name, _ in compiled.key_columns)
    size = sizes.found.get(table.topic) if sizes else None
    held = sum(mark.end - mark.begin for mark in size.values()) if size else 0
    choice = choose_target(held, (), names)
    target = Target(index=choice.index, buckets=choice.buckets, first_load=choice.first_load)
    return Onboarded(
        table.topic,
        "new",
        layout=choice.reason if size is not None else f"{choice.reason} (the broker was not asked)",
        table=attrs.evolve(table, target=target, key=Key(names)),
        key_columns=names,
        columns=len(compiled.value.columns()),
        doubts=tuple(_doubts(compiled, dialect, envelope)),
    )


def _lossless_keys(key: avro.Schema) -> dict[str, Column]:
    """Return rules for key columns whose usual type would make two keys one."""
    rules: dict[str, Column] = {}
    for field in key.fields if isinstance(key, avro.Record) else ():
        kind = avro.not_null(field.type)
        semantic = kind.notes.semantic if isinstance(kind, avro.Scalar) else ""
        if semantic == "io.debezium.time.NanoTimestamp":
            rules[field.name] = Column(nanos="string")
        elif semantic == "io.debezium.time.ZonedTimestamp":
            rules[field.name] = Column(type="string")
    return rules


def _doubts(compiled: CompiledTable, dialect: Dialect, envelope: Envelope) -> list[str]:
    """Return what a user should know before trusting the table."""
    filled = [
        field.name
        for field in envelope.row.fields
        if isinstance(field.type, avro.Nullable) and not field.type.null_first
    ]
    doubts = []
    if filled:
        doubts.append(
            f"{', '.join(filled)}: nullable with a default; the producer's converter may have written the "
            "default where the source holds null"
        )
    lossy: dict[str, list[str]] = {}
    for variant in compiled.value.variants:
        if variant.mapped.loses:
            lossy.setdefault(variant.mapped.loses, []).append(variant.column)
    doubts += [f"{', '.join(dict.fromkeys(names))}: loses {what}" for what, names in lossy.items()]
    semantics = {v.mapped.semantic for v in compiled.value.variants}
    guards = [g.text for g in dialect.guards if not g.semantics or semantics.intersection(g.semantics)]
    return [*doubts, *guards]


def _comments(one: Onboarded) -> dict[str, str]:
    """Return the remarks of a new file, by dotted key."""
    remarks = {"key.columns": "from the key subject", "target.buckets": one.layout}
    if one.doubts:
        remarks["dialect"] = "\n".join(["Known of this source:", *(f"- {doubt}" for doubt in one.doubts)])
    return remarks


def _write(settings: Settings, one: Onboarded, *, dry_run: bool) -> Onboarded:
    """Write a new table file, or add to an existing one what it cannot be read without."""
    table = one.table
    if table is None:
        return one
    path = settings.tables_dir / f"{table.table}.toml"
    before = path.read_text(encoding="utf-8") if path.exists() else None
    after = render(table, _comments(one)) if before is None else merge(before, table)
    state: State = "new" if before is None else "unchanged" if after == before else "completed"
    if not dry_run and state != "unchanged":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(after, encoding="utf-8")
    return attrs.evolve(one, state="failed" if one.state == "failed" else state, path=path)
