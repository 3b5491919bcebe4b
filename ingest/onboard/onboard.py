"""Topics become table files.

For each topic, find out: its kind, by its schema; the connector, by the source block's record; the key, by
the key's schema; the Hudi table's layout, by a rule.  Topics without data are left out, with the reason.  A
person's edits are never overwritten.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from ingest.config.rules import WrongValueError
from ingest.dialects import Dialect
from ingest.errors import BrokerUnreachableError, IngestError, RetryableError, UsageError
from ingest.kafka.watermarks import Watermarks, fetch_watermarks
from ingest.names import Topic
from ingest.onboard.describe import describe, envelope_of, newest_change, unknown_source, why_left_out
from ingest.onboard.discover import (
    TopicSchemas,
    broker_topics,
    find_in_messages,
    find_registered,
    matching,
    missing_topic,
    registered_topics,
)
from ingest.onboard.framings import find_framings
from ingest.onboard.outcome import Onboarded, OnboardOptions
from ingest.onboard.shards import merged
from ingest.onboard.write import write_table
from ingest.registry import Registry, TopicSubjects, key_beside
from ingest.settings import Settings
from ingest.tables import Key, TableConfig, Target, Types, clashes, read, table_name

_MAX_UNREACHABLE: Final = 3
"""Topics in a row that a registry or broker out of reach may fail, before that ends the command."""


def onboard(
    settings: Settings,
    registry: Registry,
    patterns: Sequence[str],
    options: OnboardOptions = OnboardOptions(),
    *,
    dry_run: bool = False,
) -> tuple[Onboarded, ...]:
    """Onboard every topic that matches one of the globs; with `dry_run` nothing is written.

    Topics of Avro are those of the registry; JSON has the broker's.  A topic that cannot be onboarded does
    not stop the others.  Raises `UsageError` where no topic matches, or two topics would become one table.
    """
    if options.format == "avro":
        topics, where = registered_topics(registry, settings.kafka), f"registry {registry.url}"
    else:
        topics, where = broker_topics(settings.kafka), f"broker {settings.kafka.bootstrap_servers}"
    chosen, missing = matching(topics, patterns, where)
    absent = [Onboarded(Topic(name), "failed", missing_topic(name, where, topics)) for name in missing]
    results = _onboard_topics(settings, registry, chosen, options)
    if options.merge:
        results = merged(results, patterns, [topic.topic for topic in topics])
    tables = {result.topic: result.table.name for result in results if result.table}
    for name, twins in clashes(tables).items():
        raise UsageError(
            f"the topics {', '.join(twins)} would all become table {name}",
            "Give them names that differ, with --name, or make them one table, with --merge",
        )
    return (*(write_table(settings, result, dry_run=dry_run) for result in results), *absent)


def _onboard_topics(
    settings: Settings, registry: Registry, topics: Sequence[TopicSubjects], options: OnboardOptions
) -> list[Onboarded]:
    """Onboard topic by topic.  Raises `RetryableError` once several in a row could not be asked for."""
    sizes = _sizes(settings, [topic.topic for topic in topics])
    results: list[Onboarded] = []
    unreachable = 0
    for topic in topics:
        try:
            results.append(_onboard_topic(settings, registry, topic, options, sizes))
            unreachable = 0
        except RetryableError as error:
            unreachable += 1
            if unreachable >= min(_MAX_UNREACHABLE, len(topics)):
                raise
            results.append(Onboarded(topic.topic, "failed", str(error)))
    return results


def _sizes(settings: Settings, topics: Sequence[Topic]) -> Watermarks | None:
    """Ask the broker for the topics' sizes; without a broker the smallest layout is chosen."""
    kafka = settings.kafka
    if not kafka.bootstrap_servers:
        return None
    try:
        return fetch_watermarks(kafka, topics)
    except BrokerUnreachableError:
        return None


def size_of(sizes: Watermarks | None, topic: Topic) -> int | None:
    """Return the number of a topic's messages; None where the broker does not say."""
    marks = sizes.found.get(topic) if sizes else None
    return None if marks is None else sum(mark.end - mark.begin for mark in marks.values())


