"""Write table files for topics.

Onboarding finds each topic's kind by its schema, the connector by the source block's record, the key by the
key's schema, and the Hudi table's layout by a rule.  Topics without data are left out, with the reason.  A
person's edits are never overwritten.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import attrs

from ingest.config.rules import WrongValueError
from ingest.dialects import Dialect
from ingest.errors import BrokerUnreachableError, IngestError, RetryableError, UsageError
from ingest.kafka.breaks import count_messages
from ingest.kafka.sample import RawRecord
from ingest.kafka.watermarks import Watermarks, fetch_watermarks
from ingest.moments import write_duration
from ingest.names import Topic, first_few
from ingest.onboard.caveats import with_partitions
from ingest.onboard.describe import describe, envelope_of, newest_change, unknown_source, why_left_out
from ingest.onboard.discover import (
    TopicSchemas,
    broker_topics,
    explain_missing,
    find_in_messages,
    find_registered,
    matches,
    matching,
    missing_topic,
    registered_topics,
)
from ingest.onboard.framings import sample_ends, with_framings
from ingest.onboard.homes import Homes, reads
from ingest.onboard.layout import new_target, new_types
from ingest.onboard.outcome import Onboarded, OnboardOptions
from ingest.onboard.shards import merged
from ingest.onboard.write import write_table
from ingest.registry import Registry, TopicSubjects, key_beside
from ingest.settings import Settings
from ingest.tables import TableConfig, feed_of, read, table_name

_THREADS: Final = 8
"""Topics that wait for the registry at a time."""
_FORECAST_S: Final = 2.0
"""Seconds before the first forecast, which would be a guess any earlier."""
_MAX_UNREACHABLE: Final = 3
"""Topics in a row that a registry or broker out of reach may fail, before that ends the command."""


def onboard(
    settings: Settings,
    registry: Registry,
    patterns: Sequence[str],
    options: OnboardOptions = OnboardOptions(),
    *,
    dry_run: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> tuple[Onboarded, ...]:
    """Onboard every topic that matches one of the globs. With `dry_run` nothing is written.

    Avro topics are looked up in the registry, and JSON topics in the broker.  A topic that cannot be
    onboarded does not stop the others.  Raises `UsageError` if no topic matches.
    """
    if options.format == "avro":
        topics, where = registered_topics(registry, settings.kafka), f"registry {registry.url}"
    else:
        topics, where = broker_topics(settings.kafka), f"broker {settings.kafka.bootstrap_servers}"
    explain = partial(explain_missing, registry) if options.format == "avro" else lambda _: ""
    homes = Homes.read(settings)
    orphans = _orphans(homes, topics, patterns, options, where) if options.check else []
    chosen, missing = matching(
        topics, patterns, where, options.exclude, explain=explain, may_be_empty=bool(orphans)
    )
    absent = [
        Onboarded(Topic(name), "failed", missing_topic(name, where, topics, explain)) for name in missing
    ]
    sizes = _sizes(settings, [topic.topic for topic in chosen])
    samples = _samples(settings, homes, chosen, sizes, note) if options.format == "avro" else {}
    results = _onboard_topics(Onboarding(settings, registry, options, homes, sizes, samples, note), chosen)
    if options.merge:
        results = merged(results, patterns, [topic.topic for topic in topics])
    results = with_partitions(results)
    refusals = homes.refusals(results)
    kept = [
        Onboarded(result.topic, "failed", refusals[result.topic]) if result.topic in refusals else result
        for result in results
    ]
    is_dry = dry_run or options.check
    return (*(write_table(settings, result, dry_run=is_dry) for result in kept), *absent, *orphans)


def _orphans(
    homes: Homes,
    topics: Sequence[TopicSubjects],
    patterns: Sequence[str],
    options: OnboardOptions,
    where: str,
) -> list[Onboarded]:
    """Return the files of the patterns' tables that read no topic."""
    orphans = []
    for table in homes.tables:
        named = ",".join(table.topics) or table.topic
        is_asked = matches(named, patterns) and not matches(named, options.exclude)
        if table.format != options.format or not is_asked:
            continue
        if not any(reads(table, topic.topic) or table.subjects.value in topic.values for topic in topics):
            reason = f"{where} has no topic {named}: delete the file, or restore the topic"
            path = homes.folder / f"{table.name}.toml"
            orphans.append(Onboarded(Topic(named), "orphaned", reason, path))
    return orphans


