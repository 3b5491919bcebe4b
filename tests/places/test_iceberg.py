"""Spark with Iceberg, and without Hudi, reads each type of column of the Iceberg tables."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from tests.iceberg.conftest import make_faces
from tests.places.matrix import BUNDLES, HERE, TYPES, expected, write

pytestmark = [pytest.mark.places, pytest.mark.spark]

JARS: Final = HERE.parents[1] / "jars" / "readers"


def test_spark_with_iceberg_reads_every_type_of_column(spark: SparkSession, tmp_path: Path) -> None:
    """Rows of two commits."""
    faces = make_faces(spark, tmp_path)
    assert BUNDLES, "jars/readers is missing: run `make test-places`"
    wanted = {}
    for kind in TYPES:
        write(faces.lake, kind.name, "cow", {"v": kind})
        faces.iceberg.update(faces.lake.table(f"{kind.name}_cow", buckets=1))
        wanted[f"bronze.{kind.name}_cow"] = expected(kind, "Iceberg")
    jars = [*JARS.glob("iceberg-*.jar"), *JARS.glob("sqlite-jdbc-*.jar")]
    catalog = tmp_path / "iceberg"
    done = subprocess.run(
        [sys.executable, HERE / "iceberg_reading.py", ",".join(map(str, jars)),
         f"jdbc:sqlite:{catalog}/catalog.db", f"file://{catalog}/warehouse"],
        input=json.dumps(list(wanted)), capture_output=True, check=False, text=True, timeout=900,
        env={**os.environ, "TZ": "UTC"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) == wanted
