"""One commit: the batch's newest rows, its deletes, and the ledger entry that accounts for them."""

import time
from collections.abc import Mapping, Sequence

import attrs
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ingest.errors import IngestError, LakeUnreachableError, TableLockedError, UsageError, WriteError
from ingest.hudi import ledger
from ingest.hudi.java_errors import LOCKED, UNREACHABLE, class_names, has_no_room, root_cause
from ingest.hudi.ledger import LedgerEntry, commit_metadata
from ingest.hudi.marker import agree_on_deletes
from ingest.hudi.metaclient import remove_incomplete_table
from ingest.hudi.options import DELETE, OP, hudi_options, keeps_deletes
from ingest.hudi.present import present
from ingest.hudi.torn_commit import remove_corrupt_instants, timeline_files
from ingest.log import logger
from ingest.names import Instant
from ingest.tables import TableConfig


def write(
    frame: DataFrame,
    table: TableConfig,
    path: str,
    key_columns: Sequence[str],
    entry: LedgerEntry,
    *,
    first: bool,
    rewrites: bool = False,
) -> Instant:
    """Commit a batch with its entry; `first` says that the table has no commit yet.

    With `rewrites` the frame is the whole table, which takes the place of what was there.

    The frame has one row a key, `_cdc_position` never null, key columns not nullable, all others nullable.  A
    row whose `_cdc_op` is 'd' deletes, and needs nothing but key and position; where the table file says that
    deleted rows stay it is one like any other.  The frame is evaluated once;
    an empty one commits the entry.  Raise WriteError, or a Retryable, when nothing was committed.
    """
    options = hudi_options(table, key_columns, first=first, rewrites=rewrites)
    bulk = options["hoodie.datasource.write.operation"] == "bulk_insert"
    if bulk and not keeps_deletes(table.target):
        frame = frame.where(frame[OP] != DELETE)  # it would store deletes as rows
    if not first:
        agree_on_deletes(frame.sparkSession, path, options)
    return commit(frame, options, table, path, entry)


def commit(
    frame: DataFrame, options: Mapping[str, str], table: TableConfig, path: str, entry: LedgerEntry
) -> Instant:
    """Commit rows with an entry to the Hudi table at a path: those of a table, or its rejects.

    Raise WriteError, or a Retryable, when nothing was committed.
    """
    spark = frame.sparkSession
    entry = attrs.evolve(entry, committed_ms=time.time_ns() // 1_000_000)
    remove_incomplete_table(spark, path)
    before = timeline_files(path)
    try:
        frame.write.format("hudi").options(**options, **commit_metadata(entry)).mode("append").save(path)
    except (Py4JJavaError, PySparkException) as error:
        remove_corrupt_instants(spark, path, before)
        # Cleaning, archiving and compaction follow the commit, and can fail: look before saying so.
        instant = _committed(spark, path, entry)
        if instant is None:
            raise _failure(table, path, error) from error
        problem = root_cause(error)
        logger(__name__).warning("committed, but upkeep failed", table=table.name, problem=problem)
        return instant
    instant = _committed(spark, path, entry)
    if instant is None:
        raise WriteError(table.name, "Hudi reported success, but the commit is not in its timeline")
    return instant


def record(
    spark: SparkSession, table: TableConfig, path: str, key_columns: Sequence[str], entry: LedgerEntry
) -> Instant:
    """Commit an entry without rows: a deliberate move of the offsets, in the table's own history."""
    schema = present(spark, path)
    if schema is None:
        raise UsageError(f"table {table.name} has no commit yet", "Run it once first")
    columns = ", ".join(f"`{name}` {ddl}{'' if nullable else ' not null'}" for name, ddl, nullable in schema)
    empty = spark.createDataFrame([], columns)
    return write(empty, table, path, key_columns, entry, first=False)


def _committed(spark: SparkSession, path: str, entry: LedgerEntry) -> Instant | None:
    """Find the entry as the table's newest."""
    newest = ledger.read(spark, path)
    if newest is None or commit_metadata(newest) != commit_metadata(entry):
        return None
    return newest.instant


def _failure(table: TableConfig, path: str, error: Exception) -> IngestError:
    """Tell a temporary failure from a final one by the classes in its chain."""
    names, problem = class_names(error), root_cause(error)
    if names & LOCKED:
        return TableLockedError(table.name, problem)
    if names & UNREACHABLE:
        return LakeUnreachableError(path, problem)
    if has_no_room(error):
        return LakeUnreachableError(path, f"{problem}. Nothing was committed: make room, and run again")
    return WriteError(table.name, problem)
