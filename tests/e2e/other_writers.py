"""Tables of other writers: the options and columns of HoodieStreamer, written by Hudi's own data source."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from ingest.hudi.options import tuned
from ingest.tables import Target
from ingest.testing import Row

V1, V2 = "deltastreamer.checkpoint.key", "streamer.checkpoint.key.v2"
NOON_US = 43_200_000_000
"""Noon, in microseconds since midnight."""
COLUMNS = (
    "`ID` int, region string, v string, t bigint, at_us bigint, day int, "
    "_change_operation_type string, _event_lsn bigint"
)


def write_as_streamer(
    spark: SparkSession,
    path: Path,
    rows: Sequence[Row],
    *,
    kind: str = "COPY_ON_WRITE",
    version: int = 6,
    metadata: Mapping[str, str] | None = None,
    columns: str = COLUMNS,
    **options: str,
) -> None:
    """Upsert rows as HoodieStreamer with its Debezium source does, in a table of an older version.

    Semantic types stay as they are on the wire, meta columns are its own, and the key generator, the ordering
    field and the payload too.  `metadata` is that of the commit.
    """
    names = [part.split()[0].strip("`") for part in columns.split(", ")]
    records = [tuple({**row, "ID": row["id"]}.get(name, _meta(name, row)) for name in names) for row in rows]
    written: dict[str, Any] = {
        "hoodie.table.name": "of_the_streamer",
        "hoodie.write.table.version": str(version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.datasource.write.recordkey.field": names[0],
        "hoodie.datasource.write.partitionpath.field": "region",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
        "hoodie.datasource.write.precombine.field": "_event_lsn",
        **tuned(Target()),
        "hoodie.table.timeline.timezone": "UTC",  # this JVM writes other tables in UTC
        **{key.replace("_", "."): value for key, value in options.items()},
    }
    for key, value in (metadata or {}).items():
        written |= {"hoodie.datasource.write.commitmeta.key.prefix": key, key: value}
    df = spark.createDataFrame(records, columns)
    df.write.format("hudi").options(**written).mode("append").save(str(path))


def _meta(name: str, row: Row) -> Any:
    return {"_change_operation_type": "c", "_event_lsn": row.get("at", 1)}.get(name)
