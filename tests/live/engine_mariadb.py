"""Debezium's engine from MariaDB to Kafka: the connector is of Maven Central, the rest of `engine`."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

from ingest.local.ports import LOOPBACK
from ingest.local.servers import Addresses
from ingest.local.topics import connect, create_missing
from tests.live.engine import JARS, POLL_S, SINK, WAIT_S, Process, read_values, run_engine, signal_topic
from tests.live.mariadb import PASSWORD, USER, MariaDb

CONNECTOR = JARS.with_name("mariadb")
MISSING = f"test-live needs Debezium's connector for MariaDB in {CONNECTOR}: run `make test-live`"
PREFIX = "maria"
SIGNALS = "inv.debezium_signal"
OWN = ("debezium-", "connect-", "kafka-clients-")
"""Jars that the connector has in versions of its own."""
DUMPING = "command like 'Binlog Dump%'"
"""Connections that read the binlog."""
MARKS = f"{PREFIX}.inv.marks"
NOTIFICATIONS = f"{PREFIX}.notifications"
PROPERTIES = """\
name=maria
bootstrap.servers=unused:1
connector.class=io.debezium.connector.mariadb.MariaDbConnector
topic.prefix={prefix}
database.hostname={host}
database.port={port}
database.user={user}
database.password={password}
database.ssl.mode=disable
database.server.id=4711
database.include.list=inv
message.key.columns=inv.nopk:k1,k2
bigint.unsigned.handling.mode=precise
driver.yearIsDateType=false
enable.time.adjuster=false
schema.history.internal=io.debezium.storage.file.history.FileSchemaHistory
schema.history.internal.file.filename={folder}/history
"""


def driver() -> Path:
    """Return the jar of the JDBC driver."""
    (jar,) = CONNECTOR.glob("mariadb-java-client-*.jar")
    return jar


@contextmanager
def stream(
    database: MariaDb, servers: Addresses, folder: Path, prefix: str = PREFIX, partitions: int = 3
) -> Iterator[Process]:
    """Run the engine, from where the folder's last one was; it cannot outlive this process."""
    properties = (PROPERTIES + SINK).format(
        prefix=prefix, host=LOOPBACK, port=database.port, user=USER, password=PASSWORD, folder=folder,
        signals=SIGNALS, registry=servers.registry_url, broker=servers.bootstrap_servers,
        signal_topic=signal_topic(prefix),
    )  # fmt: skip
    create_missing(connect(servers.bootstrap_servers), {signal_topic(prefix): 1})
    # Debezium and Kafka Connect in one version each: those that the connector is built with.
    shared = [jar for jar in sorted((JARS / "lib").glob("*.jar")) if not jar.name.startswith(OWN)]
    jars = [*sorted(CONNECTOR.glob("*.jar")), *shared]
    streaming = partial(_is_streaming, database)
    with run_engine(properties, jars, servers, folder, streaming, partitions=partitions) as process:
        yield process
    # MariaDB would notice only when it sends the next event.
    for (connection,) in database.rows(f"select id from information_schema.processlist where {DUMPING}"):
        database.run(f"kill {connection}")


def wait_until_delivered(database: MariaDb, servers: Addresses, marks: str = MARKS) -> None:
    """Wait until Kafka has every change committed so far: until a row inserted now is there."""
    mark = str(uuid4())
    database.run(f"insert into inv.marks values ('{mark}')")
    end = time.monotonic() + WAIT_S
    while not any(mark.encode() in value for value in read_values(servers, marks)):
        assert time.monotonic() < end, f"the connector did not deliver {mark}"
        time.sleep(POLL_S)


def _is_streaming(database: MariaDb) -> bool:
    return database.rows(f"select count(*) from information_schema.processlist where {DUMPING}") != [["0"]]
