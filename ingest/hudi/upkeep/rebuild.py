"""Rewrite a table with other fixed parts, in one commit that replaces all its files.

The commit is the one moment at which readers see the change.  Its account has the offsets of the commit
before.  Hudi keeps the table's type and key in a separate file, `hoodie.properties`, which no commit changes.
They are set around the commit so that every state between is readable, and equal in rows: base files are
valid for both types as long as the type says merge-on-read, and readers do not look at the key.

A rebuild that was killed leaves properties that contradict the ledger or the table file.  Runs refuse such a
table, and the next rebuild completes it: the ledger's record is the truth.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import attrs
from pyspark.sql import DataFrame

from ingest.errors import RebuildError
from ingest.hudi.clock import check_zone
from ingest.hudi.fixed import recorded_parts
from ingest.hudi.metaclient import remove_metadata_table, set_properties
from ingest.hudi.options import ARCHIVE, KEYGEN, OPERATION, hudi_options, merger_options
from ingest.hudi.storage.exchange import Folders, copy_by_links, exchange, keeping, remove_copy
from ingest.hudi.storage.hadoop_files import lake_errors
from ingest.hudi.storage.local_files import LocalFolder
from ingest.hudi.table import HudiTable
from ingest.hudi.timeline.archive_files import HISTORY_OF_6
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.timeline.properties import HIVE_STYLE, OLDEST, TableProperties
from ingest.hudi.timeline.row_count import BASE, LOG
from ingest.hudi.upkeep.retention import BY_COMMITS, POLICY, RETAINED
from ingest.hudi.upkeep.services import FORCED, open_services
from ingest.tables import TableConfig, Target

_TYPE: Final = "hoodie.table.type"
_TYPES: Final[Mapping[Literal["cow", "mor"], str]] = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}
_GENERATORS: Final = {
    f"{KEYGEN}.NonpartitionedKeyGenerator": "NON_PARTITION",
    f"{KEYGEN}.SimpleKeyGenerator": "SIMPLE",
    f"{KEYGEN}.ComplexKeyGenerator": "COMPLEX",
}
"""Hudi's names of key generators in a table's properties (KeyGeneratorType, Hudi 1.2.0)."""

_OWN_TYPES: Final = {"hoodie.internal.write.schema.canonicalize": "false"}
"""The rows keep their types: otherwise numbers become text in a column that was text before
(reconcileSchemaRequirements in HoodieSchemaUtils.deduceWriterSchema, Hudi 1.2.0)."""
_PARTITION_FILE: Final = ".hoodie_partition_metadata"
_EXTRACTORS: Final = "org.apache.hudi.hive"
_BY_COUNT: Final = (
    "NonPartitionedExtractor",
    "SinglePartPartitionValueExtractor",
    "MultiPartKeysValueExtractor",
)
"""Hudi's readers of partition folders, by the number of partition columns: 0, 1, more."""


@attrs.frozen
class Rewrite:
    """The rows to write, the table file and key by which, and the account of their commit."""

    rows: DataFrame
    table: TableConfig
    key_columns: tuple[str, ...]
    checkpoint: LedgerEntry


def rewrite(stored: HudiTable, new: Rewrite) -> LedgerEntry:
    """Replace all rows of a table in one commit.  Call only as its writer.

    Raises as `HudiTable.commit` does.
    """
    _remove_metadata(stored)
    options = hudi_options(new.table, new.key_columns, "overwrite")
    options |= merger_options(new.table, new.key_columns, new.rows.dtypes)
    before = _properties(options)
    if _is_merged(stored):
        before[_TYPE] = _TYPES["mor"]
    set_table_properties(stored, before)
    options |= {"hoodie.datasource.write.table.type": before[_TYPE], **_OWN_TYPES}
    entry = attrs.evolve(new.checkpoint, table_file=recorded_parts(new.table, new.key_columns))
    committed = stored.save(new.rows, options, new.table.name, entry)
    complete(stored, new.table, new.key_columns)
    return committed


def rewrite_copy(stored: HudiTable, new: Rewrite, folders: Folders, check: Callable[[], None]) -> LedgerEntry:
    """Replace all rows in a copy of a table, and exchange both: for other partitions, or another version.

    Readers find partitions by the properties and rows by the timeline, which no single step changes.  The
    copy is made of links, which take no space.  `check` raises if the exchange must not follow.  Raises
    RebuildError for other partitions of a table with a savepoint.
    """
    before = stored.timeline.properties if stored.timeline else None
    is_moved = before is not None and _is_moved(before, new.table.target)
    if is_moved and _has_savepoint(stored):
        problem = "a savepoint keeps files of the old partitions"
        raise RebuildError(new.table.name, problem, "Delete the savepoint, or set partition_by back")
    remove_copy(folders.copy)
    copy_by_links(folders.table, folders.copy)
    copied = HudiTable(stored.spark, f"file://{folders.copy}")
    if before and before.version != new.table.target.table_version:
        _convert(copied, new, folders.copy / ".hoodie")
    committed = rewrite(copied, new)
    if is_moved:
        committed = _remove_old_partitions(copied, new, folders.copy)
    copied.check_files()
    check()
    exchange(folders.table, folders.copy)
    stored.reopen()
    remove_copy(folders.copy)
    return committed


def _has_savepoint(stored: HudiTable) -> bool:
    client = stored.client
    return client is not None and not client.getActiveTimeline().getSavePointTimeline().empty()


