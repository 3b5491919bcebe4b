"""The rules of several topics in one table: one key, and rows that belong to their topic."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import COORDINATES, CURRENT, DELETED
from ingest.errors import DecodeError, SchemaError
from ingest.names import first_few
from ingest.run.batch.prepared_batch import PreparedBatch
from ingest.sql.template import ident
from ingest.tables import SOURCE

_OTHER = "_ingest_other"


def check_topic_key(batch: PreparedBatch, table_key: Sequence[str]) -> None:
    """Raise SchemaError for a topic with other key columns than the table's other topics."""
    feed, key = batch.compiled.feed, batch.key_names
    if not feed.source or SOURCE not in table_key or list(table_key) == key:
        return
    raise SchemaError(
        f"topic {feed.topic}",
        "$key",
        f"has the key {_named(key)}, and the table has {_named(table_key)} from its other topics",
        "All topics of a table have the same key: name its columns, [key] columns = [...], or read this "
        "topic into a table of its own",
    )


def _named(key: Sequence[str]) -> str:
    return first_few([name for name in key if name not in (SOURCE, *COORDINATES)])


def refuse_shared_keys(rows: DataFrame, stored: DataFrame | None, batch: PreparedBatch) -> None:
    """Raise `DecodeError` for the first row to write with the key of a live row of another topic.

    In a plan, the rows that other topics would have written before count as stored.
    """
    topic = batch.compiled.feed.topic
    keys = [name for name, _ in batch.compiled.key_columns if name != SOURCE]
    names = [str(ident(name)) for name in keys]
    present = _after(stored, batch.state.ahead.rows if batch.state.ahead else (), batch)
    theirs = present.where(F.col(SOURCE) != topic)
    row = F.concat_ws("-", SOURCE, *COORDINATES).alias(_OTHER)
    shared = _living(rows).select(*names, *COORDINATES).join(theirs.select(*names, row), keys)
    for clash in shared.orderBy(*COORDINATES).limit(1).collect():
        raise DecodeError(
            topic,
            clash["_cdc_partition"],
            clash["_cdc_offset"],
            f"the key ({', '.join(keys)}) is also that of a row from {clash[_OTHER]}, and the table file "
            'says [shards] keys = "unique". Delete one of the two rows at its source, or let rows of two '
            'topics have the same key: keys = "by_topic"',
            count=0,
        )


def _living(rows: DataFrame) -> DataFrame:
    """Return rows to write without those that delete, and without versions of the past."""
    if CURRENT in rows.columns:
        return rows.where(CURRENT)
    return rows.where(f"not {DELETED}" if DELETED in rows.columns else "_cdc_op != 'd'")


def _after(stored: DataFrame | None, ahead: Sequence[DataFrame], batch: PreparedBatch) -> DataFrame:
    """Return keys and coordinates of the live rows after some batches."""
    keys = batch.key_names
    names = [str(ident(name)) for name in dict.fromkeys((*keys, *COORDINATES))]
    present = None if stored is None else stored.select(*names)
    for rows in ahead:
        new = _living(rows).select(*names)
        present = (
            new if present is None else present.join(rows.select(*keys), keys, "left_anti").unionByName(new)
        )
    if present is None:
        raise ValueError("no rows to compare with")
    return present
