"""The Hudi options of one write: those that ingest decides, tunes by rule, or takes from the table file."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from typing import Final, Literal

from ingest.compile.event import COORDINATES
from ingest.compile.row_model import row_model
from ingest.errors import TableFileError
from ingest.hudi.keys import is_row_writer_key
from ingest.hudi.owned import refusal
from ingest.hudi.timeline.ledger import PREFIX
from ingest.hudi.timeline.properties import HIVE_STYLE
from ingest.tables import TableConfig, Target

OP: Final = "_cdc_op"
POSITION: Final = "_cdc_position"
DELETE: Final = "d"

TIMELINE_ZONE: Final = "hoodie.table.timeline.timezone"
"""`LOCAL` by default: instants in the zone of the JVM that writes, so that two hosts may disagree."""

Operation = Literal["load", "upsert", "overwrite"]
"""The first commit of a table, a batch, or rows in place of all that the table holds."""
OPERATION: Final = "hoodie.datasource.write.operation"
DISTRIBUTION: Final = "hudi-cdc-ingest"
_DOTTED: Final = re.compile(r"[^\W\d]\w*(\.\w+)+")
"""A name that may be a class's."""
KEYGEN: Final = "org.apache.hudi.keygen"
SMALL_BUCKETS: Final = 4

SPARK_FOOTER: Final[Mapping[str, str]] = {
    # With Hudi's own, a default Spark session refuses a file's dates before 1582 and timestamps before 1900.
    "hoodie.avro.write.support.class": "io.hudicdc.ingest.hudi.SparkFooter",
}

OWNED: Final[Mapping[str, str]] = {
    "hoodie.table.ordering.fields": POSITION,
    # The newest position wins.  COMMIT_TIME would let a late older change overwrite.
    "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING",
    # Deletes travel in the upsert: the `delete` operation ignores the order, and would be a second commit.
    "hoodie.payload.delete.field": OP,
    "hoodie.payload.delete.marker": DELETE,
    # The batch has one row per key already.  Hudi's own deduplication costs as much again.
    "hoodie.combine.before.upsert": "false",
    # Columns that the events no longer bring become null (HUDI-6872), or else Hudi refuses such a batch.
    "hoodie.write.set.null.for.missing.columns": "true",
    "hoodie.datasource.write.commitmeta.key.prefix": PREFIX,
    # Instants in UTC (HUDI-3014).  `LOCAL`, the default, is the zone of the JVM (HUDI-6895).
    TIMELINE_ZONE: "UTC",
    # By ingest's lock, see `ingest.hudi.locks.lock`.
    "hoodie.write.concurrency.mode": "SINGLE_WRITER",
    # Offsets advance over batches without rows (HUDI-227, for Hudi's own streamer).
    "hoodie.allow.empty.commit": "true",
    # A failed row fails the write with its cause.  True says only "Failed to write to Hudi"
    # (apache/hudi#6679).
    "hoodie.write.ignore.failed": "false",
    # Timestamp keys as microseconds.  true writes them in the JVM's zone, cut to milliseconds: keys collide.
    "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled": "false",
    # The row writer of bulk_insert writes other keys for timestamp and binary columns than upsert does: the
    # first upsert of such a row would double it (apache/hudi#10303).
    "hoodie.datasource.write.row.writer.enable": "false",
    # Without it, '/', ':', '=' and '%' in a partition column are read back as other text (apache/hudi#10754).
    "hoodie.datasource.write.partitionpath.urlencode": "true",
    # A changed partition column moves the row.  Deletes, which carry no partition column, find it (HUDI-499).
    "hoodie.simple.index.update.partition.path": "true",
    "hoodie.record.index.update.partition.path": "true",
    # Hudi refuses a table of version 6 with one key column and several of partitions: other versions of Hudi
    # wrote its keys otherwise (HUDI-7001).  Only ingest writes these tables.
    "hoodie.write.complex.keygen.validation.enable": "false",
    # A table keeps its version: a later Hudi would upgrade it, and lock out its readers.
    "hoodie.write.auto.upgrade": "false",
    # Hudi 1.3 writes Parquet by default, with which a merge-on-read table keeps the change that was written
    # last (Hudi 1.2.0, measured).
    "hoodie.logfile.data.block.format": "avro",
    **SPARK_FOOTER,
}
TABLE_VERSION: Final = "hoodie.write.table.version"
MARKER: Final = "hoodie.payload.delete.marker"
ROW_WRITER: Final[Mapping[str, str]] = {"hoodie.datasource.write.row.writer.enable": "true"}
"""A first load without Avro on the way, see `uses_row_writer`."""
BLOOM: Final = "hoodie.parquet.bloom.filter.enabled"
SMALLEST_BLOOM: Final[Mapping[str, str]] = {
    "hoodie.bloom.index.filter.type": "SIMPLE",
    "hoodie.index.bloom.num_entries": "1",
    "hoodie.index.bloom.fpp": "0.5",
}
"""The row writer ignores BLOOM (HUDI-7278): by default, a filter of 431 KB a file, and 30 hashes a key."""
METADATA: Final = "hoodie.metadata.enable"
RECORD_INDEX: Final[Mapping[str, str]] = {
    "hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX",
    METADATA: "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
}
"""The folder of each key, in Hudi's metadata table."""
REWRITE: Final[Mapping[str, str]] = {
    OPERATION: "insert_overwrite_table",
    # The metadata table would keep the old partitions.  The next write makes it again.
    METADATA: "false",
    # Without it, the older schema has to fit the newer one, as for files that stay (HUDI-5646).
    "hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true",
}
"""All files are replaced, in one commit."""

