"""Servers of other storages, and one Spark session with their clients."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest.jars.artifacts import spark_jars
from ingest.local.servers import Addresses
from ingest.spark.session import class_path, launch_conf
from tests.places.deployment import Place
from tests.places.front import Front, forward, front_of
from tests.places.metastore import running_metastore
from tests.places.record import IS_RECORDING, TITLES, committed, today, write
from tests.places.s3 import JARS, MISSING, S3, S3_JARS, running_s3
from tests.places.trino import Trino, running_trino


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """Run an S3 server with an empty bucket."""
    if not (JARS / ".stamp").exists():
        pytest.exit(MISSING, returncode=1)
    with running_s3(tmp_path_factory.mktemp("s3") / "store") as server:
        yield server


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory, s3: S3) -> Iterator[str]:
    """Run Hive's metastore."""
    with running_metastore(tmp_path_factory.mktemp("metastore"), s3) as uri:
        yield uri


@pytest.fixture(scope="session")
def trino(tmp_path_factory: pytest.TempPathFactory, metastore: str, s3: S3) -> Iterator[Trino]:
    """Run Trino."""
    with running_trino(tmp_path_factory.mktemp("trino"), metastore, s3) as server:
        yield server


@pytest.fixture(scope="session")
def front(s3: S3) -> Iterator[Front]:
    """Run a proxy in front of the S3 server."""
    with front_of(s3.port) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def fronted(s3: S3, front: Front) -> S3:
    """Make a bucket that is reached through the proxy, with Hadoop's retries, but without its long waits."""
    scope = "spark.hadoop.fs.s3a.bucket.fronted"
    settings = {
        f"{scope}.retry.limit": "3",
        f"{scope}.retry.interval": "20ms",
        f"{scope}.attempts.maximum": "3",
    }
    bucket = attrs.evolve(s3, port=front.port, bucket="fronted", is_one_of_many=True, more=settings)
    s3.client().create_dir(bucket.bucket)
    return bucket


@pytest.fixture(scope="session")
def fragile(s3: S3, front: Front) -> S3:
    """Make a bucket behind the proxy of which each request is tried once."""
    scope = "spark.hadoop.fs.s3a.bucket.fragile"
    settings = {
        f"{scope}.retry.limit": "0", f"{scope}.retry.throttle.limit": "0",
        f"{scope}.attempts.maximum": "0", f"{scope}.retry.interval": "20ms",
    }  # fmt: skip
    bucket = attrs.evolve(s3, port=front.port, bucket="fragile", is_one_of_many=True, more=settings)
    s3.client().create_dir(bucket.bucket)
    return bucket


@pytest.fixture(scope="session")
def counted(s3: S3, front: Front) -> S3:
    """Make a bucket behind the proxy with many connections: Hudi's metadata table leaves them open."""
    settings = {"spark.hadoop.fs.s3a.bucket.counted.connection.maximum": "4000"}
    bucket = attrs.evolve(s3, port=front.port, bucket="counted", is_one_of_many=True, more=settings)
    s3.client().create_dir(bucket.bucket)
    return bucket


@pytest.fixture(scope="session")
def narrow(s3: S3) -> S3:
    """Make a bucket with eight connections, each of which is tried once."""
    scope = "spark.hadoop.fs.s3a.bucket.narrow"
    settings = {f"{scope}.connection.maximum": "8", f"{scope}.attempts.maximum": "1"}
    bucket = attrs.evolve(s3, bucket="narrow", is_one_of_many=True, more=settings)
    s3.client().create_dir(bucket.bucket)
    return bucket


@pytest.fixture(scope="session")
def ingest_spark(s3: S3, fronted: S3, fragile: S3, counted: S3, narrow: S3) -> Iterator[SparkSession]:
    """Start Spark with Hadoop's S3 client, set up as a user does."""
    jars = [*spark_jars(), *S3_JARS]
    builder = SparkSession.builder.appName(f"places-{os.getpid()}")
    buckets = (s3, fronted, fragile, counted, narrow)
    conf = {key: value for bucket in buckets for key, value in bucket.spark_conf().items()}
    for key, value in launch_conf("local[2]", conf, jars).items():
        builder = builder.config(key, value)
    with class_path(jars):
        spark = builder.getOrCreate()
    yield spark
    spark.stop()


@pytest.fixture
def make_place(
    tmp_path: Path, servers: Addresses, outer_spark: SparkSession, front: Front
) -> Callable[..., Place]:
    """Return a function that makes a deployment in a bucket, in a folder of its own."""
    front.decide = forward

    def make(bucket: S3, name: str = "one") -> Place:
        root = tmp_path / name
        root.mkdir()
        return Place(root, servers, outer_spark, f"{bucket.lake}/{tmp_path.name}/{name}", bucket.spark_conf())

    return make


RESULTS: Final = pytest.StashKey[list[dict[str, str]]]()


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Keep the result of each test of this folder."""
    if call.when != "call" or not isinstance(item, pytest.Function):
        return
    if call.excinfo is not None and call.excinfo.errisinstance(pytest.skip.Exception):
        return
    summary, _, _ = str(item.function.__doc__).partition("\n")
    module = item.path.stem.removeprefix("test_")
    variant = f" ({item.callspec.id})" if hasattr(item, "callspec") else ""
    claim = item.originalname.removeprefix("test_").replace("_", " ")
    result = {
        "section": module, "claim": f"{claim}{variant}", "detail": summary, "date": today(),
        "result": "failed" if call.excinfo else "passed",
    }  # fmt: skip
    item.config.stash.setdefault(RESULTS, []).append(result)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the results of the tests that ran; those of other modules stay."""
    results = session.config.stash.get(RESULTS, [])
    if not IS_RECORDING or not results:
        return
    sections = {result["section"] for result in results}
    ran = {(result["section"], result["claim"]) for result in results}
    before = committed("tests")
    kept = [
        test for test in before.get("tests", [])
        if (test["section"], test["claim"]) not in ran
    ]  # fmt: skip
    titles = before.get("sections", {}) | {section: TITLES[section] for section in sections}
    tests = sorted([*kept, *results], key=lambda test: (test["section"], test["claim"]))
    write("tests", {"sections": dict(sorted(titles.items())), "tests": tests})
