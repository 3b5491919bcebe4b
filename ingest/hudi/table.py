"""One Hudi table, opened once: its checkpoint, columns, rows and commits."""

import json
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
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
from ingest.hudi.clock import check_clock
from ingest.hudi.fixed import FixedChanges
from ingest.hudi.metaclient import (
    agree_on_properties,
    lake_errors,
    open_client,
    properties_of,
    refuse_foreign,
    remove_incomplete_table,
)
from ingest.hudi.option_values import check_values
from ingest.hudi.options import (
    DELETE,
    OP,
    OPERATION,
    Operation,
    hudi_options,
    merger_options,
    row_writer,
    uses_row_writer,
)
from ingest.hudi.timeline.commit_reader import (
    check_stored_files,
    committed_files,
    entries,
    read_actions,
    stored_commits,
    stored_sizes,
)
from ingest.hudi.timeline.damage import CommittedFiles, largest_base, live_files
from ingest.hudi.timeline.ledger import LedgerEntry, commit_metadata
from ingest.hudi.timeline.properties import TableProperties
from ingest.hudi.timeline.stored_commit import StoredCommit
from ingest.hudi.torn_commit import remove_corrupt_instants, timeline_files
from ingest.log import logger
from ingest.names import Instant
from ingest.spark.java import empty_rows, java_rows, jvm_of
from ingest.spark.java_errors import LOCKED, class_names, has_no_room, is_unreachable, root_cause
from ingest.sql.types import SparkType, parse_ddl
from ingest.tables import TableConfig

AS_OF: Final = "as.of.instant"
"""Hudi's option for a state of the past."""
_CLEANED: Final = "sufficient commits are retained"
"""In Hudi's refusals of a state without all its files (TimelineUtils.validateTimestampAsOf, Hudi 1.2.0)."""

Field = tuple[str, str, bool]
"""Name, Spark type and nullability of a column; the type is DDL, in lower case except for field names."""


