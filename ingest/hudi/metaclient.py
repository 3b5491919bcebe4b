"""Hudi's own view of a table, opened on the driver: no Spark job, no catalog."""

import json
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import SparkSession

from ingest.errors import LakeError, LakeUnreachableError
from ingest.hudi.options import MARKER, TABLE_VERSION, TIMELINE_ZONE
from ingest.hudi.storage.folder import RESTORE
from ingest.hudi.storage.hadoop_files import HadoopFolder, lake_errors
from ingest.hudi.timeline.hudi_timeline import HudiTimeline
from ingest.hudi.timeline.properties import OLDEST
from ingest.spark.java import hadoop_of, java_session, jvm_of

_PROPERTIES, _BACKUP = ".hoodie/hoodie.properties", ".hoodie/hoodie.properties.backup"
"""The files of a table's properties.  Only the backup exists while Hudi rewrites them (HUDI-2795)."""

_TIMELINE: Final = ".hoodie/timeline"
"""The folder of the active timeline.  Tables of version 6 have it in `.hoodie` itself."""

PAYLOAD: Final = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
"""Hudi's older name for the order by event time.  Hudi 0.15.0 reads no log file without it."""

MARKER_PROPERTY: Final = f"hoodie.record.merge.property.{MARKER}"
"""The text in the column of operations that makes a row a delete."""

BOOTSTRAP_INDEX: Final = "hoodie.bootstrap.index.enable"
"""Without it, each view of a table's files looks for two files that only a bootstrapped table has."""


def open_client(spark: SparkSession, path: str) -> Any | None:
    """Open the table at a path, or return None if there is no table yet.

    Raises LakeError for a folder with something else or a damaged table, LakeUnreachableError for a storage
    that does not answer.
    """
    folder = HadoopFolder(spark, path)
    with lake_errors(path):
        if not _is_table(folder):
            return None
        client = jvm_of(spark).io.hudicdc.ingest.hudi.StoredTable.open(hadoop_of(spark), path)
        _check_timeline(folder, client)
        return client


def remove_incomplete_table(spark: SparkSession, path: str) -> None:
    """Remove the rest of a killed creation of a table: Hudi would neither read it nor create the table.

    Call only as the writer: for a reader the table may be in the middle of creation.
    """
    folder = HadoopFolder(spark, path)
    with lake_errors(path):
        storage, home = folder.locate(".hoodie")
        if storage.exists(home) and _is_incomplete(folder):
            storage.delete(home, True)  # noqa: FBT003  Java's: with its content


def is_rewritten(spark: SparkSession, path: str) -> bool:
    """Tell whether a writer is rewriting a table's properties, or was killed meanwhile."""
    return bool(HadoopFolder(spark, path).sizes([_BACKUP]))


def complete_rewrite(spark: SparkSession, path: str) -> None:
    """Complete a rewrite of a table's properties that was killed, from the backup.  Call as the writer."""
    jvm = jvm_of(spark)
    with lake_errors(path):
        conf = jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConfWithCopy(hadoop_of(spark))
        home = jvm.org.apache.hudi.storage.StoragePath(f"{path}/.hoodie")
        storage = jvm.org.apache.hudi.storage.HoodieStorageUtils.getStorage(home, conf)
        jvm.org.apache.hudi.common.table.HoodieTableConfig.recover(storage, home)


def _is_table(folder: HadoopFolder) -> bool:
    """Look for the table's properties: Hudi itself tries five times, a second apart (HUDI-6154).

    A folder with only an empty `.hoodie`, or one with empty properties, is the rest of a killed creation:
    there is no table yet.
    """
    size = folder.sizes([_PROPERTIES]).get(_PROPERTIES)
    if size:
        return True
    has_backup = _BACKUP in folder.sizes([_BACKUP])
    if size is None and has_backup:  # Hudi reads the backup
        return True
    if has_backup:
        problem = "its hoodie.properties is being rewritten; after a kill, `ingest run` completes that"
        raise LakeUnreachableError(folder.path, problem)
    if size is not None:
        return not _is_incomplete(folder)
    if folder.has_data():
        raise LakeError(folder.path, "the folder holds files, but not a Hudi table", "Move them away")
    return False


def _is_incomplete(folder: HadoopFolder) -> bool:
    """Tell whether properties were never written, though maybe created: that comes before any commit."""
    if any(folder.sizes([_PROPERTIES]).values()) or folder.sizes([_BACKUP]):
        return False
    if folder.has_data():
        return False  # damaged: opening it says how
    if any(child.isFile() for child in folder.children(_TIMELINE)):
        return False
    names = (child.getPath().getName() for child in folder.children(".hoodie"))
    return not any(name[0].isdigit() for name in names)


def _check_timeline(folder: HadoopFolder, client: Any) -> None:
    """Refuse a table with data and an empty timeline: it would be loaded again, next to its old files.

    Any write begins with an instant, and archiving leaves the newest ones.
    """
    if client.getActiveTimeline().empty() and folder.has_data():
        problem = f"the folder holds data files, but its timeline ({client.getTimelinePath()}) is empty"
        raise LakeError(folder.path, problem, RESTORE)


def agree_on_properties(timeline: HudiTimeline, options: Mapping[str, str]) -> None:
    """Set the table's marker of deletes and its timeline's zone as a write's options have them.

    Hudi ignores these options in a write to an existing table.
    The zone may change only when the clock is past the newest instant, see `ingest.hudi.clock`.
    Hudi 1.2.0 leaves out properties that the readers of older versions need: the column that orders changes
    and, in a table of version 6, the class of keys, and that of payloads if it was of a later version.
    """
    properties = {MARKER_PROPERTY: options[MARKER], TIMELINE_ZONE: options[TIMELINE_ZONE]}
    if not timeline.is_bootstrapped:
        properties[BOOTSTRAP_INDEX] = "false"
    if options[TABLE_VERSION] in ("6", "8"):
        properties["hoodie.table.precombine.field"] = options["hoodie.table.ordering.fields"]
    if options[TABLE_VERSION] == str(OLDEST):
        properties["hoodie.table.keygenerator.class"] = options["hoodie.datasource.write.keygenerator.class"]
        properties["hoodie.compaction.payload.class"] = PAYLOAD
    set_properties(timeline.spark, timeline.client, properties)


def remove_metadata_table(spark: SparkSession, client: Any) -> bool:
    """Remove the metadata table of a table, after the properties that name it.  Return whether there was one.

    Call only as the writer.  Raises Py4JJavaError.
    """
    if not client.getTableConfig().isMetadataTableAvailable():
        return False
    org = jvm_of(spark).org.apache
    java = org.spark.api.java.JavaSparkContext.fromSparkContext(java_session(spark).sparkContext())
    context = org.hudi.client.common.HoodieSparkEngineContext(java)
    org.hudi.metadata.HoodieTableMetadataUtil.deleteMetadataTable(client, context, False)  # noqa: FBT003  no copy
    return True


def set_properties(spark: SparkSession, client: Any, properties: Mapping[str, str]) -> bool:
    """Set properties of a table that differ, in one step for readers.  Return whether any did.

    Call only as the writer.  Raises Py4JJavaError.
    """
    file = jvm_of(spark).io.hudicdc.ingest.hudi.PropertiesFile
    return bool(file.update(client, json.dumps(properties)))
