"""A YARN cluster as a process, from Hadoop's own test artifact, and jobs that are submitted to it."""

import os
import re
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs
import pyspark

from ingest.spark.jdk import find_java
from tests.places.hdfs import JARS

PROGRAM: Final = Path(__file__).parent / "Yarn.java"
ROOT: Final = Path(__file__).parents[2]
SPARK: Final = Path(pyspark.__file__).parent
ENVIRONMENT: Final = ROOT / "build" / "cluster" / "environment"
"""A virtual environment with the dependencies of a driver but pyspark, which the cluster's Spark brings."""
JAXB: Final = ("jakarta.xml.bind-api", "jaxb-runtime", "istack-commons-runtime", "activation")
"""Spark's jars of a part of Java 8 that YARN's web pages need, and Java 17 has not."""
LIGHT: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SUBMIT_S: Final = 300


@attrs.frozen
class Yarn:
    """A running cluster of one node, its HDFS, and the folder of its clients' settings."""

    root: Path
    hdfs: str
    conf: Path

    def texts(self) -> dict[str, str]:
        """Read the files that the node keeps of its containers: scripts and logs."""
        files = [path for path in self.root.rglob("*") if path.is_file() and "container_" in str(path)]
        return {
            str(path): path.read_bytes().decode("latin-1")
            for path in files
            if path.suffix in ("", ".sh") or path.name in ("stdout", "stderr")
        }


@contextmanager
def running_yarn(root: Path) -> Iterator[Yarn]:
    """Start HDFS and YARN on loopback."""
    conf = root / "conf"
    conf.mkdir(parents=True)
    command = [
        find_java().program, "-XX:TieredStopAtLevel=1", "-Xmx768m",
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
        "-cp", ":".join([f"{JARS}/*", *(f"{jar}" for name in JAXB for jar in SPARK.glob(f"jars/{name}-*"))]),
        str(PROGRAM), str(root / "hdfs"), str(conf),
    ]  # fmt: skip
    log = root / "yarn.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=root
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            lines = iter(process.stdout.readline, "")
            active = next((line for line in lines if line.startswith("active ")), None)
            assert active, log.read_text()[-4000:]
            yield Yarn(root, active.split()[1], conf)
        finally:
            process.stdin.close()
            process.wait(60)


def pack(folder: Path, archive: Path) -> Path:
    """Pack the content of a folder."""
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        packed.add(folder, ".")
    return archive


def environment_with_ingest(folder: Path) -> Path:
    """Copy the environment, install this tree into it, and pack it; the archive lies next to the copy."""
    shutil.copytree(ENVIRONMENT, folder, symlinks=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    shutil.copytree(ROOT / "ingest", packages / "ingest", ignore=shutil.ignore_patterns("__pycache__"))
    return pack(folder, folder.with_suffix(".tar.gz"))


@attrs.frozen
class Submitted:
    """The end of a `spark-submit`."""

    code: int
    output: str

    @property
    def diagnostics(self) -> str:
        """Return the last diagnostics that YARN reported."""
        found = re.findall(r"diagnostics: (.+)", self.output)
        return found[-1] if found else ""


def submit(
    yarn: Yarn,
    options: Sequence[str],
    conf: Mapping[str, str],
    job: Sequence[str],
    variables: Mapping[str, str],
) -> Submitted:
    """Run `spark-submit` as a user does, and wait for its end."""
    settings = {
        "spark.yarn.jars": f"local:{SPARK}/jars/*,{yarn.hdfs}/apps/ingest/*.jar",
        "spark.driver.memory": "768m", "spark.executor.memory": "512m", "spark.executor.instances": "1",
        "spark.driver.extraJavaOptions": LIGHT, "spark.executor.extraJavaOptions": LIGHT,
        "spark.yarn.am.memory": "384m", "spark.yarn.maxAppAttempts": "1", "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2", "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        **conf,
    }  # fmt: skip
    command = [
        str(SPARK / "bin" / "spark-submit"), "--master", "yarn", *options,
        *(part for key, value in settings.items() for part in ("--conf", f"{key}={value}")), *job,
    ]  # fmt: skip
    inherited = {key: text for key, text in os.environ.items() if not key.startswith(("INGEST_", "PYSPARK_"))}
    environment = inherited | {
        "SPARK_HOME": str(SPARK), "HADOOP_CONF_DIR": str(yarn.conf), "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": LIGHT, **variables,
    }  # fmt: skip
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        timeout=SUBMIT_S, cwd=yarn.root,
    )  # fmt: skip
    return Submitted(done.returncode, done.stdout + done.stderr)


@contextmanager
def command_lines() -> Iterator[set[str]]:
    """Collect the command lines of all processes of this machine meanwhile, as `ps` shows them."""
    seen, over = set[str](), threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            for process in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    seen.add(process.read_bytes().replace(b"\0", b" ").decode("latin-1"))
                except OSError:
                    continue

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()