@attrs.frozen
class Onboarding:
    """One call: the deployment, a person's options, and the tables that have a file."""

    settings: Settings
    registry: Registry
    options: OnboardOptions
    homes: Homes
    sizes: Watermarks | None
    """The ends of the topics, or None without a broker."""
    samples: Mapping[Topic, Sequence[RawRecord] | None]
    """Messages of the topics whose framings no table file names, None where they cannot be read."""
    note: Callable[[str], None]
    """Hears each step."""


def _onboard_topics(call: Onboarding, topics: Sequence[TopicSubjects]) -> list[Onboarded]:
    """Onboard several topics at a time.  Raises `RetryableError` once several in a row are out of reach."""
    pool = ThreadPoolExecutor(_THREADS, "onboard")
    results: list[Onboarded] = []
    unreachable, started = 0, time.monotonic()
    try:
        for topic, answer in zip(topics, pool.map(partial(_attempt, call), topics), strict=True):
            if isinstance(answer, Onboarded):
                unreachable = 0
                results.append(answer)
            else:
                unreachable += 1
                if unreachable >= min(_MAX_UNREACHABLE, len(topics)):
                    raise answer
                results.append(Onboarded(topic.topic, "failed", str(answer)))
            call.note(_step(len(results), len(topics), time.monotonic() - started))
    finally:
        pool.shutdown(cancel_futures=True)
    return results


def _step(done: int, count: int, seconds: float) -> str:
    """Describe the progress, with the time left as soon as it can be known."""
    left = f", about {write_duration(seconds / done * (count - done))} left" if seconds > _FORECAST_S else ""
    return f"reading schemas: {done:,} of {count:,} topics{left}"


def _attempt(call: Onboarding, topic: TopicSubjects) -> Onboarded | RetryableError:
    """Onboard a topic, or return the reason that may pass."""
    try:
        return _onboard_topic(call, topic)
    except RetryableError as error:
        return error


def _sizes(settings: Settings, topics: Sequence[Topic]) -> Watermarks | None:
    """Ask the broker for the topics' sizes. Without a broker the smallest layout is chosen."""
    kafka = settings.kafka
    if not kafka.bootstrap_servers:
        return None
    try:
        return fetch_watermarks(kafka, topics)
    except BrokerUnreachableError:
        return None


def _samples(
    settings: Settings,
    homes: Homes,
    topics: Sequence[TopicSubjects],
    sizes: Watermarks | None,
    note: Callable[[str], None],
) -> dict[Topic, tuple[RawRecord, ...] | None]:
    """Sample the messages of topics of unknown framings.  A table file names its topic's."""
    homeless = [topic.topic for topic in topics if _has_unknown_framings(homes, topic)]
    return sample_ends(
        settings.kafka,
        homeless,
        sizes,
        lambda done: note(f"sampling messages: {done:,} of {len(homeless):,} topics"),
    )


def _has_unknown_framings(homes: Homes, topic: TopicSubjects) -> bool:
    home = homes.of(topic.topic, topic.values)
    return (home is None or bool(home.topics)) and not homes.parts_of(topic.topic)


def size_of(sizes: Watermarks | None, topic: Topic) -> int | None:
    """Return the number of a topic's messages, or None if the broker does not say."""
    marks = sizes.found.get(topic) if sizes else None
    return None if marks is None else count_messages(marks)


