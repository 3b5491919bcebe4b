"""The messages of one table, out of a topic that holds several.

The other tables' messages never reach the decoder of rows: neither their columns nor their keys can touch
this table.  Their schemas do not either: only those count that wrote a change of this table.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.payload import WriterSchema
from ingest.decode.owner import OWN, UNCLEAR, has_source, source_name
from ingest.errors import TableFileError
from ingest.names import SchemaId, first_few
from ingest.order.batch_counts import BatchCounts
from ingest.registry import Registry
from ingest.run.batch.owners import find_owners
from ingest.run.batch.schemas import PayloadSchemas, fetch_by_id
from ingest.tables import Feed, source_fields

_COUNTED: Final = frozenset({OWN, UNCLEAR})
"""The owners of messages that are decoded, and counted then."""


@attrs.frozen
class OwnMessages:
    """The messages of a table, with the schemas of their values, and the counts of the others.

    Message keys are not read: they belong to several tables.
    """

    messages: DataFrame
    values: tuple[WriterSchema, ...]
    others: BatchCounts


@attrs.frozen
class _Routed:
    """Messages with their owners, by all schemas that they name."""

    messages: DataFrame
    values: tuple[WriterSchema, ...]
    own_ids: frozenset[SchemaId]
    counts: Mapping[str, tuple[int, int]]
    """Messages and bytes, by the kind of their owner."""
    other_tables: Mapping[str, int]
    """The messages of each other table."""


def own_messages(
    messages: DataFrame,
    whole_topic: Callable[[], DataFrame] | None,
    feed: Feed,
    registry: Registry,
    values: Sequence[WriterSchema],
    *,
    met_ids: Collection[SchemaId],
) -> OwnMessages:
    """Keep the messages of a table, and those that may be.  `met_ids` are the schemas of its commits.

    A table without either, in a slice of its topic, takes its schemas from the whole topic.  Raises
    `TableFileError` if the topic has no change of the table at all.
    """
    routed = _routed(messages, feed, registry, _with_met(registry, values, met_ids))
    own_ids, known = routed.own_ids.union(met_ids), routed.values
    if whole_topic and not any(value.schema_id in own_ids for value in known if has_source(value)):
        every = _routed(whole_topic(), feed, registry, known)
        own_ids, known = every.own_ids, every.values
        if not own_ids:
            raise _not_found(feed, every)
    others = {kind: count for kind, count in routed.counts.items() if kind not in _COUNTED}
    return OwnMessages(
        routed.messages.where(F.col("owner.kind").isin(*_COUNTED)).select(*messages.columns),
        tuple(value for value in known if value.schema_id in own_ids or not has_source(value)),
        BatchCounts(
            ignored={kind: count for kind, (count, _) in others.items()},
            read_bytes=sum(size for _, size in others.values()),
            other_tables=routed.other_tables,
        ),
    )


def met_schemas(
    registry: Registry, values: Sequence[WriterSchema], met_ids: Collection[SchemaId]
) -> PayloadSchemas:
    """Return the schemas of a table's commits.  `values` are its topic's schemas."""
    met = (value for value in _with_met(registry, values, met_ids) if value.schema_id in met_ids)
    return (), tuple(met)


def _with_met(
    registry: Registry, values: Sequence[WriterSchema], met_ids: Collection[SchemaId]
) -> tuple[WriterSchema, ...]:
    known = {value.schema_id for value in values}
    return (*values, *fetch_by_id(registry, (number for number in met_ids if number not in known)))


def _routed(messages: DataFrame, feed: Feed, registry: Registry, values: tuple[WriterSchema, ...]) -> _Routed:
    """Find the owner of each message."""
    owners = find_owners(messages, registry, values, source_fields(feed.table))
    counts: dict[str, tuple[int, int]] = {}
    names = Counter[str]()
    for row in owners.groups:
        count, octets = counts.get(row.kind, (0, 0))
        counts[row.kind] = (count + row.messages, octets + row.bytes)
        name = source_name(row.source.asDict(), owners.values[row.writer]) if row.source else ""
        names.update({name: row.messages} if name else {})
    own_ids = frozenset(owners.values[row.writer].schema_id for row in owners.groups if row.kind == OWN)
    return _Routed(owners.messages, owners.values, own_ids, counts, dict(sorted(names.items())))


def _not_found(feed: Feed, routed: _Routed) -> TableFileError:
    """Return the error of a topic without the table, with the tables that it has."""
    found = first_few(list(routed.other_tables))
    problem = f"topic {feed.topic} has no change of '{feed.table.source_table}'"
    return TableFileError(
        f"{feed.name}.toml",
        "source_table",
        f"{problem}, only of {found}" if found else problem,
        "Correct the name, or run the table again when its first row has been written",
    )
