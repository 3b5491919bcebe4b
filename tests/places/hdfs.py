"""HDFS as a process: a name node and a data node, from Hadoop's own test artifact."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ingest.local.ports import choose_port
from ingest.spark.jdk import find_java

JARS: Final = Path(__file__).parents[2] / "jars" / "hdfs"
PROGRAM: Final = Path(__file__).parent / "Hdfs.java"


@contextmanager
def running_hdfs(folder: Path) -> Iterator[str]:
    """Start HDFS on loopback; yield the URI of its root."""
    port = choose_port()
    command = [find_java().program, "-XX:TieredStopAtLevel=1", "-Xmx512m", "-cp", f"{JARS}/*", str(PROGRAM)]
    with (
        folder.with_suffix(".log").open("wb") as log,
        subprocess.Popen(
            [*command, str(folder), str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            text=True,
        ) as process,
    ):  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            lines = iter(process.stdout.readline, "")
            assert any(line == "active\n" for line in lines), folder.with_suffix(".log").read_text()[-2000:]
            yield f"hdfs://127.0.0.1:{port}"
        finally:
            process.stdin.close()
            process.wait(60)