def _is_moved(before: TableProperties, target: Target) -> bool:
    """Whether rows move to other folders, none of which may hold a file of before."""
    folders = (target.partition_by, target.hive_style_partitions)
    return bool(target.partition_by) and (before.partitions, before.hive_style) != folders


def _convert(copied: HudiTable, new: Rewrite, home: Path) -> None:
    """Convert a copy to the version of the table file, by Hudi's upgrade or downgrade: its history stays.

    Hudi 1.2.0 downgrades to version 6 with its commits archived in a folder that the properties do not name,
    and leaves the later timeline.
    """
    options = hudi_options(new.table, new.key_columns, "overwrite") | {"hoodie.write.auto.upgrade": "true"}
    check_zone(copied.spark, new.table.name, new.table.target.table_version)
    _remove_metadata(copied)
    with lake_errors(copied.path), open_services(copied.spark, copied.path, options) as services:
        services.convert(new.table.target.table_version)
    if new.table.target.table_version == OLDEST:
        shutil.rmtree(home / "timeline")
        if (home / "archived").exists():
            (home / "archived").rename(home / Path(HISTORY_OF_6).name)
    copied.reopen()


def _remove_old_partitions(copied: HudiTable, new: Rewrite, folder: Path) -> LedgerEntry:
    """Remove the old files of a copy, by Hudi's cleaning: their folders are not values of the new partitions.

    A commit has to follow the one that replaced them.  Hudi removes the whole folder of a partition without
    rows, with the folders of new partitions in it, and finds no old partition within a new one's folder.
    """
    entry = attrs.evolve(new.checkpoint, note="removed the old partitions")
    entry = attrs.evolve(entry, table_file=recorded_parts(new.table, new.key_columns))
    options = {**hudi_options(new.table, new.key_columns, "overwrite"), OPERATION: "upsert"}
    committed = copied.save(copied.no_rows(), options, new.table.name, entry)
    options |= {**FORCED, POLICY: BY_COMMITS, RETAINED: "1", ARCHIVE: "false"}
    written = {file.path for commit in copied.commits(archived=True)[:2] for file in commit.files}
    folders = {(folder / path).parent for path in written}
    with (
        keeping(folder, [*map(Path, written), *_markers(folder, folders)]),
        lake_errors(copied.path),
        open_services(copied.spark, copied.path, options) as services,
    ):
        services.run({ARCHIVE: "false"})
    copied.reopen()
    for marker in folder.rglob(_PARTITION_FILE):
        if marker.parent not in folders:
            marker.unlink()
    for file in LocalFolder(folder).data_files():
        if file.path not in written and (BASE.fullmatch(file.name) or LOG.fullmatch(file.name)):
            (folder / file.path).unlink()
    return committed


def _markers(folder: Path, partitions: Iterable[Path]) -> list[Path]:
    """Return the files by which Hudi knows the folders of partitions, by their paths in the table."""
    markers = (path / name for path in partitions for name in (_PARTITION_FILE, f".{_PARTITION_FILE}.crc"))
    return [marker.relative_to(folder) for marker in markers if marker.exists()]


def complete(stored: HudiTable, table: TableConfig, key_columns: Sequence[str]) -> None:
    """Set the properties of a table whose last commit has the parts of the table file already."""
    set_table_properties(stored, _properties(hudi_options(table, key_columns, "overwrite")))


def finish_rebuild(stored: HudiTable, table: TableConfig) -> None:
    """Set the properties that a killed rebuild left behind, if the table file agrees.

    The newest commit has the table file's parts, or the file was set back to the commit's.  Call only as the
    table's writer.
    """
    last = stored.checkpoint()
    if last is not None and stored.fixed_changes(table).is_half_done:
        complete(stored, table, last.table_file["key.columns"].split(","))


def _remove_metadata(stored: HudiTable) -> None:
    """Remove Hudi's metadata table, if there is one.  The table's next commit makes it again."""
    if stored.client is not None:
        with lake_errors(stored.path):
            is_changed = remove_metadata_table(stored.spark, stored.client)
        if is_changed:
            stored.reopen()


def set_table_properties(stored: HudiTable, properties: Mapping[str, str]) -> None:
    """Set properties of a table, if they differ.  Readers find the old ones or the new ones."""
    if stored.client is not None:
        with lake_errors(stored.path):
            is_changed = set_properties(stored.spark, stored.client, properties)
        if is_changed:
            stored.reopen()


def _properties(options: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a table that a write with these options would create."""
    partitions = options["hoodie.datasource.write.partitionpath.field"]
    count = len(partitions.split(",")) if partitions else 0
    extractor = _BY_COUNT[min(count, len(_BY_COUNT) - 1)]
    return {
        _TYPE: options["hoodie.datasource.write.table.type"],
        "hoodie.table.recordkey.fields": options["hoodie.datasource.write.recordkey.field"],
        "hoodie.table.keygenerator.type": _GENERATORS[options["hoodie.datasource.write.keygenerator.class"]],
        "hoodie.table.partition.fields": partitions,
        HIVE_STYLE: options[HIVE_STYLE],
        "hoodie.table.partition_extractor_class": f"{_EXTRACTORS}.{extractor}",
    }


def _is_merged(stored: HudiTable) -> bool:
    """Tell whether a table may have log files, which only readers of its type merge."""
    return bool(stored.client.getTableType().name() == _TYPES["mor"]) if stored.client else False
