"""Registry and broker: reachable, logged in, with the rights that a run needs."""

import time
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from ingest.errors import IngestError, OffsetError, SchemaNotFoundError
from ingest.hudi.lake_files import LakeFiles
from ingest.kafka.sample import sample
from ingest.kafka.topics import fetch_retention, list_topics
from ingest.kafka.watermarks import Watermarks, fetch_watermarks
from ingest.moments import write_duration
from ingest.names import Partition, Subject, first_few
from ingest.operations.doctor.finding import Finding, problems_of
from ingest.operations.status.connector import Connectors, find_connectors
from ingest.registry import Registry
from ingest.run.batch.start import last_of, pending
from ingest.run.work.topics import find_feeds
from ingest.settings import Settings
from ingest.tables import Feed, TableConfig, feeds, is_pattern

NEAR_END: Final = 0.5
"""The share of a topic's retention that unread messages may reach before a warning."""


def check_registry(
    settings: Settings, registry: Registry, tables: Sequence[TableConfig]
) -> Iterator[Finding]:
    """List the subjects, read the compatibility level, and look for the subjects of the tables."""
    subjects = sorted(set(_subjects(settings, tables)))
    if not settings.registry.url and not subjects and tables:
        yield Finding("registry", "skipped", "is not set, and the tables do not need it")
        return
    present = registry.subjects()
    yield Finding("registry", "ok", f"{registry.url}: {counted(len(present), 'subject')} listed")
    missing = [name for name in subjects if name not in present]
    if missing:
        todo = "Register them, or correct [subjects] in the table files: `ingest plan` names each table"
        yield Finding("registry", "problem", f"does not have {first_few(missing)}", todo)
    readable = [name for name in subjects if name in present] or list(present[:1])
    if readable:
        yield from _levels(registry, readable)


def _subjects(settings: Settings, tables: Sequence[TableConfig]) -> Iterator[Subject]:
    """Yield the subjects of tables.  The subjects of a pattern's topics are unknown here."""
    masking = settings.masking.of_tables()
    for feed in (feed for table in tables for feed in feeds(table, masking) if not is_pattern(feed.topic)):
        yield from filter(None, (feed.subjects.key, feed.subjects.value))


def _levels(registry: Registry, subjects: Sequence[Subject]) -> Iterator[Finding]:
    """Read a schema, and the compatibility levels."""
    registry.latest(subjects[0])
    levels: dict[str, list[Subject]] = {}
    for name in subjects:
        try:
            levels.setdefault(registry.compatibility(name), []).append(name)
        except SchemaNotFoundError:
            continue
    text = ", ".join(
        f"{level} for {counted(len(names), 'subject')}" for level, names in sorted(levels.items())
    )
    refusing = sorted(name for level, names in levels.items() if level != "NONE" for name in names)
    if refusing:
        todo = (
            "Set NONE for them: [evolution] in the table files decides about each change. A connector that "
            "has stopped goes on after a restart"
        )
        text = (
            f"{text}: a change of a table that the level does not allow, such as another type, stops its "
            f"connector, because the registry refuses the schema ({first_few(refusing)})"
        )
        yield Finding("compatibility", "warning", text, todo)
    else:
        yield Finding("compatibility", "ok", text or "unknown")


@attrs.frozen
class BrokerCheck:
    """The broker, and the topics of tables: their ends, and their retention against the tables' lag."""

    settings: Settings
    tables: Sequence[TableConfig]
    files: LakeFiles

    def findings(self) -> Iterator[Finding]:
        """Ask for the ends of all topics at once, then look at each table's lag."""
        kafka = self.settings.kafka
        by_table = find_feeds(self.settings, self.tables)
        every = [feed for own in by_table.values() for feed in own]
        topics = sorted({feed.topic for feed in every if not is_pattern(feed.topic)})
        if not topics:
            yield from self._reachable()
            return
        marks = fetch_watermarks(kafka, topics)
        yield Finding(
            "broker",
            "ok",
            f"{kafka.bootstrap_servers}: {len(marks.found)} of {len(topics)} topics can be read",
        )
        for error in marks.errors.values():
            yield from problems_of("broker", error)
        yield from self._retention(every, marks)
        yield from _connectors(find_connectors(self.settings, by_table))

    def _reachable(self) -> Iterator[Finding]:
        kafka = self.settings.kafka
        count = len(list_topics(kafka))
        yield Finding("broker", "ok", f"{kafka.bootstrap_servers}: {counted(count, 'topic')} listed")

    def _retention(self, own: Sequence[Feed], marks: Watermarks) -> Iterator[Finding]:
        """Compare the age of each table's oldest unread message with the retention of its topic."""
        retention = fetch_retention(self.settings.kafka, list(marks.found))
        is_near = False
        for feed in own:
            if feed.topic not in marks.found:
                continue
            limit_s = retention.get(feed.topic)
            try:
                age_s = self._age_s(feed, marks)
            except OffsetError as error:
                yield from problems_of("retention", error)
                is_near = True
                continue
            if limit_s is not None and age_s is not None and age_s > NEAR_END * limit_s:
                is_near = True
                text = (
                    f"table {feed.name}: its oldest unread message is {write_duration(age_s)} old, "
                    f"and topic {feed.topic} keeps messages for {write_duration(limit_s)}"
                )
                yield Finding("retention", "warning", text, "Run it soon, or raise the topic's retention.ms")
        if not is_near:
            shortest = min((limit for limit in retention.values() if limit is not None), default=None)
            text = (
                "unlimited"
                if shortest is None
                else f"{write_duration(shortest)} at least; no table is near it"
            )
            yield Finding("retention", "ok", text)

    def _age_s(self, feed: Feed, marks: Watermarks) -> float | None:
        """Return the age of a table's oldest unread message, or None without one, or without a time."""
        try:
            last = last_of(self.files.table(feed.table), feed)
        except IngestError:
            return None
        except Exception:  # noqa: BLE001  files that only Hudi can read
            return None
        ranges = pending(feed, last, marks.of(feed.topic), None)
        starts = {
            Partition(part.partition): (part.start, part.start + 1)
            for part in ranges.ranges
            if part.end > part.start
        }
        records = sample(self.settings.kafka, feed.topic, starts, per_end=1) if starts and last else ()
        times = [record.timestamp_ms for record in records if record.timestamp_ms is not None]
        return time.time() - min(times) / 1000 if times else None


def _connectors(found: Connectors) -> Iterator[Finding]:
    """Report the connectors that are silent beyond their limits: without them no table is behind."""
    if found.error is not None:
        yield from problems_of("connectors", found.error)
    known = {connector.prefix: connector for connector in found.by_topic.values()}
    silent = [problem for connector in known.values() if (problem := connector.problem())]
    for problem in silent:
        yield Finding("connectors", "warning", problem, "Look at its status and log, and at the source's log")
    if known and not silent:
        yield Finding("connectors", "ok", f"{counted(len(known), 'connector')} heard within the limits")


def counted(count: int, noun: str) -> str:
    """Write a number of things."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
