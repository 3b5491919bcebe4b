"""Kafka brokers other than the suite's: of another version, or with other contents."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ingest.jars.artifacts import broker_classpath
from ingest.local.broker import broker_problem, prepare_broker
from ingest.local.ports import LOOPBACK, choose_port
from ingest.local.process import Process, lock_data, start_process, stop_processes

_UP_S: Final = 120.0


@contextmanager
def broker_of(
    data: Path, jars: Path | None = None, *, heap: str = "512m", classes: str = "", more: str = ""
) -> Iterator[str]:
    """Run a broker of a folder of jars, by default the suite's; yield its address.

    `classes` are entries of the class path besides these jars, `more` are lines of its settings, in which
    `{plain}` and `{controller}` stand for the addresses of its own listeners.
    """
    process, port = Process("broker", data), choose_port()
    plain = f"{LOOPBACK}:{port}"
    try:
        with lock_data(data) as lock:
            command = prepare_broker(process.folder, port)
            for name in ("format", "server"):
                file = process.folder / f"{name}.properties"
                controller = re.search(r"CONTROLLER://([\d.:]+)", file.read_text())
                assert controller is not None
                file.write_text(
                    file.read_text() + more.replace("{plain}", plain).replace("{controller}", controller[1])
                )
            classpath = f"{broker_classpath()}/*"
            own = ":".join(filter(None, (f"{jars}/*" if jars else classpath, classes)))
            parts = (own if part == classpath else part for part in command)
            start_process(process, tuple(part.replace("-Xmx512m", f"-Xmx{heap}") for part in parts), lock)
        end = time.monotonic() + _UP_S
        while problem := broker_problem(port):
            assert time.monotonic() < end, f"{problem}: {process.log.read_text()[-2000:]}"
            time.sleep(0.1)
        yield plain
    finally:
        stop_processes([process])
