"""`spark-submit` to a cluster: a master and two workers as processes, the package as an archive."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs
import pyspark
import pytest
from pyspark.sql import SparkSession

from ingest.jars.artifacts import spark_jars
from tests.e2e.deployment import Deployment
from tests.e2e.referee import differences, read_expected, read_table
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.spark, pytest.mark.servers]

ROOT = Path(__file__).parents[2]
SPARK = Path(pyspark.__file__).parent
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Short lives: JVMs that compile lightly start faster."""
TABLES = ("all_types", "customers")
UP_S = 600


@attrs.frozen
class Cluster:
    """A standalone cluster; executors log below its workers' folders."""

    master: str
    workers: tuple[Path, ...]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Start a master and two workers of one core each, on free ports of loopback."""
    with ExitStack() as running:
        log = running.enter_context(_daemon(tmp_path, "master.Master", "master"))
        master = _await(log, r"spark://127\.0\.0\.1:\d+")
        workers = (tmp_path / "worker-1", tmp_path / "worker-2")
        for folder in workers:
            options = ("-c", "1", "-m", "1g", "-d", str(folder), master)
            running.enter_context(_daemon(tmp_path, "worker.Worker", folder.name, *options))
        _await(log, r"(?s)Registering worker.*Registering worker")
        yield Cluster(master, workers)


@contextmanager
def _daemon(folder: Path, name: str, log_name: str, *options: str) -> Iterator[Path]:
    """Run one of Spark's daemons; yield its log."""
    command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
    command += ["--port", "0", "--webui-port", "0", *options]
    environment = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": LIGHT}
    log = folder / f"{log_name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, env=_environment(environment), stdout=out, stderr=out, stdin=subprocess.DEVNULL
        )
    try:
        yield log
    finally:
        process.kill()
        process.wait()


def _await(log: Path, pattern: str) -> str:
    """Wait until a daemon has logged something."""
    deadline = time.monotonic() + UP_S
    while time.monotonic() < deadline:
        if match := re.search(pattern, log.read_text()):
            return match[0]
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    inherited = {key: text for key, text in os.environ.items() if not key.startswith(("INGEST_", "PYSPARK_"))}
    return {**inherited, "SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1", **variables}


@pytest.fixture
def driver_python(tmp_path: Path) -> Path:
    """Create a Python with the dependencies of `ingest` but without `ingest`, which only the archive has."""
    python = tmp_path / "python"
    # -S skips the .pth file of the editable install.
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    return python


def test_a_cluster_builds_the_tables(
    cluster: Cluster,
    driver_python: Path,
    make_deployment: Callable[..., Deployment],
    outer_spark: SparkSession,
    tmp_path: Path,
) -> None:
    """Client mode; both workers run tasks without Python; the package comes by --py-files.

    Afterwards Hive's metastore has the tables, in the database of the settings.
    """
    deployment = make_deployment()
    deployment.load()
    deployment.onboard()
    metastore = f"jdbc:derby:;databaseName={tmp_path}/metastore"
    archive = shutil.make_archive(str(tmp_path / "ingest"), "zip", ROOT, "ingest")
    application = shutil.copy(ROOT / "ingest" / "__main__.py", tmp_path / "main.py")
    command = [
        str(SPARK / "bin" / "spark-submit"),
        *("--master", cluster.master, "--deploy-mode", "client"),
        *("--py-files", archive, "--jars", ",".join(map(str, spark_jars()))),
        *("--executor-memory", "512m", "--driver-java-options", LIGHT),
        *_conf(
            {
                "spark.executor.extraJavaOptions": LIGHT,
                "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # wait for both workers
                "spark.sql.shuffle.partitions": "2",
                "spark.ui.enabled": "false",
                "spark.sql.catalogImplementation": "hive",
                "spark.hadoop.javax.jdo.option.ConnectionURL": f"{metastore};create=true",
                "spark.pyspark.driver.python": str(driver_python),
                "spark.pyspark.python": "/nowhere/python",
            }
        ),
        *(application, "run", *TABLES, "--report", "report.json"),
    ]

    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=_environment({"PYTHONPATH": sysconfig.get_path("purelib"), "INGEST_LAKE_DATABASE": "bronze"}),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
    )

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-5000:]
    report = json.loads((tmp_path / "report.json").read_text())
    assert {entry["table"]: entry["outcome"] for entry in report["tables"]} == dict.fromkeys(
        TABLES, "committed"
    )
    assert {table: _differences(deployment, table) for table in TABLES} == {table: [] for table in TABLES}
    assert _entries(outer_spark, metastore) == {("bronze", table) for table in TABLES}
    logs = ["".join(entry.read_text() for entry in worker.rglob("stderr")) for worker in cluster.workers]
    assert all("Finished task" in log for log in logs)


def _conf(settings: Mapping[str, str]) -> list[str]:
    return [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]


def _entries(spark: SparkSession, metastore: str) -> set[tuple[str, str]]:
    """Read databases and tables from the metastore's own tables."""
    databases, tables = (spark.read.jdbc(metastore, f"APP.{name}") for name in ("DBS", "TBLS"))
    return {(row.NAME, row.TBL_NAME) for row in tables.join(databases, "DB_ID").collect()}


def _differences(deployment: Deployment, table: str) -> list[str]:
    expected = read_expected(deployment.recording, table)
    rows = read_table(deployment.frame(table), expected.keys, expected.kinds)
    return differences(expected.rows, rows)
