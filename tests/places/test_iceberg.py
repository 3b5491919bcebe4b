"""Spark with Iceberg, and without Hudi, reads each type of column; Trino reads a table in S3."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession

from tests.iceberg.conftest import make_faces
from tests.places.deployment import Place, outcome
from tests.places.matrix import BUNDLES, HERE, TYPES, expected, write
from tests.places.s3 import KEY, S3
from tests.places.trino import Trino

pytestmark = [pytest.mark.places, pytest.mark.spark, pytest.mark.servers]

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


def test_trino_reads_the_iceberg_table_of_hives_metastore_in_s3(
    make_place: Callable[..., Place], s3: S3, metastore: str, trino: Trino
) -> None:
    """By its own connector; the rows of three commits, and what `ingest check` says of them."""
    place = make_place(s3)
    place.create("cow", target='also = ["iceberg"]')
    properties = {
        "type": "hive", "uri": metastore, "hive.hive2-compatible": "true",
        "s3.endpoint": s3.endpoint, "s3.access-key-id": KEY, "s3.secret-access-key": KEY,
    }  # fmt: skip
    load_catalog("lake", **properties).create_namespace("faces", {"location": f"{s3.lake}/faces"})
    with (place.root / "ingest.toml").open("a") as settings:
        settings.write('\n[iceberg]\ncatalog = "lake"\nnamespace = "faces"\n[iceberg.properties]\n')
        settings.writelines(f'"{key}" = "{value}"\n' for key, value in properties.items())
    for _ in range(3):
        place.change()
        assert outcome(place.run()) == ("committed", None)
        rows = trino.query("select id, v from iceberg.faces.orders")
        assert sorted(map(tuple, rows)) == sorted(place.rows.items())
    place.check()
