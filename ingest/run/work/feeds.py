"""The feeds of a table for commands that work on one of them, or on all."""

from ingest.errors import UsageError
from ingest.names import first_few
from ingest.run.work.topics import find_feeds
from ingest.settings import Settings
from ingest.tables import Feed, TableConfig


def chosen_feeds(settings: Settings, table: TableConfig, topic: str | None) -> tuple[Feed, ...]:
    """Return the feeds of all topics of a table, or of the named one."""
    found = find_feeds(settings, [table])[table.name]
    chosen = tuple(feed for feed in found if topic in (None, feed.topic))
    if not chosen:
        names = first_few([feed.topic for feed in found])
        raise UsageError(f"--topic {topic}: table {table.name} does not read it", f"It reads {names}")
    return chosen


def one_feed(settings: Settings, table: TableConfig, topic: str | None) -> Feed:
    """Return the feed of the only topic of a table, or of the named one."""
    first, *further = chosen_feeds(settings, table, topic)
    if further:
        names = first_few([feed.topic for feed in (first, *further)])
        raise UsageError(f"table {table.name} reads several topics", f"Name one with --topic: {names}")
    return first