@attrs.define(eq=False)
class HudiTable:
    """A handle on the table at a path.

    Reads storage at first use, and again after `refresh`.  The table may not exist yet: then it has neither
    checkpoint nor columns, and the first commit creates it.
    """

    spark: SparkSession
    path: str
    _client: Any = attrs.field(default=None, init=False)
    _is_open: bool = attrs.field(default=False, init=False)
    _newest: tuple[LedgerEntry, ...] | None = attrs.field(default=None, init=False)
    _properties: TableProperties | None = attrs.field(default=None, init=False)
    _fields: tuple[Field, ...] | None = attrs.field(default=None, init=False)

    @property
    def client(self) -> Any | None:
        """Hudi's own view of the table; None where there is no table yet."""
        return self._open()

    def refresh(self) -> None:
        """Forget the state: another writer may have committed."""
        if self._client is None:
            self._is_open = False
        else:
            with lake_errors(self.path):
                self._client.reload()
        self._newest = self._fields = self._properties = None

    def reopen(self) -> None:
        """Forget the state and the properties, which a refresh does not read again."""
        self._client, self._is_open = None, False
        self.refresh()

    def checkpoint(self) -> LedgerEntry | None:
        """Return the newest commit's account of itself; None before the first commit."""
        if self._newest is None:
            self._newest = self.history(1)
        return self._newest[0] if self._newest else None

    def history(self, limit: int = sys.maxsize) -> tuple[LedgerEntry, ...]:
        """Return up to `limit` accounts, newest first; commits of other writers lack one."""
        client = self._open()
        if client is None:
            return ()
        with lake_errors(self.path):
            return tuple(islice(entries(self.spark, self.path, client), limit))

    def commits(self, *, archived: bool = False) -> tuple[StoredCommit, ...]:
        """Return the commits of the active timeline, newest first, and the archived ones if asked for."""
        client = self._open()
        if client is None:
            return ()
        with lake_errors(self.path):
            return tuple(stored_commits(self.spark, self.path, client, archived=archived))

    def committed(self) -> tuple[CommittedFiles, ...]:
        """Return the files of all commits, newest first, archived ones included."""
        client = self._open()
        if client is None:
            return ()
        with lake_errors(self.path):
            return tuple(committed_files(self.spark, self.path, client, archived=True))

    def largest_file(self) -> int:
        """Return the bytes of the largest base file of the newest commits; 0 without a file."""
        client = self._open()
        if client is None:
            return 0
        with lake_errors(self.path):
            return largest_base(live_files(committed_files(self.spark, self.path, client)))

    def has_archive(self) -> bool:
        """Tell whether Hudi has moved older commits out of the active timeline."""
        client = self._open()
        if client is None:
            return False
        with lake_errors(self.path):
            return not client.getArchivedTimeline().empty()

    def find_runs(self, run_ids: Collection[str]) -> frozenset[str]:
        """Return the runs among the given ones with a commit in the history, archived commits included."""
        client, missing = self._open(), set(run_ids)
        if client is None or not missing:
            return frozenset()
        with lake_errors(self.path):
            for entry in entries(self.spark, self.path, client):
                missing.discard(entry.run_id)
                if not missing:
                    break
        return frozenset(run_ids) - missing

    def fields(self) -> tuple[Field, ...] | None:
        """Return the table's columns in their order, without Hudi's own; None before the first commit."""
        client = self._open()
        if client is None:
            return None
        if self._fields is None:
            with lake_errors(self.path):
                answer = jvm_of(self.spark).io.hudicdc.ingest.StoredTable.fields(client)
            self._fields = tuple((name, ddl, nullable) for name, ddl, nullable in json.loads(answer or "[]"))
        return self._fields or None

    def columns(self) -> dict[str, SparkType] | None:
        """Return the type of each column, in the table's order; None before the first commit."""
        fields = self.fields()
        return None if fields is None else {name: parse_ddl(ddl) for name, ddl, _ in fields}

    def key_columns(self) -> tuple[str, ...]:
        """Return the columns of the record key; empty before the first commit."""
        client = self._open()
        return () if client is None else self._read_properties(client).keys

    def rows(self, as_of: Instant | None = None) -> DataFrame:
        """Read the table, or its state as of an instant, without Hudi's own columns."""
        reader = self.spark.read.format("hudi")
        rows = (reader if as_of is None else reader.option(AS_OF, as_of)).load(self.path)
        return rows.select(*(f"`{name}`" for name in rows.columns if not name.startswith("_hoodie_")))

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

    def check_file(self, table: TableConfig) -> None:
        """Compare the table file with this table.  Raises TableChangedError for a part that is fixed."""
        refuse_foreign(table.name, self)
        fixed.check(table, self.fixed_changes(table).all)

    def fixed_changes(self, table: TableConfig, key_columns: Sequence[str] | None = None) -> FixedChanges:
        """Compare the fixed parts of a table file, and the compiled key if given, with this table."""
        client, checkpoint = self._open(), self.checkpoint()
        if client is None or checkpoint is None:
            return FixedChanges()
        properties = self._read_properties(client)
        return fixed.find_changes(
            table, properties, checkpoint.table_file, lambda: self.columns() or {}, key_columns
        )

    def check_key(self, table: TableConfig, key_columns: Sequence[str]) -> None:
        """Compare the compiled key, and for a table of an older version the buckets, with this table."""
        client, checkpoint = self._open(), self.checkpoint()
        if client is None or checkpoint is None:
            return
        fixed.check(table, self.fixed_changes(table, key_columns).all)
        if "target.index" not in checkpoint.table_file:
            groups = {file.file_group for file in live_files(committed_files(self.spark, self.path, client))}
            check_buckets(table, self.spark, self.path, key_columns, groups)

    def check_storage(self, name: str) -> None:
        """Check that the newest commits' files are there, and that the next commit would be the newest.

        Raises LakeError and ClockError.
        """
        client = self._open()
        if client is None:
            return
        with lake_errors(self.path):
            check_clock(self.spark, name, client)
        self.check_files()

    def check_files(self) -> None:
        """Check that storage has the newest commits' files, in full size.  Raises LakeError."""
        client = self._open()
        if client is not None:
            with lake_errors(self.path):
                check_stored_files(self.spark, self.path, client)

    def commit(
        self,
        rows: DataFrame,
        table: TableConfig,
        key_columns: Sequence[str],
        operation: Operation,
        checkpoint: LedgerEntry,
    ) -> LedgerEntry:
        """Commit a batch with its account; with `overwrite` the rows replace the whole table.

        The rows have one row per key, `_cdc_position` never null, key columns not nullable, all others
        nullable.  A row with `_cdc_op` 'd' deletes, and needs only key and position, unless the table file
        keeps deleted rows.  Spark evaluates the rows once; without rows only the account is committed.

        Raises WriteError, or a RetryableError, when nothing was committed.
        """
        if operation != "load":
            self.check_file(table)
        options = hudi_options(table, key_columns, operation)
        if operation == "load" and uses_row_writer(
            table, (rows.schema[name].dataType.simpleString() for name in key_columns)
        ):
            options |= row_writer(options)
        if options[OPERATION] == "bulk_insert" and not row_model(table.target).keeps_deletes:
            rows = rows.where(rows[OP] != DELETE)  # bulk_insert would store deletes as rows
        types = (*(ddl for _, ddl, _ in self.fields() or ()), *(ddl for _, ddl in rows.dtypes))
        options |= merger_options(types)
        parts = fixed.recorded_parts(table, key_columns)
        return self.save(rows, options, table.name, attrs.evolve(checkpoint, table_file=parts))

    def move(self, table: TableConfig, checkpoint: LedgerEntry) -> LedgerEntry:
        """Commit an account without rows."""
        client, fields = self._open(), self.fields()
        if client is None or fields is None:
            raise UsageError(f"table {table.name} does not have a commit yet", "Run it once first")
        self.check_key(table, self.key_columns())  # a killed rebuild may have set another one
        columns = ", ".join(
            f"`{name}` {ddl}{'' if nullable else ' not null'}" for name, ddl, nullable in fields
        )
        return self.commit(empty_rows(self.spark, columns), table, self.key_columns(), "upsert", checkpoint)

    def save(
        self, rows: DataFrame, options: Mapping[str, str], name: str, checkpoint: LedgerEntry
    ) -> LedgerEntry:
        """Commit rows with an account, by the given options.  Raises as `commit` does."""
        checkpoint = attrs.evolve(checkpoint, committed_ms=time.time_ns() // 1_000_000, instant=None)
        client = self._prepare(options, name)
        before = timeline_files(self.path)
        try:
            written = json.dumps({**options, **commit_metadata(checkpoint)})
            jvm_of(self.spark).io.hudicdc.ingest.StoredTable.append(java_rows(rows), written, self.path)
        except (Py4JJavaError, PySparkException) as error:
            remove_corrupt_instants(self.spark, self.path, before)
            # Cleaning, archiving and compaction follow the commit, and can fail after it.
            committed = self._find(client, checkpoint)
            if committed is None:
                raise write_failure(name, self.path, error) from error
            problem = root_cause(error)
            logger(__name__).warning("commit succeeded; table services failed", table=name, problem=problem)
        else:
            # The timeline decides, not the absence of an error.
            committed = self._find(client, checkpoint)
        if committed is None:
            problem = (
                f"Hudi reported success, but the commit of run {checkpoint.run_id} is not in the timeline"
            )
            raise LakeError(self.path, problem, "Check the newest commits before the next run")
        self._newest = (committed,)
        return committed

    def _open(self) -> Any | None:
        if not self._is_open:
            self._client = open_client(self.spark, self.path)
            self._is_open = True
        return self._client

    def _prepare(self, options: Mapping[str, str], name: str) -> Any | None:
        """Make the table ready for a commit, and return its client, if it exists."""
        client = self._open()
        if client is None:
            remove_incomplete_table(self.spark, self.path)
        with lake_errors(self.path):
            check_clock(self.spark, name, client)
            if client is not None:
                agree_on_properties(self.spark, client, options)
        return client

    def _read_properties(self, client: Any) -> TableProperties:
        if self._properties is None:
            self._properties = properties_of(client)
        return self._properties

    def _find(self, client: Any | None, checkpoint: LedgerEntry) -> LedgerEntry | None:
        """Find a commit by its account, which names run and time, wherever it is in the timeline."""
        self.refresh()
        client = client or self._open()
        if client is None:
            return None
        account = commit_metadata(checkpoint)
        with lake_errors(self.path):
            active = entries(self.spark, self.path, client, archived=False)
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


@attrs.frozen
class HudiRecord:
    """The commits of the table at a path, as they were when it was opened.

    Answers as `TableFiles` does, for every storage and every layout that Hudi reads.
    """

    path: str
    _spark: SparkSession
    _client: Any

    def instants(self) -> frozenset[str]:
        """Return the requested times of the active timeline, pending ones included."""
        with lake_errors(self.path):
            instants = self._client.getActiveTimeline().getInstants()
            return frozenset(instant.requestedTime() for instant in instants)

    def accounts(self) -> tuple[LedgerEntry, ...]:
        """Return all accounts, newest first, archived ones included."""
        with lake_errors(self.path):
            return tuple(entries(self._spark, self.path, self._client))

    def committed(self) -> Iterator[CommittedFiles]:
        """Yield the files of all commits, newest first, archived ones included."""
        with lake_errors(self.path):
            yield from committed_files(self._spark, self.path, self._client, archived=True)

    def sizes(self) -> Mapping[str, int]:
        """Return the bytes of all data files by their paths."""
        with lake_errors(self.path):
            return stored_sizes(self._spark, self.path)

    def check_actions(self) -> None:
        """Read the other actions of the timeline: cleans, rollbacks, savepoints.  Raises LakeError."""
        with lake_errors(self.path):
            read_actions(self._client)


def open_record(spark: SparkSession, path: str) -> HudiRecord | None:
    """Open the table at a path; None where it does not exist.  Raises LakeError for a damaged one."""
    client = open_client(spark, path)
    return None if client is None else HudiRecord(path, spark, client)
