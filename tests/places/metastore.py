"""Hive's metastore as a process, from the jars of pyspark."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark

from ingest.local.ports import choose_port

JARS: Final = Path(pyspark.__file__).parent / "jars"
START_S: Final = 120
LOG: Final = """rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
"""


@contextmanager
def running_metastore(folder: Path) -> Iterator[str]:
    """Start a metastore on loopback, whose database is Derby's; yield its address."""
    port = choose_port()
    settings = folder / "log4j2.properties"
    settings.write_text(LOG)
    conf = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder / 'derby'};create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"file://{folder / 'warehouse'}",
        "hive.async.log.enabled": "false",  # by a library that Spark does not have
    }
    command = [
        "java", "-Xmx256m", f"-Dlog4j2.configurationFile={settings}", "-cp", f"{JARS}/*",
        "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port),
        *(word for key, value in conf.items() for word in ("--hiveconf", f"{key}={value}")),
    ]  # fmt: skip
    log = folder / "metastore.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(command, cwd=folder, stdout=output, stderr=output) as process,
    ):
        try:
            until = time.monotonic() + START_S
            while not _answers(port):
                assert process.poll() is None, log.read_text()[-4000:]
                assert time.monotonic() < until, log.read_text()[-4000:]
                time.sleep(0.5)
            yield f"thrift://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(60)


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
