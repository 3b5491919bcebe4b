"""A topic of several tables becomes a table file for each.

The messages name the tables, so Spark, which the caller starts, reads all of them.  A file that already takes
a table stays as it is, under any name.
"""

from collections.abc import Callable, Sequence
from itertools import chain

from ingest.compile.envelope import classify, find_envelope, why_foreign
from ingest.compile.payload import WriterSchema
from ingest.config.rules import WrongValueError
from ingest.errors import IngestError, RetryableError, SchemaError, UsageError
from ingest.kafka.breaks import count_messages
from ingest.kafka.watermarks import Watermarks, fetch_watermarks
from ingest.names import Topic
from ingest.onboard.describe import LEFT_OUT
from ingest.onboard.discover import TopicSchemas, broker_topics, matching, missing_topic
from ingest.onboard.framings import find_framings
from ingest.onboard.outcome import Onboarded, OnboardOptions
from ingest.onboard.split_table import Splitting
from ingest.onboard.write import write_table
from ingest.registry import Registry
from ingest.run.batch.compacted_topics import refuse_compacted
from ingest.run.batch.topic_tables import TopicTables
from ingest.settings import Settings
from ingest.tables import CONFLUENT, clashes

ReadTables = Callable[[Topic, tuple[WriterSchema, ...], int], TopicTables]
"""Reads the tables of a topic, by the schemas of its subjects and the number of its messages."""


def onboard_split(
    settings: Settings,
    registry: Registry,
    patterns: Sequence[str],
    options: OnboardOptions,
    read_tables: ReadTables,
    *,
    dry_run: bool = False,
) -> tuple[Onboarded, ...]:
    """Onboard the tables of every topic that matches one of the globs. With `dry_run` nothing is written.

    Raises `UsageError` for options of topics of one table, if no topic matches, or if two tables would have
    the same name.
    """
    check_options(options)
    topics, where = broker_topics(settings.kafka), f"broker {settings.kafka.bootstrap_servers}"
    matched, missing = matching(topics, patterns, where, options.exclude)
    chosen = [named.topic for named in matched]
    absent = [Onboarded(Topic(name), "failed", missing_topic(name, where, topics)) for name in missing]
    splitting = Splitting.begin(settings, registry, options, [named.topic for named in topics])
    sizes = fetch_watermarks(settings.kafka, chosen)
    results = list(
        chain.from_iterable(_onboard_topic(splitting, topic, sizes, read_tables) for topic in chosen)
    )
    refuse_clashes(results)
    is_dry = dry_run or options.check
    return (*(_written(settings, result, dry_run=is_dry) for result in results), *absent)


def check_options(options: OnboardOptions) -> None:
    """Raise `UsageError` for options that do not fit topics of several tables."""
    if options.format != "avro":
        problem = f"--split is only for Avro; found --format {options.format}"
        raise UsageError(problem, "Let the router give each table its own topic")
    if options.merge:
        raise UsageError("--split and --merge: a table is a part of one topic", "Give one of them")
    if options.schema:
        raise UsageError("--split is only for Avro, and --schema for JSON", "Remove --schema")


def _onboard_topic(
    splitting: Splitting, topic: Topic, sizes: Watermarks, read_tables: ReadTables
) -> list[Onboarded]:
    settings = splitting.settings
    try:
        refuse_compacted(settings.kafka, topic, "--split")
        messages = count_messages(sizes.of(topic))
        if not messages:
            return [Onboarded(topic, "left out", "without messages: they name the tables")]
        values = tuple(chain.from_iterable(splitting.versions_of(topic).values()))
        content = read_tables(topic, values, messages)
        problem = _foreign_framings(splitting, topic, content, sizes)
        return [Onboarded(topic, "failed", problem)] if problem else onboard_tables(splitting, topic, content)
    except (RetryableError, UsageError):
        raise
    except (IngestError, WrongValueError) as error:
        return [Onboarded(topic, "failed", str(error))]


def _foreign_framings(splitting: Splitting, topic: Topic, content: TopicTables, sizes: Watermarks) -> str:
    """Return why the framings of a topic's first and last messages do not fit, or an empty text."""
    keys = tuple(key for table in content.tables for key in table.keys)
    values = (*content.unnamed, *(value for table in content.tables for value in table.values))
    schemas = TopicSchemas(topic, keys, values)
    framings = find_framings(splitting.settings.kafka, splitting.registry, schemas, sizes).framings
    if framings == CONFLUENT:
        return ""
    return f"its messages have the framings {', '.join(framings)}: a topic of several needs 'confluent'"


def onboard_tables(splitting: Splitting, topic: Topic, content: TopicTables) -> list[Onboarded]:
    """Onboard the tables that the messages of a topic name."""
    results = [splitting.onboard(topic, table, content.unreadable) for table in content.tables]
    reasons = [_why_unnamed(schema) for schema in content.unnamed if classify(schema.schema) not in LEFT_OUT]
    if reasons:
        return [*results, Onboarded(topic, "failed", "; ".join(reasons))]
    return results or [_without_tables(topic, content)]


def _why_unnamed(schema: WriterSchema) -> str:
    """Return the reason why the messages of a schema do not name their table."""
    if classify(schema.schema) != "data":
        return f"{schema.label}: {why_foreign(schema.schema)}"
    try:
        envelope = find_envelope(schema.schema, schema.label)
    except SchemaError as error:
        return str(error)
    title = envelope.dialect.title if envelope.dialect else envelope.source_record
    return (
        f"{schema.label}: events of {title} in the form '{envelope.form}' do not name a table that "
        "source_table could be: route each table to a topic of its own"
    )


def _without_tables(topic: Topic, content: TopicTables) -> Onboarded:
    if content.unreadable:
        reason = (
            f"{content.unreadable:,} messages, and not one is a change event in Avro, in the framing "
            "'confluent', with a schema of the registry"
        )
        return Onboarded(topic, "failed", reason)
    kinds = [LEFT_OUT.get(classify(schema.schema), "") for schema in content.unnamed]
    return Onboarded(topic, "left out", next(iter(kinds), "without changes, which name the tables"))


def refuse_clashes(results: Sequence[Onboarded]) -> None:
    """Raise `UsageError` if two tables would have the same name."""
    names = {Topic(result.origin): result.table.name for result in results if result.table}
    for name, twins in clashes(names).items():
        raise UsageError(
            f"{' and '.join(twins)} would all become table {name}", "Give them names that differ, with --name"
        )


def _written(settings: Settings, result: Onboarded, *, dry_run: bool) -> Onboarded:
    """Write a new table's file. If the table cannot be compiled, a person can fix it in its file."""
    return result if result.state == "unchanged" else write_table(settings, result, dry_run=dry_run)
