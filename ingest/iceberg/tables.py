"""Iceberg tables that show the rows of copy-on-write tables, for engines that read no Hudi.

Both tables have the same Parquet files.  An Iceberg commit follows each of Hudi's: it adds the files that are
new and removes those that are no longer current.  A process that is killed between the two leaves the Iceberg
table at an older commit.  Hudi's cleaner keeps the files of that commit until the next run, which updates the
Iceberg table before it commits.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final

import attrs
import pyarrow as pa
from pyarrow import parquet
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchTableError,
    TableAlreadyExistsError,
    ValidationError,
)
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.io.pyarrow import (
    _pyarrow_to_schema_without_ids,
    parquet_file_to_data_file,
    parquet_files_to_data_files,
)
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import assign_fresh_schema_ids
from pyiceberg.table import Table, TableProperties, Transaction
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update.snapshot import ExpireSnapshots

from ingest.errors import IcebergError, IcebergUnreachableError, IngestError, SettingsError
from ingest.hudi.lake_files import LakeFiles
from ingest.hudi.offline_table import OfflineTable
from ingest.hudi.storage import hadoop_files
from ingest.hudi.storage.folder import UnclearFilesError
from ingest.hudi.storage.folders import open_folder
from ingest.log import logger
from ingest.names import Instant
from ingest.settings import IcebergSettings
from ingest.tables import TableConfig

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWNER: Final = "ingest.path"
"""The property with the path of the Hudi table."""
COMMIT: Final = "ingest.instant"
"""The property of tables and snapshots with the instant of the Hudi commit."""
PROPERTIES: Final = {
    # Engines delete no files: they belong to the Hudi table.
    "gc.enabled": "false",
    TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED: "true",
    TableProperties.METADATA_PREVIOUS_VERSIONS_MAX: "10",
    # Another run was faster: its state is read, and not added to.
    TableProperties.COMMIT_NUM_RETRIES: "0",
}
_GUARD: Final = threading.Lock()
"""Tables of one run would make the catalog, or their namespace, at the same moment."""
_PERMANENT: Final = (ValueError, TypeError, NotImplementedError, ImportError, AttributeError)


@attrs.frozen
class IcebergTables:
    """The Iceberg tables of a lake."""

    settings: IcebergSettings
    files: LakeFiles
    start: "Callable[[], SparkSession]"
    """Starts Spark, for a storage that only its JVM reads."""

    @cached_property
    def _catalog(self) -> Catalog:
        if not self.settings.catalog:
            problem = 'is missing: a table has [target] also = ["iceberg"]'
            raise SettingsError("settings", "iceberg.catalog", problem, "Name a catalog of pyiceberg")
        with _GUARD:
            return load_catalog(self.settings.catalog, **self.settings.properties)

    def update(self, table: TableConfig) -> None:
        """Give the Iceberg table of a table the files of the newest commit, if it has others.

        Raises IcebergError, IcebergUnreachableError or SettingsError.
        """
        with _errors(table.name):
            try:
                self._update(table)
            except (CommitFailedException, TableAlreadyExistsError):  # another run of the table was faster
                self._update(table)

    def differences(self, table: TableConfig) -> tuple[str, ...]:
        """Compare the Iceberg table with the newest commit: its instant, its files, and their rows."""
        with _errors(table.name):
            present, stored = self.load(table), self._stored(table)
            instant = stored.newest_instant()
            if instant is None:
                return ()
            if present is None:
                return (f"{self._full_name(table)} is missing in the catalog",)
            return tuple(self._differences(present, stored, instant))

    def _differences(self, present: Table, stored: OfflineTable, instant: Instant) -> Iterator[str]:
        found = present.properties.get(COMMIT, "none")
        if found != instant:
            yield f"it has commit {found}, and the newest is {instant}"
        files, known = stored.row_files(), _data_files(present)
        for uri in sorted(files.keys() ^ known.keys()):
            yield f"it {'lacks' if uri in files else 'still has'} {uri}"
        for file in parquet_files_to_data_files(
            present.io, present.metadata, iter(files.keys() & known.keys())
        ):
            rows = known[file.file_path].record_count
            if rows != file.record_count:
                yield f"it has {rows:,} rows of {file.file_path}, which holds {file.record_count:,}"

    def misfits(self, table: TableConfig) -> tuple[str, ...]:
        """Return the files in which Iceberg cannot read the types of the newest file.

        A rebuild writes them again.  Raises IcebergError.
        """
        with _errors(table.name):
            files = self._stored(table).row_files()
            io = self._io(files) if files else None
            return () if io is None else tuple(_misfits(io, files))

    def _stored(self, table: TableConfig) -> OfflineTable:
        """Return the Hudi table, by the JVM if its storage is not read without one."""
        stored = self.files.table(table)
        try:
            open_folder(stored.path, self.files.hadoop)
        except UnclearFilesError:
            return attrs.evolve(stored, folder=hadoop_files.HadoopFolder(self.start(), stored.path))
        return stored

    def _full_name(self, table: TableConfig) -> str:
        return f"{self.settings.namespace}.{table.name}"

    def load(self, table: TableConfig) -> Table | None:
        """Load the Iceberg table of a table.  Raises IcebergError for one of another Hudi table."""
        try:
            present = self._catalog.load_table(self._full_name(table))
        except NoSuchTableError:
            return None
        path = self.files.table(table).path
        if present.properties.get(OWNER) != path:
            problem = f"{self._full_name(table)} is not the table of {path}"
            raise IcebergError(table.name, problem, "Drop it, or set another [iceberg] namespace")
        return present

    def _update(self, table: TableConfig) -> None:
        present = self.load(table)
        stored = self._stored(table)  # read after the Iceberg table, so at least as new
        instant = stored.newest_instant()
        if instant is None or (present is not None and present.properties.get(COMMIT) == instant):
            return
        files = stored.row_files()
        if present is None and not files:
            return
        known = {} if present is None else _data_files(present)
        io = present.io if present is not None else self._io(files)
        expired: tuple[Snapshot, ...] = ()
        with self._transaction(table, present, io, files) as change:
            if present is not None and files:
                is_rewritten = not files.keys() & known.keys()
                _fit_columns(table, change, _arrow(io, files), is_rewritten=is_rewritten)
            if files.keys() != known.keys():
                try:
                    _replace_files(io, change, known, files, instant)
                except ValueError as error:
                    raise _needs_rebuild(table, str(error)) from error
            if present is not None:
                expired = _expire(change, stored.oldest_readable())
            change.set_properties({COMMIT: instant})
        if present is not None and expired:
            _remove_metadata(present.refresh(), expired)

    def _io(self, files: Mapping[str, Instant]) -> FileIO:
        return load_file_io(self._catalog.properties, next(iter(files)))

    @contextmanager
    def _transaction(
        self, table: TableConfig, present: Table | None, io: FileIO, files: Mapping[str, Instant]
    ) -> Iterator[Transaction]:
        """Change the Iceberg table at once at the end, or create it."""
        if present is not None:
            with present.transaction() as change:
                yield change
            return
        with _GUARD:
            self._catalog.create_namespace_if_not_exists(self.settings.namespace)
        arrow = _arrow(io, files)
        name, properties = self._full_name(table), {**PROPERTIES, OWNER: self.files.table(table).path}
        with self._catalog.create_table_transaction(name, arrow, properties=properties) as change:
            _map_names(change)
            yield change


@contextmanager
def _errors(table: str) -> Iterator[None]:
    try:
        yield
    except IngestError:
        raise
    except UnclearFilesError as error:
        raise IcebergError(table, f"the files of the Hudi table do not show its rows: {error}") from error
    except _PERMANENT as error:
        todo = "[iceberg] of the settings has the catalog's name and properties"
        raise IcebergError(table, f"{type(error).__name__}: {error}", todo) from error
    except Exception as error:
        raise IcebergUnreachableError(table, f"{type(error).__name__}: {error}") from error


def _needs_rebuild(table: TableConfig, problem: str) -> IcebergError:
    todo = f"`ingest rebuild {table.name}` writes all files again, which gives them the new types"
    return IcebergError(table.name, problem, todo)


def _data_files(present: Table) -> dict[str, DataFile]:
    """Return the files of the newest snapshot by path.  A scan would leave out those without rows."""
    snapshot = present.current_snapshot()
    manifests = snapshot.manifests(present.io) if snapshot else ()
    entries = (entry for manifest in manifests for entry in manifest.fetch_manifest_entry(present.io))
    return {entry.data_file.file_path: entry.data_file for entry in entries}


def _arrow(io: FileIO, files: Mapping[str, Instant]) -> pa.Schema:
    """Return the columns of the newest file, all of which may be null in older ones."""
    newest = max(files, key=lambda uri: (files[uri], uri))
    with io.new_input(newest).open() as content:
        schema = parquet.read_schema(content).remove_metadata()
    return pa.schema([field.with_nullable(True) for field in schema])  # noqa: FBT003


def _fit_columns(table: TableConfig, change: Transaction, arrow: pa.Schema, *, is_rewritten: bool) -> None:
    """Give the Iceberg table the columns of the newest file.

    Iceberg widens few types.  A column of another type is a new column, if no older file has to be read.
    """
    problems = dict(_problems(change, arrow))
    if problems and not is_rewritten:
        raise _needs_rebuild(table, ". ".join(problems.values()))
    present = {field.name for field in change.table_metadata.schema().fields}
    removed = (present - set(arrow.names)) | problems.keys()
    if removed:
        with change.update_schema() as update:
            for name in removed:
                update.delete_column((name,))
    before = change.table_metadata.current_schema_id
    with change.update_schema() as update:
        update.union_by_name(arrow)
    if removed or change.table_metadata.current_schema_id != before:
        _map_names(change)


def _problems(change: Transaction, arrow: pa.Schema) -> Iterator[tuple[str, str]]:
    """Yield the columns whose type Iceberg cannot widen to the new one, each with the reason."""
    for field in arrow:
        try:
            change.update_schema().union_by_name(pa.schema([field]))
        except (ValidationError, ValueError) as error:
            yield field.name, str(error)


def _misfits(io: FileIO, files: Mapping[str, Instant]) -> Iterator[str]:
    newest = assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(_arrow(io, files)))
    metadata = new_table_metadata(newest, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, location="")
    for uri in files:
        try:
            parquet_file_to_data_file(io, metadata, uri)
        except ValueError:
            yield uri


def _map_names(change: Transaction) -> None:
    """Let readers find the columns of files, which have no ids, by their names."""
    mapping = change.table_metadata.schema().name_mapping.model_dump_json()
    change.set_properties({TableProperties.DEFAULT_NAME_MAPPING: mapping})


def _replace_files(
    io: FileIO,
    change: Transaction,
    known: Mapping[str, DataFile],
    files: Mapping[str, Instant],
    instant: Instant,
) -> None:
    new = iter(sorted(files.keys() - known.keys()))
    with change.update_snapshot(snapshot_properties={COMMIT: instant}).overwrite() as snapshot:
        for uri in sorted(known.keys() - files.keys()):
            snapshot.delete_data_file(known[uri])
        for file in parquet_files_to_data_files(io, change.table_metadata, new):
            snapshot.append_data_file(file)


def _expire(change: Transaction, oldest: str) -> tuple[Snapshot, ...]:
    """Forget the snapshots of commits before the oldest one whose files Hudi keeps."""
    metadata = change.table_metadata
    expired = tuple(
        snapshot
        for snapshot in metadata.snapshots
        if snapshot.snapshot_id != metadata.current_snapshot_id and _commit_of(snapshot) < oldest
    )
    if expired:
        ExpireSnapshots(change).by_ids([snapshot.snapshot_id for snapshot in expired]).commit()
    return expired


def _commit_of(snapshot: Snapshot) -> str:
    return (snapshot.summary and snapshot.summary.additional_properties.get(COMMIT)) or ""


def _remove_metadata(present: Table, expired: tuple[Snapshot, ...]) -> None:
    """Remove the manifests that only forgotten snapshots have.  What stays behind does no harm."""
    try:
        kept = {
            item.manifest_path for snapshot in present.snapshots() for item in snapshot.manifests(present.io)
        }
        for snapshot in expired:
            for path in {item.manifest_path for item in snapshot.manifests(present.io)} - kept:
                present.io.delete(path)
            present.io.delete(snapshot.manifest_list)
    except Exception as error:  # noqa: BLE001  the table is up to date
        logger(__name__).warning("old Iceberg metadata stays", table=str(present.name()), problem=str(error))