def _onboard_topic(call: Onboarding, named: TopicSubjects) -> Onboarded:
    settings, options = call.settings, call.options
    parts = call.homes.parts_of(named.topic)
    if parts:
        names = first_few(tuple(table.name for table in parts))
        return Onboarded(named.topic, "left out", f"its tables have files, of --split: {names}")
    try:
        if options.format == "avro":
            schemas = find_registered(call.registry, named)
            schemas = with_framings(call.samples.get(named.topic, ()), call.registry, schemas)
        else:
            declared = _declared_schema(call, named)
            schemas = find_in_messages(settings.kafka, named.topic, declared)
        return _examine(call, named, schemas)
    except UsageError as error:
        if options.name:  # a template that a person can change
            raise
        return Onboarded(named.topic, "failed", str(error))
    except RetryableError:
        raise
    except (IngestError, WrongValueError) as error:
        return Onboarded(named.topic, "failed", str(error))


def _declared_schema(call: Onboarding, named: TopicSubjects) -> Path | None:
    """Return the schema given for a topic's values: the one that its table file names comes first."""
    folder = call.settings.tables_dir
    path = folder / f"{call.homes.name_of(call.settings, named, call.options)}.toml"
    schema = read(path, defaults=call.settings.defaults).schema if path.exists() else None
    return folder / schema if schema else call.options.schema


def _examine(call: Onboarding, named: TopicSubjects, schemas: TopicSchemas) -> Onboarded:
    topic, options = schemas.topic, call.options
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
    home = call.homes.of(topic, named.values)
    if home and home.topics and not options.merge:
        return _shard(call.homes, topic, home)
    name = call.homes.name_of(call.settings, named, options)
    table = _edited(
        call.settings, _new_table(call.settings, schemas, envelope.dialect, options, name), options
    )
    keyed = schemas.keys or table.key.columns or envelope.unique or table.target.mode == "append"
    if not keyed:
        return Onboarded(topic, "left out", _keyless(schemas, envelope.dialect))
    try:
        feed = feed_of(table, topic, call.settings.masking.of_tables())
        result = describe(feed, schemas, envelope, envelope.dialect, size_of(call.sizes, topic))
    except IngestError as error:
        return Onboarded(topic, "failed", str(error), table=table)  # with a file to fix it in
    if home and options.name and table_name(topic, options.name) != home.name:
        caveat = f"has its table file already, and --name {options.name} does not rename it"
        return attrs.evolve(result, caveats=(*result.caveats, caveat))
    return result


def _shard(homes: Homes, topic: Topic, home: TableConfig) -> Onboarded:
    """Return the result of a topic that a table reads together with others."""
    path = homes.folder / f"{home.name}.toml"
    reason = f"is one of the topics of table {home.name}"
    return Onboarded(topic, "left out", reason, path)


def _new_table(
    settings: Settings, schemas: TopicSchemas, dialect: Dialect, options: OnboardOptions, name: str
) -> TableConfig:
    """Return the table of a topic, by its schemas and a person's options."""
    topic, defaults = schemas.topic, settings.defaults
    return TableConfig(
        name=name,
        topic=topic,
        dialect=dialect.name,  # type: ignore[arg-type]  # DIALECTS holds the names that files allow
        subjects=schemas.subjects,
        format=options.format,
        framings=schemas.framings,
        schema=_schema_file(settings, schemas, name),
        key=attrs.evolve(defaults.key, columns=options.key or schemas.key_names),
        target=new_target(settings, options),
        types=new_types(settings, dialect),
        evolution=defaults.evolution,
        rejects=defaults.rejects,
        hudi=defaults.hudi,
    )


def _edited(settings: Settings, table: TableConfig, options: OnboardOptions) -> TableConfig:
    """Put a person's edits of an existing file over a new table.  Raises `UsageError` if --key differs."""
    path = settings.tables_dir / f"{table.name}.toml"
    if not path.exists():
        return table
    existing = read(path, defaults=settings.defaults)
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


def _keyless(schemas: TopicSchemas, dialect: Dialect) -> str:
    value = schemas.subjects.value
    missing = f"no subject {key_beside(value)}" if value else "no key"
    text = f"{missing}: name the columns that are unique with --key, or keep every change with --append"
    return f"{text}; {dialect.without_key}" if dialect.without_key else text
