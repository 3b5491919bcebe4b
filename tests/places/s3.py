"""A real S3 server as a process: Adobe's S3Mock, with its state in a folder."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

import attrs
from pyarrow import fs

from ingest.local.ports import choose_port
from ingest.spark.jdk import find_java
from tests.places.process import running

JARS: Final = Path(__file__).parents[2] / "jars" / "places"
S3_JARS: Final = (*JARS.glob("hadoop-aws-*.jar"), *JARS.glob("aws-java-sdk-bundle-*.jar"))
"""Hadoop's client."""
MISSING: Final = "jars/places is missing: run `make test-places`"
KEY: Final = "places"


@attrs.frozen
class S3:
    """A bucket of a running server; `is_one_of_many` gives it settings of its own."""

    port: int
    bucket: str = "lake"
    is_one_of_many: bool = False
    more: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def endpoint(self) -> str:
        """Return the address."""
        return f"http://127.0.0.1:{self.port}"

    def spark_conf(self) -> dict[str, str]:
        """Return the settings of a deployment, as a user writes them."""
        scope = f"spark.hadoop.fs.s3a.bucket.{self.bucket}" if self.is_one_of_many else "spark.hadoop.fs.s3a"
        return {
            f"{scope}.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": KEY,
            "spark.hadoop.fs.s3a.secret.key": KEY,
            **self.more,
        }

    def client(self) -> fs.S3FileSystem:
        """Return a client that may do everything."""
        return fs.S3FileSystem(
            access_key=KEY, secret_key=KEY, region="us-east-1",
            endpoint_override=self.endpoint, allow_bucket_creation=True,
        )  # fmt: skip

    @property
    def lake(self) -> str:
        """Return the root of the tables."""
        return f"s3a://{self.bucket}/bronze"


@contextmanager
def running_s3(folder: Path) -> Iterator[S3]:
    """Start a server on loopback with an empty bucket; it ends with the context."""
    http = choose_port()
    https, server = choose_port(frozenset({http})), S3(http)
    (jar,) = JARS.glob("s3mock-*-exec.jar")
    options = {
        "com.adobe.testing.s3mock.http-port": http,
        "server.port": https,
        "server.address": "127.0.0.1",
        "com.adobe.testing.s3mock.store.root": folder,
        "com.adobe.testing.s3mock.store.retain-files-on-exit": "true",
    }
    command = [find_java().program, "-XX:TieredStopAtLevel=1", "-Xmx512m", "-jar", str(jar)]
    arguments = [f"--{key}={value}" for key, value in options.items()]
    with running([*command, *arguments], folder.with_suffix(".log"), lambda: _answers(server)):
        server.client().create_dir(server.bucket)
        yield server


def _answers(server: S3) -> bool:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=5)
    try:
        connection.request("GET", "/")
        connection.getresponse()
    except OSError:
        return False
    finally:
        connection.close()
    return True
