"""Index and buckets of a table without a record of them, by a sample of its rows."""

from collections.abc import Iterable, Sequence
from typing import Final

from pyspark.sql import SparkSession

from ingest.hudi.fixed import compare
from ingest.spark.java import jvm_of
from ingest.tables import TableConfig

SAMPLE: Final = 64
MAX_BUCKETS: Final = 4096
_ALL_HASHES: Final = 2**31 - 1
_BUCKET_DIGITS: Final = 8


def check_buckets(
    table: TableConfig, spark: SparkSession, path: str, key_columns: Sequence[str], file_groups: Iterable[str]
) -> None:
    """Compare index and buckets with a sample of the rows, for a table without a record of them.

    A file group of the bucket index begins with the number of its bucket.  `file_groups` are the newest
    commits' file groups, or some of them.  Raises TableChangedError.
    """
    sample = spark.read.format("hudi").load(path).select("_hoodie_file_name", "_hoodie_record_key")
    rows = sample.limit(SAMPLE).collect()
    buckets = [row[0].lstrip(".")[:_BUCKET_DIGITS] for row in rows]
    is_bucketed = all(bucket.isdigit() for bucket in buckets)
    if not rows:
        return
    if not is_bucketed:
        if table.target.index == "bucket":
            compare(table, "target.index", "bucket", "global_simple")
        return
    compare(table, "target.index", table.target.index, "bucket")
    present_buckets = [int(group[:_BUCKET_DIGITS]) for group in file_groups]
    identifier = jvm_of(spark).org.apache.hudi.index.bucket.BucketIdentifier
    fields = ",".join(key_columns)
    hashes = [identifier.getBucketId(row[1], fields, _ALL_HASHES) for row in rows]
    pairs = [(code, int(bucket)) for code, bucket in zip(hashes, buckets, strict=True)]
    first = max((*present_buckets, *(bucket for _, bucket in pairs))) + 1
    if table.target.buckets < first or not _fits(pairs, table.target.buckets):
        fitting = [str(count) for count in range(first, MAX_BUCKETS + 1) if _fits(pairs, count)]
        compare(
            table, "target.buckets", str(table.target.buckets), " or ".join(fitting[:3]) or "another number"
        )


def _fits(pairs: Sequence[tuple[int, int]], buckets: int) -> bool:
    return all(code % buckets == bucket for code, bucket in pairs)
