"""The rows of a rebuild: the table's rows, arranged otherwise, or its topic's messages, decoded again.

Each is checked before anything is written: every row of the table is in the result.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import reduce

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import COORDINATES
from ingest.compile.evolve import TargetColumn
from ingest.errors import RebuildError
from ingest.hudi.class_path import check_class_path
from ingest.hudi.fixed import FixedChange, recorded_masks, stored_name
from ingest.hudi.keys import unsafe_texts
from ingest.hudi.options import OP
from ingest.hudi.table import HudiTable
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.kafka.ranges import TopicRanges
from ingest.order.changes import Stored
from ingest.order.columns import never_null, select
from ingest.order.models import model_of
from ingest.order.rewrite import widened
from ingest.run.batch.batch import decoded_batch, read_batch
from ingest.run.batch.chosen import with_row_sql
from ingest.run.batch.keys import check_keys, refuse_folders
from ingest.run.batch.prepared_batch import PreparedBatch
from ingest.run.batch.schemas import PayloadSchemas
from ingest.run.batch.table_state import TableState
from ingest.run.work.context import Context
from ingest.sql.template import ident
from ingest.sql.types import SparkType, parse_ddl
from ingest.tables import SOURCE, Column, Feed, TableConfig

_FROM_TOPIC = "Set the key back, or use --from topic"


@attrs.frozen
class NewRows:
    """The rows to write, and the account that their commit continues."""

    rows: DataFrame
    entry: LedgerEntry


def rows_of_table(
    stored: HudiTable,
    feed: Feed,
    key_columns: Sequence[str],
    last: LedgerEntry,
    changes: Sequence[FixedChange],
) -> NewRows:
    """Return the rows of a table under the names and with the key of the table file.

    Raises RebuildError for a key that does not identify them.
    """
    table = feed.table
    rows = _renamed(stored.rows(), table, _new_names(changes, last.table_file))
    types = {name: parse_ddl(ddl) for name, ddl in rows.dtypes}
    missing = [name for name in (*key_columns, *table.target.partition_by) if name not in types]
    if missing:
        raise RebuildError(table.name, f"the table does not have the column {missing[0]}", _FROM_TOPIC)
    keys = [TargetColumn(name, types[name]) for name in key_columns]
    columns = [TargetColumn(name, spark_type) for name, spark_type in types.items()]
    check_keys(table, keys, columns, {})
    if any(change.key == "key.columns" for change in changes):
        _check_key_values(rows, table, types, key_columns)
    refuse_folders(rows, feed, keys)
    return NewRows(_with_key(rows, types, key_columns), last)


@attrs.frozen
class AppliedTopic:
    """The messages of a topic that a table has applied, with the schemas known before they are read."""

    feed: Feed
    ranges: TopicRanges
    schemas: PayloadSchemas


@contextmanager
def rows_of_topics(run: Context, last: LedgerEntry, topics: Sequence[AppliedTopic]) -> Iterator[NewRows]:
    """Decode all messages that a table has applied, as if into a new one.  Valid until the context ends.

    Raises RebuildError if these messages do not give every row of the table, `EvolutionError` and others as a
    run does.
    """
    table = topics[0].feed.table
    stored, state = run.lake.table(table), TableState(None)
    entry, parts = attrs.evolve(last, masks={}), list[DataFrame]()
    with ExitStack() as stack:
        for topic in topics:
            read = read_batch(run.spark, run.settings.kafka, topic.ranges, topic.feed, state)
            decoded = stack.enter_context(decoded_batch(read, run.registry, topic.schemas))
            batch = with_row_sql(run.spark, decoded)
            every_row = _built(run, topic.feed, batch)
            _check_covers(stored, topic.feed, every_row)
            parts.append(_chosen(every_row, batch))
            state, entry = batch.state_after(parts[-1]), _continued(entry, batch)
        rows = reduce(_with_rows, parts)
        _check_columns(stored, table, rows, last)
        yield NewRows(rows, entry.seen_by(last.topic))


def _with_rows(before: DataFrame, rows: DataFrame) -> DataFrame:
    """Add the rows of a topic, whose columns fit the columns of the topics before."""
    return widened(before, rows).unionByName(rows, allowMissingColumns=True)


def _continued(last: LedgerEntry, batch: PreparedBatch) -> LedgerEntry:
    """Add the schemas, truncates and masks of a topic to the account of the topics before."""
    feed = batch.compiled.feed
    last = last.seen_by(feed.source) if feed.source else last
    return attrs.evolve(
        last,
        known_ids=batch.met_after(last.known_ids),
        truncates=batch.counts.truncates,
        tombstone_ends=last.tombstone_ends or batch.has_tombstone_ends,
        masks={**last.masks, **recorded_masks(batch.compiled.masks, feed.masking.salt_id)},
    )


def _built(run: Context, feed: Feed, batch: PreparedBatch) -> DataFrame:
    """Return the marked rows of a batch, without deleted ones."""
    evolution = batch.evolution
    evolution.check()
    check_keys(feed.table, evolution.keys, evolution.columns, {})
    check_class_path(
        run.spark, feed.table, {column.name: column.spark for column in (*evolution.keys, *evolution.columns)}
    )
    model = model_of(batch.compiled)
    rows = model.rows(batch, Stored(), None)
    lost = model.marks(batch, rows, Stored()).lost if batch.counts.partials else 0
    if lost:
        raise RebuildError(
            feed.name,
            f"{lost:,} rows have values that only older messages had, and the topic has them no more",
            "Set the key back, or ask the connector for a new snapshot: `ingest signal`",
        )
    rows = rows.where(F.col(OP) != batch.compiled.model.removal)
    refuse_folders(rows, feed, evolution.keys)
    return rows


def _chosen(rows: DataFrame, batch: PreparedBatch) -> DataFrame:
    """Return the rows that the condition of the table file admits, as a run writes them."""
    chosen = model_of(batch.compiled).chosen(rows, batch.compiled)
    return chosen.where(F.col(OP) != batch.compiled.model.removal)


def _check_columns(stored: HudiTable, table: TableConfig, rows: DataFrame, last: LedgerEntry) -> None:
    """Refuse messages that lack a column of the table, unless its file excludes it now."""
    sources = {stored_name(key, last.table_file): _source_of(key) for key in _renames(last.table_file)}
    for name in stored.columns() or {}:
        column = table.columns.get(sources.get(name, name), Column())
        if not column.exclude and (column.rename or sources.get(name, name)) not in rows.columns:
            raise RebuildError(
                table.name,
                f"the messages of the topic do not have its column {name}",
                "Set the key back, or load a new table: change `table` in the file",
            )


def _check_covers(stored: HudiTable, feed: Feed, rows: DataFrame) -> None:
    """Refuse messages without the newest change of a row: its row names the message by its coordinates."""
    present = stored.rows()
    if feed.source:
        present = present.where(F.col(SOURCE) == feed.source)
    lost = present.select(*COORDINATES).join(rows.select(*COORDINATES), [*COORDINATES], "left_anti")
    count = lost.count()
    if count:
        first = lost.orderBy(*COORDINATES).first()
        where = ""
        if first is not None:
            is_known = first[0] is not None
            message = (
                f"that of {feed.topic}-{first[0]} offset {first[1]}" if is_known else "adopted or loaded"
            )
            where = f", the first is {message}"
        raise RebuildError(
            feed.name,
            f"{count:,} rows of the table come from messages that the topic does not give any more{where}",
            "Set the key back, or read a new snapshot of the source into a new table",
        )


def _new_names(changes: Sequence[FixedChange], recorded: Mapping[str, str]) -> dict[str, str]:
    """Return the renamed columns: the stored name and the new one."""
    values = {change.key: change.value for change in changes}
    return {stored_name(key, recorded): values[key] or _source_of(key) for key in _renames(values)}


def _renames(keys: Iterable[str]) -> list[str]:
    return [key for key in keys if key.startswith("columns.") and key.endswith(".rename")]


def _source_of(key: str) -> str:
    """Return the column of the source that a rename concerns."""
    return key.removeprefix("columns.").removesuffix(".rename")


def _renamed(rows: DataFrame, table: TableConfig, names: Mapping[str, str]) -> DataFrame:
    columns = [names.get(name, name) for name in rows.columns]
    doubled = next((name for name in columns if columns.count(name) > 1), None)
    if doubled:
        raise RebuildError(table.name, f"two of its columns would be named {doubled}", _FROM_TOPIC)
    return rows.toDF(*columns)


def _check_key_values(
    rows: DataFrame, table: TableConfig, types: Mapping[str, SparkType], key_columns: Sequence[str]
) -> None:
    """Refuse key columns with null, with a text that is not safe as a key, or with a value twice."""
    names = [str(ident(name)) for name in key_columns]
    nulls = rows.where(" or ".join(f"{name} is null" for name in names)).count()
    if nulls:
        raise RebuildError(table.name, f"{nulls:,} rows have null in a key column", _FROM_TOPIC)
    key = {name: str(types[name]) for name in key_columns}
    for unsafe, reason in unsafe_texts(key, ident, table.target.partition_by):
        count = rows.where(str(unsafe)).count()
        if count:
            raise RebuildError(table.name, f"{count:,} rows cannot have this key: {reason}", _FROM_TOPIC)
    doubled = rows.groupBy(*names).count().where("count > 1").count()
    if doubled:
        problem = f"{doubled:,} values of the key {', '.join(key_columns)} have several rows"
        raise RebuildError(table.name, problem, "Name columns that are unique")


def _with_key(rows: DataFrame, types: Mapping[str, SparkType], key_columns: Sequence[str]) -> DataFrame:
    """Mark the key as NOT NULL, which `coalesce` does.  A row with null in it was refused."""
    keys = {name: never_null(ident(name), types[name]) for name in key_columns}
    return select(rows, {name: keys.get(name, ident(name)) for name in rows.columns})
