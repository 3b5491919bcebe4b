"""One Hudi table, opened once: its checkpoint, columns, rows and commits."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ingest.compile.event import CURRENT, DELETED
from ingest.compile.row_model import row_model
from ingest.errors import (
    IngestError,
    LakeError,
    LakeUnreachableError,
    TableLockedError,
    UsageError,
    WriteError,
)
from ingest.hudi import fixed
from ingest.hudi.bucket_sample import check_buckets
from ingest.hudi.clock import check_clock, check_zone
from ingest.hudi.metaclient import agree_on_properties, open_client, remove_incomplete_table
from ingest.hudi.option_values import check_values
from ingest.hudi.options import (
    DELETE,
    MEMORY,
    OP,
    OPERATION,
    TABLE_VERSION,
    Operation,
    by_avro,
    hudi_options,
    merger_options,
    row_writer,
    uses_row_writer,
)
from ingest.hudi.storage.hadoop_files import lake_errors
from ingest.hudi.stored_table import StoredTable
from ingest.hudi.timeline.damage import live_files
from ingest.hudi.timeline.hudi_timeline import Field, HudiTimeline
from ingest.hudi.timeline.ledger import LedgerEntry, commit_metadata
from ingest.hudi.torn_commit import remove_corrupt_instants, timeline_files
from ingest.log import logger
from ingest.names import Instant
from ingest.spark.java import empty_rows, java_rows, jvm_of
from ingest.spark.java_errors import LOCKED, class_names, has_no_room, is_unreachable, root_cause
from ingest.sql.types import SparkType, parse_ddl
from ingest.tables import TableConfig

AS_OF: Final = "as.of.instant"
"""Hudi's option for a state of the past."""
_NO_KEY: Final = "Record key has to be non-null"
"""In Hudi's refusal of a key (BuiltinKeyGenerator.handleNullRecordKey, Hudi 1.2.0)."""
_CLEANED: Final = "sufficient commits are retained"
"""In Hudi's refusals of a state without all its files (TimelineUtils.validateTimestampAsOf, Hudi 1.2.0)."""


