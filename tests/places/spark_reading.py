"""Reads tables by Spark with another version of Hudi, whose bundle is the argument, as `reading.py` does.

Runs without `ingest` and its jar.  The session has the settings that the pages of Hudi name, or none with a
second argument.
"""

import json
import os
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import cells
from pyspark.sql import DataFrame, SparkSession

SHOWN = 160
"""Characters of a problem."""
BUNDLE = Path(sys.argv[1])
VERSION = BUNDLE.stem.rpartition("-")[2]
IS_BARE = len(sys.argv) > 2
DOCUMENTED = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
}


def start() -> SparkSession:
    """Start the session of a reader."""
    builder = SparkSession.builder.master("local[1]").config("spark.jars", str(BUNDLE))
    for key, value in () if IS_BARE else DOCUMENTED.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def frames(spark: SparkSession, job: dict[str, Any]) -> dict[str, DataFrame | Exception]:
    """Return a table by each kind of query, or the problem of planning it."""
    queries: dict[str, dict[str, str]] = {"snapshot": {}}
    if "instant" in job:
        queries["time travel"] = {"as.of.instant": job["instant"]}
        queries["incremental"] = {
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.read.begin.instanttime": begin(job),
        }
    found: dict[str, DataFrame | Exception] = {}
    for name, options in queries.items():
        try:
            found[name] = spark.read.format("hudi").options(**options).load(job["path"])
        except Exception as error:  # noqa: BLE001  a problem is an answer
            found[name] = error
    return found


def begin(job: dict[str, Any]) -> str:
    """Return the time behind a commit: Hudi 1.0.2 includes the one that completed at the time itself."""
    has_completion = job["completed"] != job["instant"]
    return str(int(job["completed"]) + 1) if VERSION == "1.0.2" and has_completion else job["completed"]


def rows(frame: DataFrame | Exception, columns: list[str]) -> list[list[Any]]:
    """Collect the values of each row.  Instants come as numbers, since Python has them in its own zone."""
    if isinstance(frame, Exception):
        raise frame
    instants = {name for name, kind in frame.dtypes if kind == "timestamp"}
    found = frame.selectExpr(
        *(f"unix_micros(`{name}`) as `{name}`" if name in instants else f"`{name}`" for name in columns)
    )
    records = [row.asDict(recursive=True) for row in found.collect()]
    for record in records:
        record |= {name: instant(record[name]) for name in instants.intersection(columns)}
    return cells.rows_of(records, columns)


def instant(micros: int | None) -> datetime | None:
    """Return the instant of a number of microseconds since 1970."""
    return None if micros is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def cause(error: Exception) -> str:
    """Return the deepest cause that a Java exception names, on one line, without addresses of objects."""
    if str(error) in ("", "None"):
        return type(error).__name__
    lines = [line.strip().lstrip(": ") for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    thrown = lines[1] if lines[0].startswith("An error occurred while calling") else lines[0]
    return re.sub(r"@[0-9a-f]+", "", causes[-1] if causes else thrown)[:SHOWN]


def answer(spark: SparkSession, job: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of each query, or its problem."""
    answers = []
    for name, frame in frames(spark, job).items():
        reader = {**job, "reader": f"Hudi {VERSION} {'without settings ' if IS_BARE else ''}{name}"}
        try:
            answers.append({**reader, "rows": rows(frame, job["columns"])})
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
