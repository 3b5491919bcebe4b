"""A server of MongoDB's protocol, in memory: mongo-java-server, since no package brings MongoDB's own."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ingest.local.ports import LOOPBACK, choose_port
from tests.live.engine import JARS

SERVER = JARS.with_name("mongodb")
MISSING = f"test-live needs mongo-java-server in {SERVER}: run `make test-live`"
SOURCE = Path(__file__).with_name("MongoServer.java")


@contextmanager
def serve() -> Iterator[int]:
    """Serve on a port of loopback; the server does not outlive this process."""
    port = choose_port()
    command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{SERVER}/*", str(SOURCE), str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        assert any(line == "up\n" for line in lines), f"no server on {LOOPBACK}:{port}"
        yield port
        process.stdin.close()