MERGER: Final = "hoodie.write.record.merge.custom.implementation.classes"
SPARKS: Final = "org.apache.hudi.DefaultSparkRecordMerger"
"""Spark's own record merger, for Spark's rows in place of Avro records.

A run takes 8 % less CPU (docs/performance.md), and it reads what parquet-avro cannot.  For each
array of structs parquet-avro 1.13.1 converts the type back to an Avro schema, to compare it
(`AvroRecordConverter.isElementType`).  A decimal becomes a `fixed` there, named after its Parquet field, and
the schema cannot be printed if that name occurs twice: an array of decimals in the structs ("Can't redefine:
element", as in apache/hudi#6849), decimals of one name in several structs.  The second commit to a file then
fails.
"""
_DECIMAL_IN_ARRAY: Final = re.compile(r"array<struct<.*decimal\(")


def hudi_options(table: TableConfig, key_columns: Sequence[str], operation: Operation) -> dict[str, str]:
    """Return the options of one write.  `overwrite` also allows types that Hudi would refuse in an upsert.

    Raises TableFileError for an option of the table file that ingest decides itself.
    """
    check_hudi(table)
    return {
        **tuned(table.target),
        **SERVICES_OFF,
        **table.hudi,
        **OWNED,
        MARKER: row_model(table.target).removal,
        **_identity(table, key_columns),
        TABLE_VERSION: str(table.target.table_version),
        **_index(table, key_columns, operation),
        OPERATION: table.target.first_load if operation == "load" else "upsert",
        **(REWRITE if operation == "overwrite" else {}),
    }


def uses_row_writer(table: TableConfig, key_types: Iterable[str]) -> bool:
    """Whether Spark's own rows can be written in the first load, without a detour over Avro."""
    return table.target.first_load == "bulk_insert" and _fits_spark_rows(table, key_types)


def _fits_spark_rows(table: TableConfig, key_types: Iterable[str]) -> bool:
    """Whether Hudi makes the same keys from Spark's rows as from Avro records.

    It makes other ones of some types (apache/hudi#10303), and may name the folders of partitions otherwise.
    """
    return not table.target.partition_by and all(map(is_row_writer_key, key_types))


