"""One table out of a topic of several: its schemas, its key, and its file."""

from collections.abc import Mapping, Sequence

import attrs

from ingest.compile.envelope import Envelope
from ingest.compile.payload import WriterSchema
from ingest.config.rules import WrongValueError
from ingest.dialects import Dialect
from ingest.errors import IngestError, RetryableError, SchemaError, UsageError, joined
from ingest.names import Subject, Topic
from ingest.onboard.describe import describe, envelope_of, newest_change, unknown_source, why_left_out
from ingest.onboard.discover import TopicSchemas
from ingest.onboard.layout import new_target, new_types
from ingest.onboard.outcome import Onboarded, OnboardOptions
from ingest.onboard.source_key import find_key
from ingest.registry import Registry, TopicSubjects, find_topics
from ingest.run.batch.schemas import fetch_versions
from ingest.run.batch.topic_tables import SourceTable
from ingest.settings import Settings
from ingest.tables import (
    Subjects,
    TableConfig,
    feed_of,
    own_name,
    read_valid,
    table_name,
    topic_of,
)

Versions = Mapping[Subject, tuple[WriterSchema, ...]]
"""The versions of value subjects."""


@attrs.frozen
class Splitting:
    """The subjects by topic, and the tables with a file, for topics of several tables."""

    settings: Settings
    registry: Registry
    options: OnboardOptions
    subjects: Mapping[Topic, TopicSubjects]
    tables: tuple[TableConfig, ...]
    _versions: dict[Topic, Versions] = attrs.field(factory=dict, init=False)

    @classmethod
    def begin(
        cls, settings: Settings, registry: Registry, options: OnboardOptions, topics: Sequence[Topic]
    ) -> "Splitting":
        """Read the names of subjects, and the table files.

        Raises `TableFileError` for a broken file: a table of the topics may be in it.
        """
        named = find_topics(registry.subjects(), lambda: topics)
        has_files = any(settings.tables_dir.glob("*.toml"))
        tables, broken = (
            read_valid(settings.tables_dir, defaults=settings.defaults) if has_files else ((), ())
        )
        if broken:
            raise joined(broken)
        return cls(settings, registry, options, {topic.topic: topic for topic in named}, tables)

    def versions_of(self, topic: Topic) -> Versions:
        """Return the versions of a topic's value subjects, fetched once."""
        if topic not in self._versions:
            named = self.subjects.get(topic)
            values = named.values if named else ()
            self._versions[topic] = {value: fetch_versions(self.registry, value) for value in values}
        return self._versions[topic]

    def onboard(self, topic: Topic, source: SourceTable, unreadable: int) -> Onboarded:
        """Onboard one table. The topic's `unreadable` messages may belong to any table."""
        result = Onboarded(topic, "failed", source_table=source.name)
        try:
            existing = next((table for table in self.tables if _takes(table, topic, source)), None)
            if existing is not None:
                return self._unchanged(existing, source)
            return self._onboard_new(result, source, self._caveats(topic, unreadable))
        except RetryableError:
            raise
        except UsageError as error:
            if self.options.name:  # a template that a person can change
                raise
            return attrs.evolve(result, reason=str(error))
        except (IngestError, WrongValueError) as error:
            return attrs.evolve(result, reason=str(error))

    def _unchanged(self, table: TableConfig, source: SourceTable) -> Onboarded:
        """Describe a table by its own file."""
        schemas = TopicSchemas(table.topic, values=source.values, subjects=table.subjects)
        envelope = envelope_of(newest_change(source.values))
        if envelope.dialect is None:
            raise _unsupported(table.topic, envelope)
        feed = feed_of(table, table.topic, self.settings.masking.of_tables())
        result = describe(feed, schemas, envelope, envelope.dialect, source.messages)
        path = self.settings.tables_dir / f"{table.name}.toml"
        return attrs.evolve(
            result, state="unchanged", table=table, source_table=source.name, caveats=(), path=path
        )

    def _onboard_new(self, failed: Onboarded, source: SourceTable, caveats: tuple[str, ...]) -> Onboarded:
        topic = failed.topic
        values, subject = self._own_schemas(topic, source)
        newest = newest_change(values)
        if reason := why_left_out(topic_of(source.name), newest, self.options):
            return attrs.evolve(failed, state="left out", reason=reason)
        envelope = envelope_of(newest)
        if envelope.dialect is None:
            raise _unsupported(topic, envelope)
        key, problem = find_key(source.keys, envelope.row, self.options.key)
        if problem and not self.options.append:
            return attrs.evolve(failed, reason=problem)
        schemas = TopicSchemas(topic, source.keys, values, Subjects(value=subject), caveats=caveats)
        table = self._table(schemas, source, envelope.dialect, key)
        try:
            return describe(
                feed_of(table, topic, self.settings.masking.of_tables()),
                schemas,
                envelope,
                envelope.dialect,
                source.messages,
            )
        except IngestError as error:  # with a file to fix it in
            return attrs.evolve(failed, reason=str(error), table=table, key_columns=key)

    def _table(
        self, schemas: TopicSchemas, source: SourceTable, dialect: Dialect, key: tuple[str, ...]
    ) -> TableConfig:
        settings, options, defaults = self.settings, self.options, self.settings.defaults
        return TableConfig(
            name=self._name(source),
            topic=schemas.topic,
            dialect=dialect.name,  # type: ignore[arg-type]  # DIALECTS holds the names that files allow
            subjects=schemas.subjects,
            source_table=source.name,
            key=attrs.evolve(defaults.key, columns=() if options.append else key),
            target=new_target(settings, options),
            types=new_types(settings, dialect),
            evolution=defaults.evolution,
            rejects=defaults.rejects,
            hudi=defaults.hudi,
        )

    def _name(self, source: SourceTable) -> str:
        """Return the name of a new table.  Raises `WrongValueError` if another table has it."""
        origin, template = topic_of(source.name), self.options.name
        name = table_name(origin, template) if template else table_name(origin)
        path = self.settings.tables_dir / f"{name}.toml"
        if path.exists() or any(table.name == name for table in self.tables):
            problem = f"'{name}' is the name of another table, which has a file"
            raise WrongValueError("table", problem, "Give another name with --name")
        return name

    def _own_schemas(self, topic: Topic, source: SourceTable) -> tuple[tuple[WriterSchema, ...], Subject]:
        """Return the schemas of a table in their order, and the subject with the newest of them.

        The subject belongs to the topic, or to the table without a router.
        """
        ids = {value.schema_id for value in source.values}
        candidates = (self.versions_of(topic), self.versions_of(topic_of(source.name)))
        for versions_by_subject in candidates:
            for subject, versions in versions_by_subject.items():
                own = tuple(value for value in versions if value.schema_id in ids)
                if own:
                    own_ids = {value.schema_id for value in own}
                    others = (value for value in source.values if value.schema_id not in own_ids)
                    return (*others, *own), subject
        numbers = ", ".join(map(str, sorted(ids)))
        raise SchemaError(
            f"topic {topic}",
            "subjects",
            f"no subject of this topic, or of {topic_of(source.name)}, has a schema of its values: {numbers}",
            "Write the table file yourself, with the subject",
        )

    def _caveats(self, topic: Topic, unreadable: int) -> tuple[str, ...]:
        plain = [table.name for table in self.tables if table.topic == topic and not table.source_table]
        texts = [
            f"table {name} without source_table takes the changes of all tables of topic {topic}"
            for name in plain
        ]
        if unreadable:
            problem = "messages that name no readable table, which each table rejects"
            texts.append(f"topic {topic}: {problem}: {unreadable:,}")
        return tuple(texts)


def _takes(table: TableConfig, topic: Topic, source: SourceTable) -> bool:
    """Return whether a table file takes a table of a topic."""
    return table.topic == topic and table.source_table is not None and own_name(table) == source.name


def _unsupported(topic: Topic, envelope: Envelope) -> SchemaError:
    return SchemaError(f"topic {topic}", "$.source", unknown_source(envelope))