@attrs.define(eq=False)
class HudiTable(StoredTable):
    """A handle on the table at a path.

    Reads storage at first use, and again after `refresh`.  The table may not exist yet: then it has neither
    checkpoint nor columns, and the first commit creates it.
    """

    spark: SparkSession
    path: str
    _timeline: HudiTimeline | None = attrs.field(default=None, init=False)
    _is_open: bool = attrs.field(default=False, init=False)

    @property
    def timeline(self) -> HudiTimeline | None:
        """The timeline, or None if there is no table yet."""
        if not self._is_open:
            client = open_client(self.spark, self.path)
            self._timeline = None if client is None else HudiTimeline(self.spark, self.path, client)
            self._is_open = True
        return self._timeline

    @property
    def client(self) -> Any | None:
        """Hudi's own view of the table, or None if there is no table yet."""
        return self.timeline.client if self.timeline else None

    def refresh(self) -> None:
        """Forget the state: another writer may have committed."""
        self._newest = None
        if self._timeline is None:
            self._is_open = False
            return
        with lake_errors(self.path):
            self._timeline.client.reload()
        self._timeline = attrs.evolve(self._timeline)

    def reopen(self) -> None:
        """Forget the state and the properties, which a refresh does not read again."""
        self._newest, self._timeline, self._is_open = None, None, False

    def fields(self) -> tuple[Field, ...] | None:
        """Return the table's columns in their order, without Hudi's own, or None before the first commit."""
        return (self.timeline and self.timeline.fields) or None

    def columns(self) -> dict[str, SparkType] | None:
        """Return the type of each column, in the table's order, or None before the first commit."""
        fields = self.fields()
        return None if fields is None else {name: parse_ddl(ddl) for name, ddl, _ in fields}

    def key_columns(self) -> tuple[str, ...]:
        """Return the columns of the record key, empty before the first commit."""
        return self.timeline.properties.keys if self.timeline else ()

    def rows(self, as_of: Instant | None = None) -> DataFrame:
        """Read the table, or its state as of an instant, without Hudi's own columns."""
        reader = self.spark.read.format("hudi").options(**MEMORY)
        rows = (reader if as_of is None else reader.option(AS_OF, as_of)).load(self.path)
        return rows.select(*(f"`{name}`" for name in rows.columns if not name.startswith("_hoodie_")))

    def no_rows(self) -> DataFrame:
        """Return no rows with the table's columns, to commit an account by itself."""
        columns = (
            f"`{name}` {ddl}{'' if nullable else ' not null'}" for name, ddl, nullable in self.fields() or ()
        )
        return empty_rows(self.spark, ", ".join(columns))

    def live_rows(self, as_of: Instant | None = None) -> DataFrame:
        """Read the table, or its state as of an instant: no soft-deleted rows, no versions of the past."""
        rows = self.rows(as_of)
        if CURRENT in rows.columns:
            return rows.where(CURRENT)
        return rows.where(f"not {DELETED}") if DELETED in rows.columns else rows

    def count_rows(self, as_of: Instant | None = None) -> int:
        """Count the rows, or those as of an instant, without soft-deleted ones and versions of the past.

        Raises UsageError for a state whose files are cleaned.
        """
        try:
            return self.live_rows(as_of).count()
        except (Py4JJavaError, PySparkException) as error:
            if as_of is None or _CLEANED not in root_cause(error):
                raise
            problem = f"lake {self.path}: the state as of {as_of} cannot be read: its files are cleaned"
            raise UsageError(problem, "A larger [target] retain_commits keeps more of them") from error

    def check_options(self, table: TableConfig) -> None:
        """Check the values of the `[hudi]` options.  Raises TableFileError."""
        check_values(self.spark, table)

    def check_key(self, table: TableConfig, key_columns: Sequence[str]) -> None:
        """Compare the compiled key, and for a table of an older version the buckets, with this table."""
        checkpoint = self.checkpoint()
        if checkpoint is None:
            return
        fixed.check(table, self.fixed_changes(table, key_columns).all)
        if "target.index" not in checkpoint.table_file:
            groups = {file.file_group for file in live_files(self._commits())}
            check_buckets(table, self.spark, self.path, key_columns, groups)

    def check_storage(self, name: str) -> None:
        """Check that the newest commits' files are there, and that the next commit would be the newest.

        Raises LakeError and ClockError.
        """
        if self.client is None:
            return
        with lake_errors(self.path):
            check_clock(self.spark, name, self.client)
        self.check_files()

    def commit(
        self,
        rows: DataFrame,
        table: TableConfig,
        key_columns: Sequence[str],
        operation: Operation,
        checkpoint: LedgerEntry,
    ) -> LedgerEntry:
        """Commit a batch with its account.  With `overwrite` the rows replace the whole table.

        The rows have one row per key, `_cdc_position` never null, key columns not nullable, all others
        nullable.  A row with `_cdc_op` 'd' deletes, and needs only key and position, unless the table file
        keeps deleted rows.  Spark evaluates the rows once, twice with the index `global_record`, and again in
        a write that is repeated (see `save`).  Without rows only the account is committed.

        Checks the clock, and none of the other requirements of a write (see `ingest.run.work.writer`).
        Raises WriteError, or a RetryableError, when nothing was committed.
        """
        options = hudi_options(table, key_columns, operation)
        if operation == "load" and uses_row_writer(
            table, (rows.schema[name].dataType.simpleString() for name in key_columns)
        ):
            options |= row_writer(options)
        if options[OPERATION] == "bulk_insert" and not row_model(table.target).keeps_deletes:
            rows = rows.where(rows[OP] != DELETE)  # bulk_insert would store deletes as rows
        columns = (*((name, ddl) for name, ddl, _ in self.fields() or ()), *rows.dtypes)
        options |= merger_options(table, key_columns, columns)
        parts = fixed.recorded_parts(table, key_columns)
        return self.save(rows, options, table.name, attrs.evolve(checkpoint, table_file=parts))

    def save(
        self, rows: DataFrame, options: Mapping[str, str], name: str, checkpoint: LedgerEntry
    ) -> LedgerEntry:
        """Commit rows with an account, by the given options.  Raises as `commit` does.

        Hudi makes no key with an empty text in one of several columns from Spark's rows, but makes it from
        Avro records.  A write that meets such a key is repeated with those.  The ledger says so, and later
        writes of the table take them at once.
        """
        last = self.checkpoint()
        has_empty = checkpoint.has_empty_key_parts or (last is not None and last.has_empty_key_parts)
        options = by_avro(options) if has_empty else options
        checkpoint = attrs.evolve(
            checkpoint,
            committed_ms=time.time_ns() // 1_000_000,
            instant=None,
            has_empty_key_parts=has_empty,
        )
        is_new = self.client is None
        self.prepare(options, name)
        before = timeline_files(self.path)
        try:
            written = json.dumps({**options, **commit_metadata(checkpoint)})
            jvm_of(self.spark).io.hudicdc.ingest.hudi.StoredTable.append(java_rows(rows), written, self.path)
        except (Py4JJavaError, PySparkException) as error:
            remove_corrupt_instants(self.spark, self.path, before)
            # Cleaning, archiving and compaction follow the commit, and can fail after it.
            committed = self._find(checkpoint)
            if committed is None and not has_empty and _NO_KEY in root_cause(error):
                return self.save(rows, options, name, attrs.evolve(checkpoint, has_empty_key_parts=True))
            if committed is None:
                raise write_failure(name, self.path, error) from error
            problem = root_cause(error)
            logger(__name__).warning("commit succeeded; table services failed", table=name, problem=problem)
        else:
            # The timeline decides, not the absence of an error.
            committed = self._find(checkpoint)
        if committed is None:
            problem = (
                f"Hudi reported success, but the commit of run {checkpoint.run_id} is not in the timeline"
            )
            raise LakeError(self.path, problem, "Check the newest commits before the next run")
        self._newest = (committed,)
        if is_new and self.timeline is not None:
            with lake_errors(self.path):
                agree_on_properties(self.timeline, options)
        return committed

    def prepare(self, options: Mapping[str, str], name: str) -> None:
        """Check the clock, and set the properties that a write needs."""
        timeline = self.timeline
        if timeline is None:
            remove_incomplete_table(self.spark, self.path)
        with lake_errors(self.path):
            check_clock(self.spark, name, self.client)
            check_zone(self.spark, name, int(options[TABLE_VERSION]))
            if timeline is not None:
                agree_on_properties(timeline, options)

    def _find(self, checkpoint: LedgerEntry) -> LedgerEntry | None:
        """Find a commit by its account, which names run and time, wherever it is in the timeline."""
        self.refresh()
        account, active = commit_metadata(checkpoint), self._entries(archived=False)
        return next((entry for entry in active if commit_metadata(entry) == account), None)


def write_failure(name: str, path: str, error: Exception) -> IngestError:
    """Tell a temporary failure from a permanent one by the classes in its chain."""
    names, problem = class_names(error), root_cause(error)
    if names & LOCKED:
        return TableLockedError(name, problem)
    if is_unreachable(error):
        return LakeUnreachableError(path, problem)
    if has_no_room(error):
        return LakeUnreachableError(path, f"{problem}. Nothing was committed: free some space, and run again")
    return WriteError(name, problem)
