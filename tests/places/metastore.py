"""Hive's metastore as a process, from the jars of pyspark."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark

from ingest.local.ports import choose_port
from tests.places.process import running
from tests.places.s3 import S3, S3_JARS

JARS: Final = Path(pyspark.__file__).parent / "jars"
PROGRAM: Final = Path(__file__).parent / "Metastore.java"
LOG: Final = """rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
"""


@contextmanager
def running_metastore(folder: Path, s3: S3) -> Iterator[str]:
    """Start a metastore on loopback, whose database is Derby's, and which knows S3; yield its address."""
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
    properties = "".join(
        f"<property><name>{key.removeprefix('spark.hadoop.')}</name><value>{value}</value></property>"
        for key, value in s3.spark_conf().items()
    )
    (folder / "core-site.xml").write_text(f"<configuration>{properties}</configuration>")
    options = [f"-D{key}={value}" for key, value in conf.items()]
    command = [
        "java", "-Xmx256m", f"-Dlog4j2.configurationFile={settings}", *options,
        "-cp", ":".join(map(str, (folder, f"{JARS}/*", *S3_JARS))), str(PROGRAM), "-p", str(port),
    ]  # fmt: skip
    with running(command, folder / "metastore.log", lambda: _answers(port)):
        yield f"thrift://127.0.0.1:{port}"


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