def row_writer(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options for a first load by Spark's own rows, besides the write's options."""
    return {**ROW_WRITER, **(SMALLEST_BLOOM if options[BLOOM] == "false" else {})}


def by_avro(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a write by Avro records instead of Spark's rows."""
    kept = {key: value for key, value in options.items() if key != MERGER}
    return {**kept, **dict.fromkeys(ROW_WRITER, "false")}


def options_digest(table: TableConfig) -> str:
    """Return a digest of all options on which the check of the `[hudi]` values depends.

    Empty for names of classes: the jars of the session decide whether these exist.
    """
    if any(_DOTTED.fullmatch(value) for value in table.hudi.values()):
        return ""
    options = {**tuned(table.target), **table.hudi, **OWNED, "ingest": version(DISTRIBUTION)}
    return sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()


def check_hudi(table: TableConfig) -> None:
    """Refuse the options that the [hudi] part of a table file must not set."""
    owned = {**OWNED, **RECORD_INDEX} if table.target.index == "global_record" else OWNED
    for key in table.hudi:
        reason = refusal(key, owned)
        if reason is not None:
            raise TableFileError(f"{table.name}.toml", f'hudi."{key}"', *reason)


def _identity(table: TableConfig, key_columns: Sequence[str]) -> dict[str, str]:
    """Return the options that Hudi refuses to change later: name, type, key, partitions."""
    kind = "MERGE_ON_READ" if table.target.type == "mor" else "COPY_ON_WRITE"
    return {
        "hoodie.table.name": table.name,
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": ",".join(key_columns),
        "hoodie.datasource.write.partitionpath.field": ",".join(table.target.partition_by),
        "hoodie.datasource.write.keygenerator.class": _key_generator(table, key_columns),
        HIVE_STYLE: str(table.target.hive_style_partitions).lower(),
    }


def _key_generator(table: TableConfig, key_columns: Sequence[str]) -> str:
    """Choose by count: Simple writes a bare key and one folder, Complex parts several columns by name."""
    parts = table.target.partition_by
    if not parts:
        return f"{KEYGEN}.NonpartitionedKeyGenerator"
    if len(parts) == 1 and len(key_columns) == 1:
        return f"{KEYGEN}.SimpleKeyGenerator"
    return f"{KEYGEN}.ComplexKeyGenerator"


def _index(table: TableConfig, key_columns: Sequence[str], operation: Operation) -> Mapping[str, str]:
    """Find rows by hash (bucket), by the keys of all partitions (global simple), or by an index of these.

    The first load makes no index of keys, since Hudi would hold the keys in memory.  The next write makes it
    from the files, and sorts them on disk.
    """
    if table.target.index == "global_record" and operation == "upsert":
        return RECORD_INDEX
    if table.target.index != "bucket":
        return {"hoodie.index.type": "GLOBAL_SIMPLE"}
    check_partitions(table, key_columns)
    return {
        "hoodie.index.type": "BUCKET",
        "hoodie.index.bucket.engine": "SIMPLE",
        "hoodie.bucket.index.num.buckets": str(table.target.buckets),
        **_hashed(table, key_columns),
    }


def _hashed(table: TableConfig, key_columns: Sequence[str]) -> dict[str, str]:
    """Put the versions of one key into one bucket: a commit that ends one and adds another has one file."""
    if table.target.mode != "history":
        return {}
    return {"hoodie.bucket.index.hash.field": ",".join(key_columns[: -len(COORDINATES)])}


def check_partitions(table: TableConfig, key_columns: Sequence[str]) -> None:
    """Refuse a partition column outside the key, for an index that looks in one partition only."""
    if table.target.index == "bucket" and not set(table.target.partition_by) <= set(key_columns):
        raise TableFileError(
            f"{table.name}.toml",
            "target.index",
            "'bucket' cannot find a row whose partition column is outside the key",
            'Use "global_simple", or "global_record" for a large table',
        )


def tuned(target: Target) -> dict[str, str]:
    """Return the options that a table file may change: 3 Spark jobs per commit of a small table, not 9."""
    buckets = target.buckets
    wide = str(max(2, buckets))
    housekeeping = "1" if buckets <= SMALL_BUCKETS else wide  # defaults are 100 to 200 tasks each
    return {
        # A table's files are listed from few folders.  Keeping them in a second table costs 4 jobs a commit.
        METADATA: "false",
        # Files of the index `global_record`, of which a commit adds to each.
        "hoodie.metadata.global.record.level.index.min.filegroup.count": wide,
        **(dict.fromkeys(STATISTICS, "false") if target.index == "global_record" else {}),
        # No HTTP server a write.  Markers are files then, a few for each commit.
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.markers.type": "DIRECT",
        # Against the default gzip: 25 % less CPU a write and 12 % smaller files (200,000 rows, 12 columns).
        "hoodie.parquet.compression.codec": "zstd",
        # For an index that a table here never has: each merge reads and writes it, however few the rows.
        BLOOM: "false",
        **MEMORY,
        "hoodie.clean.trigger.max.commits": "10",  # instead of planning a clean after every commit
        **dict.fromkeys(HOUSEKEEPING, housekeeping),
        **dict.fromkeys(SHUFFLES, wide),
        # A first load writes one file a partition, and not one a partition and task.  The bucket index does
        # the same by itself.
        "hoodie.bulkinsert.sort.mode": "PARTITION_PATH_REPARTITION" if target.partition_by else "NONE",
    }


MEMORY: Final[Mapping[str, str]] = {
    # The rows of a batch, between counting and writing them.  The default is in memory, too.
    "hoodie.write.tagged.record.storage.level": "DISK_ONLY",
    # A block of a log file, by default 256 MiB.
    "hoodie.logfile.data.block.max.size": str(32 << 20),
    # The changes of a file that a task merges, and that it compacts or reads: further ones are on disk.  By
    # default 257 MB in a local session, whatever its heap and its cores are.
    "hoodie.memory.merge.max.size": str(64 << 20),
    "hoodie.memory.compaction.max.size": str(64 << 20),
    "hoodie.metadata.max.reader.memory": str(64 << 20),  # of a record index, by default 1 GiB
    # The buffer for each log file that is opened, by default 16 MiB for files of a few kilobytes.
    "hoodie.memory.dfs.buffer.max.size": str(256 << 10),
    # By default each change on disk is deflated at the highest level, by itself.
    "hoodie.common.diskmap.compression.enabled": "false",
}
"""What a write or a read holds in memory.  With the defaults 5,000,000 wide changes ended a JVM of 2 GiB."""
STATISTICS: Final = (
    "hoodie.metadata.index.column.stats.enable",
    "hoodie.metadata.index.partition.stats.enable",
)
"""What a metadata table has besides by default, which each commit adds to and no lookup of keys reads."""
HOUSEKEEPING: Final = (
    "hoodie.finalize.write.parallelism",
    "hoodie.rollback.parallelism",
    "hoodie.markers.delete.parallelism",
    "hoodie.clean.parallelism",
    "hoodie.archive.delete.parallelism",
    "hoodie.file.listing.parallelism",
)
SHUFFLES: Final = (
    "hoodie.upsert.shuffle.parallelism",
    "hoodie.bulkinsert.shuffle.parallelism",
    "hoodie.global.simple.index.parallelism",
    "hoodie.global.index.reconcile.parallelism",
)
CLEAN: Final = "hoodie.clean.automatic"
ARCHIVE: Final = "hoodie.archive.automatic"
COMPACT: Final = "hoodie.compact.inline"
SERVICES_OFF: Final = dict.fromkeys((CLEAN, ARCHIVE, COMPACT), "false")
"""`ingest.hudi.upkeep.services` does these, after the commit or on a separate schedule."""


def merger_options(
    table: TableConfig, key_columns: Sequence[str], columns: Iterable[tuple[str, str]]
) -> Mapping[str, str]:
    """Return the option that chooses the merger for columns, by name and DDL type; empty for Hudi's default.

    Spark's merger also takes arrays of structs whose decimals have different names: no harm.
    """
    named = list(columns)
    key_types = [ddl for name, ddl in named if name in key_columns]
    needs_sparks = any(_DECIMAL_IN_ARRAY.search(ddl) for _, ddl in named)
    return {MERGER: SPARKS} if needs_sparks or _fits_spark_rows(table, key_types) else {}
