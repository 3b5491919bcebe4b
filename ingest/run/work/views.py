"""The topics of a table for commands that work on one of them, or on all."""

from collections.abc import Sequence

from ingest.errors import UsageError
from ingest.names import first_few
from ingest.run.work.topics import resolved
from ingest.settings import KafkaSettings
from ingest.tables import TableConfig, views


def all_views(kafka: KafkaSettings, tables: Sequence[TableConfig]) -> tuple[TableConfig, ...]:
    """Return the view of every topic of tables, in their order."""
    return tuple(view for table in resolved(kafka, tables) for view in views(table))


def chosen_views(kafka: KafkaSettings, table: TableConfig, topic: str | None) -> tuple[TableConfig, ...]:
    """Return the views of all topics of a table, or of the named one."""
    found = all_views(kafka, [table])
    chosen = tuple(view for view in found if topic in (None, view.topic))
    if not chosen:
        names = first_few([view.topic for view in found])
        raise UsageError(f"--topic {topic}: table {table.name} does not read it", f"It reads {names}")
    return chosen


def one_view(kafka: KafkaSettings, table: TableConfig, topic: str | None) -> TableConfig:
    """Return the view of the only topic of a table, or of the named one."""
    first, *further = chosen_views(kafka, table, topic)
    if further:
        names = first_few([view.topic for view in (first, *further)])
        raise UsageError(f"table {table.name} reads several topics", f"Name one with --topic: {names}")
    return first
