"""Reads tables by Spark with another version of Hudi, whose bundle is the argument, as `reading.py` does.

Runs without `ingest` and its jar.  The session has the settings that the pages of Hudi name.
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import cells
from pyspark.sql import DataFrame, SparkSession

SHOWN = 160
"""Characters of a problem."""
BUNDLE = Path(sys.argv[1])
VERSION = BUNDLE.stem.rpartition("-")[2]


def start() -> SparkSession:
    """Start the session of a reader."""
    conf = {
        "spark.jars": str(BUNDLE),
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[1]")
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def frames(spark: SparkSession, job: dict[str, str]) -> dict[str, DataFrame | Exception]:
    """Return a table by each kind of query, or the problem of planning it."""
    reader, path = spark.read.format("hudi"), job["path"]
    after = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": job["completed"],
    }
    queries = {
        "snapshot": lambda: reader.load(path),
        "time travel": lambda: spark.read.format("hudi").option("as.of.instant", job["instant"]).load(path),
        "incremental": lambda: spark.read.format("hudi").options(**after).load(path),
    }
    found: dict[str, DataFrame | Exception] = {}
    for name, query in queries.items():
        try:
            found[name] = query()
        except Exception as error:  # noqa: BLE001  a problem is an answer
            found[name] = error
    return found


def rows(frame: DataFrame | Exception) -> list[list[Any]]:
    """Collect key and value of each row."""
    if isinstance(frame, Exception):
        raise frame
    return cells.rows_of([row.asDict(recursive=True) for row in frame.select("id", "v").collect()])


def cause(error: Exception) -> str:
    """Return the deepest cause that a Java exception names, on one line, without addresses of objects."""
    if str(error) in ("", "None"):
        return type(error).__name__
    lines = [line.strip().lstrip(": ") for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    thrown = lines[1] if lines[0].startswith("An error occurred while calling") else lines[0]
    return re.sub(r"@[0-9a-f]+", "", causes[-1] if causes else thrown)[:SHOWN]


def answer(spark: SparkSession, job: dict[str, str]) -> list[dict[str, Any]]:
    """Return the rows of each query, or its problem."""
    answers = []
    for name, frame in frames(spark, job).items():
        reader = {**job, "reader": f"Hudi {VERSION} {name}"}
        try:
            answers.append({**reader, "rows": rows(frame)})
        except Exception as error:  # noqa: BLE001  same
            answers.append({**reader, "problem": cause(error)})
    return answers


def main() -> None:
    """Answer all jobs; Hudi prints to standard output, so that the answers go to another descriptor."""
    out = os.dup(1)
    os.dup2(2, 1)
    spark = start()
    answers = [found for job in json.load(sys.stdin) for found in answer(spark, job)]
    spark.stop()
    with os.fdopen(out, "w") as stream:
        json.dump({"versions": {f"hudi-spark3.5-bundle_{VERSION}": VERSION}, "answers": answers}, stream)


if __name__ == "__main__":
    main()