def _onboard_topic(
    settings: Settings,
    registry: Registry,
    named: TopicSubjects,
    options: OnboardOptions,
    sizes: Watermarks | None,
) -> Onboarded:
    try:
        if options.format == "avro":
            schemas = find_registered(registry, named)
            schemas = find_framings(settings.kafka, registry, schemas, sizes)
        else:
            declared = _declared_schema(settings, named.topic, options)
            schemas = find_in_messages(settings.kafka, named.topic, declared)
        return _examine(settings, schemas, options, sizes)
    except UsageError as error:
        if options.name:  # a template that a person can change
            raise
        return Onboarded(named.topic, "failed", str(error))
    except RetryableError:
        raise
    except (IngestError, WrongValueError) as error:
        return Onboarded(named.topic, "failed", str(error))


def _declared_schema(settings: Settings, topic: Topic, options: OnboardOptions) -> Path | None:
    """Return the schema given for a topic's values: the one that its table file names comes first."""
    path = settings.tables_dir / f"{_table_name(topic, options)}.toml"
    schema = read(path).schema if path.exists() else None
    return settings.tables_dir / schema if schema else options.schema


def _table_name(topic: Topic, options: OnboardOptions) -> str:
    return table_name(topic, options.name) if options.name else table_name(topic)


def _examine(
    settings: Settings, schemas: TopicSchemas, options: OnboardOptions, sizes: Watermarks | None
) -> Onboarded:
    topic = schemas.topic
    if not schemas.values:
        reason = "without a schema in its messages, which are not Debezium's: give one with --schema FILE"
        return Onboarded(topic, "left out", reason)
    newest = newest_change(schemas.values)
    reason = why_left_out(topic, newest, options)
    if reason:
        return Onboarded(topic, "left out", reason)
    envelope = envelope_of(newest)
    if envelope.dialect is None:
        return Onboarded(topic, "left out", unknown_source(envelope))
    table = _edited(settings, _new_table(settings, schemas, envelope.dialect, options), options)
    keyed = schemas.keys or table.key.columns or envelope.unique or table.target.mode == "append"
    if not keyed:
        return Onboarded(topic, "left out", _keyless(schemas))
    try:
        return describe(table, schemas, envelope, envelope.dialect, size_of(sizes, topic))
    except IngestError as error:
        return Onboarded(topic, "failed", str(error), table=table)  # with a file to fix it in


def _new_table(
    settings: Settings, schemas: TopicSchemas, dialect: Dialect, options: OnboardOptions
) -> TableConfig:
    """Return the table of a topic, by its schemas and a person's options."""
    topic = schemas.topic
    name = _table_name(topic, options)
    return TableConfig(
        name=name,
        topic=topic,
        dialect=dialect.name,  # type: ignore[arg-type]  # DIALECTS holds the names that files allow
        subjects=schemas.subjects,
        format=options.format,
        framings=schemas.framings,
        schema=_schema_file(settings, schemas, name),
        key=Key(options.key or schemas.key_names),
        target=Target(mode="append" if options.append else "upsert"),
        types=Types(
            timestamps=settings.types.timestamps, out_of_range="null" if dialect.has_infinity else "fail"
        ),
        masking=settings.masking.of_tables(),
    )


def _edited(settings: Settings, table: TableConfig, options: OnboardOptions) -> TableConfig:
    """Put a person's edits of an existing file over a new table.  Raises `UsageError` where --key differs."""
    path = settings.tables_dir / f"{table.name}.toml"
    if not path.exists():
        return table
    existing = read(path)
    if options.key and existing.key.columns and existing.key.columns != options.key:
        raise UsageError(
            f"--key {','.join(options.key)}: {path} has [key] columns {', '.join(existing.key.columns)}",
            "Change the file: onboarding never overwrites it",
        )
    key = existing.key if existing.key.columns else table.key
    return attrs.evolve(
        table, key=key, target=existing.target, types=existing.types, columns=existing.columns,
        framings=existing.framings,
    )  # fmt: skip


def _schema_file(settings: Settings, schemas: TopicSchemas, name: str) -> str | None:
    """Return the path of a declared or guessed schema, relative to the table files, which name it."""
    if schemas.guess:
        return f"{name}.schema.json"
    if schemas.schema is None:
        return None
    return os.path.relpath(schemas.schema.resolve(), settings.tables_dir.resolve())


def _keyless(schemas: TopicSchemas) -> str:
    value = schemas.subjects.value
    missing = f"no subject {key_beside(value)}" if value else "no key"
    return f"{missing}: name the columns that are unique with --key, or keep every change with --append"
