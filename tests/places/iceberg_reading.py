"""Reads Iceberg tables by Spark with Iceberg's runtime, as `reading.py` does.  It has no Hudi.

The arguments are the jars, comma separated, and the address and the warehouse of the catalog.
"""

import json
import os
import sys

import cells
from pyspark.sql import SparkSession


def main() -> None:
    """Print the rows of each named table."""
    out = os.dup(1)
    os.dup2(2, 1)
    jars, uri, warehouse = sys.argv[1:]
    conf = {
        "spark.jars": jars,
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "jdbc",
        "spark.sql.catalog.lake.uri": uri,
        "spark.sql.catalog.lake.warehouse": warehouse,
        "spark.sql.catalog.lake.jdbc.schema-version": "V1",
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[1]")
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    rows = {
        name: cells.rows_of(
            [row.asDict(recursive=True) for row in spark.table(f"lake.{name}").collect()], ("id", "v")
        )
        for name in json.load(sys.stdin)
    }
    spark.stop()
    with os.fdopen(out, "w") as stream:
        json.dump(rows, stream)


if __name__ == "__main__":
    main()
