"""The messages of a topic of several tables, counted by the table that each belongs to."""

from collections.abc import Mapping
from types import MappingProxyType

import attrs
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from ingest.compile.payload import WriterSchema
from ingest.decode.diagnosis import unknown_in
from ingest.decode.owner import OTHER, source_payload, with_owner
from ingest.registry import Registry
from ingest.run.batch.schemas import fetch_by_id


@attrs.frozen
class Owners:
    """Messages with their owners, by all schemas that they name.

    `groups` are rows of `kind`, `source` (of other tables), `writer` (the number of the schema), `messages`
    and `bytes`.
    """

    messages: DataFrame
    values: tuple[WriterSchema, ...]
    groups: tuple[Row, ...]


def find_owners(
    messages: DataFrame,
    registry: Registry,
    values: tuple[WriterSchema, ...],
    own: Mapping[str, str],
    columns: Mapping[str, Column] = MappingProxyType({}),
) -> Owners:
    """Find the owner of each message, fetching the schemas that messages name until no new one is found.

    `own` is the source block of a table's own events.  `columns` divide the groups further.
    """
    size = "coalesce(octet_length(key), 0L) + coalesce(octet_length(value), 0L)"
    source = F.expr(f"if(owner.kind = '{OTHER}', owner.source, null)").alias("source")
    further = [column.alias(name) for name, column in columns.items()]
    while True:
        payload = source_payload(values)
        routed = with_owner(messages, payload, own)
        sized = routed.select("owner.kind", source, "writer", *further, F.expr(size).alias("bytes"))
        groups = sized.groupBy("kind", "source", "writer", *columns)
        rows = groups.agg(F.count(F.lit(1)).alias("messages"), F.sum("bytes").alias("bytes")).collect()
        is_known = all(row.writer is None or row.writer >= 0 for row in rows)
        new = () if is_known else fetch_by_id(registry, unknown_in(messages, "value", payload))
        if not new:
            return Owners(routed, values, tuple(rows))
        values = (*values, *new)
