"""Servers of other storages, and one Spark session with their clients."""

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from ingest.artifacts import spark_jars
from ingest.spark.session import class_path, launch_conf
from tests.places.s3 import JARS, MISSING, S3, running_s3


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """Run an S3 server with an empty bucket."""
    if not (JARS / ".stamp").exists():
        pytest.exit(MISSING, returncode=1)
    with running_s3(tmp_path_factory.mktemp("s3") / "store") as server:
        yield server


@pytest.fixture(scope="session")
def ingest_spark(s3: S3) -> Iterator[SparkSession]:
    """Start Spark with Hadoop's S3 client, set up as a user does."""
    jars = [*spark_jars(), *JARS.glob("hadoop-aws-*.jar"), *JARS.glob("aws-java-sdk-bundle-*.jar")]
    builder = SparkSession.builder.appName(f"places-{os.getpid()}")
    for key, value in launch_conf("local[2]", s3.spark_conf(), jars).items():
        builder = builder.config(key, value)
    with class_path(jars):
        spark = builder.getOrCreate()
    yield spark
    spark.stop()
