"""The parts of a table file that are fixed when the table is created, compared with the table itself.

Hudi trusts most options of a write: with other buckets the table holds old keys twice (apache/hudi#13241),
another table type is ignored.  Type, key and partitions are in Hudi's own properties; the rest is in the
ledger.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import SparkSession

from ingest.errors import TableChangedError
from ingest.java import jvm_of
from ingest.tables import TableConfig

TYPES: Final = {"COPY_ON_WRITE": "cow", "MERGE_ON_READ": "mor"}
APPEND_KEY: Final = ("_cdc_partition", "_cdc_offset")
"""The record key of a table in mode `append`."""
SAMPLE: Final = 64
"""Rows that show the buckets of a table without a record of them."""
MAX_BUCKETS: Final = 4096
_ALL_HASHES: Final = 2**31 - 1
_BUCKET_DIGITS: Final = 8


def recorded_parts(table: TableConfig, key_columns: Sequence[str]) -> dict[str, str]:
    """Return the fixed parts of a table file as the ledger keeps them: keys and their values as text."""
    target, types = table.target, table.types
    parts = {
        "target.type": target.type,
        "target.mode": target.mode,
        "target.partition_by": ",".join(target.partition_by),
        "target.index": target.index,
        "key.columns": ",".join(key_columns),
        "types.time": types.time,
        "types.nanos": types.nanos,
    }
    if target.index == "bucket":
        parts["target.buckets"] = str(target.buckets)
    for name, column in table.columns.items():
        policies = {"time": column.time, "nanos": column.nanos, "rename": column.rename}
        parts |= {f"columns.{name}.{key}": value for key, value in policies.items() if value}
    documents = table.document.columns.items()
    return parts | {f"document.columns.{name}.path": column.path for name, column in documents}


def check_properties(table: TableConfig, client: Any) -> None:
    """Compare a table file with Hudi's properties of the table.  Raises TableChangedError."""
    config = client.getTableConfig()
    keys = _names(config.getRecordKeyFields())
    mode = "append" if keys == APPEND_KEY else "upsert"
    _compare(table, "target.mode", table.target.mode, mode)
    _compare(table, "target.type", table.target.type, TYPES[config.getTableType().name()])
    _compare(
        table,
        "target.partition_by",
        ",".join(table.target.partition_by),
        ",".join(_names(config.getPartitionFields())),
    )


def check_key(table: TableConfig, key_columns: Sequence[str], client: Any) -> None:
    """Compare the key columns of the compiled table with those of the table.  Raises TableChangedError."""
    keys = _names(client.getTableConfig().getRecordKeyFields())
    _compare(table, "key.columns", ",".join(key_columns), ",".join(keys))


def check_recorded(
    table: TableConfig, recorded: Mapping[str, str], columns: Callable[[], Collection[str]]
) -> None:
    """Compare a table file with the ledger's record; policies of columns that the table lacks are free.

    Calls `columns` only for a policy that differs.  Raises TableChangedError.
    """
    parts = recorded_parts(table, recorded.get("key.columns", "").split(","))
    for name in {**recorded, **parts}:
        value, fixed = parts.get(name, ""), recorded.get(name, "")
        is_policy = name.startswith(("columns.", "document."))
        if value == fixed or not (is_policy or (name in recorded and name in parts)):
            continue
        if not is_policy or _stored_as(name, recorded) in columns():
            _compare(table, name, value, fixed)


def check_buckets(
    table: TableConfig, spark: SparkSession, path: str, key_columns: Sequence[str], file_groups: Iterable[str]
) -> None:
    """Compare index and buckets with a sample of the rows, for a table without a record of them.

    A file group of the bucket index begins with the number of its bucket; `file_groups` are those of the
    newest commits, or some of them.  Raises TableChangedError.
    """
    sample = spark.read.format("hudi").load(path).select("_hoodie_file_name", "_hoodie_record_key")
    rows = sample.limit(SAMPLE).collect()
    buckets = [row[0].lstrip(".")[:_BUCKET_DIGITS] for row in rows]
    is_bucketed = all(bucket.isdigit() for bucket in buckets)
    if not rows:
        return
    _compare(table, "target.index", table.target.index, "bucket" if is_bucketed else "global_simple")
    if not is_bucketed:
        return
    present_buckets = [int(group[:_BUCKET_DIGITS]) for group in file_groups]
    identifier = jvm_of(spark).org.apache.hudi.index.bucket.BucketIdentifier
    fields = ",".join(key_columns)
    hashes = [identifier.getBucketId(row[1], fields, _ALL_HASHES) for row in rows]
    pairs = [(code, int(bucket)) for code, bucket in zip(hashes, buckets, strict=True)]
    first = max((*present_buckets, *(bucket for _, bucket in pairs))) + 1
    if table.target.buckets < first or not _fits(pairs, table.target.buckets):
        fitting = [str(count) for count in range(first, MAX_BUCKETS + 1) if _fits(pairs, count)]
        _compare(
            table, "target.buckets", str(table.target.buckets), " or ".join(fitting[:3]) or "another number"
        )


def _fits(pairs: Sequence[tuple[int, int]], buckets: int) -> bool:
    return all(code % buckets == bucket for code, bucket in pairs)


def _compare(table: TableConfig, key: str, value: str, fixed: str) -> None:
    if value != fixed:
        raise TableChangedError(f"{table.name}.toml", key, value or "unset", fixed or "unset")


def _stored_as(key: str, recorded: Mapping[str, str]) -> str:
    """Return the column that a recorded policy shaped: the policy's own, or its new name."""
    name = key.removeprefix("document.").removeprefix("columns.").rpartition(".")[0]
    return recorded.get(f"columns.{name}.rename", name)


def _names(option: Any) -> tuple[str, ...]:
    """Return the column names in one of Hudi's optional arrays."""
    return tuple(option.get()) if option.isPresent() else ()
