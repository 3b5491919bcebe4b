"""Debezium's engine as a process of its own, from PostgreSQL to Kafka, as Avro through the registry."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ingest.local.ports import LOOPBACK
from ingest.local.servers import Addresses
from tests.live.database import Database

JARS = Path(__file__).parents[2] / "jars" / "live"
MISSING = f"test-live needs Debezium's engine in {JARS}: run `make test-live`"
PREFIX = "live"
SIGNALS = "inv.debezium_signal"
PROPERTIES = """\
name=live
connector.class=io.debezium.connector.postgresql.PostgresConnector
topic.prefix={prefix}
database.hostname={host}
database.port={port}
database.user=postgres
database.password=unused
database.dbname=postgres
plugin.name=pgoutput
slot.name=live
publication.name=live
publication.autocreate.mode=all_tables
schema.include.list=inv
message.key.columns=inv.nopk:k1,k2
offset.storage=org.apache.kafka.connect.storage.FileOffsetBackingStore
offset.storage.file.filename={folder}/offsets
offset.flush.interval.ms=500
tombstones.on.delete=true
skipped.operations=none
provide.transaction.metadata=true
heartbeat.interval.ms=1000
poll.interval.ms=100
signal.data.collection={signals}
incremental.snapshot.chunk.size=25
notification.enabled.channels=sink
notification.sink.topic.name={prefix}.notifications
field.name.adjustment.mode=avro
schema.name.adjustment.mode=avro
key.converter.schema.registry.url={registry}
value.converter.schema.registry.url={registry}
header.converter.schemas.enable=false
"""
WAIT_S = 60.0
POLL_S = 0.2


@contextmanager
def stream(database: Database, servers: Addresses, folder: Path) -> Iterator[None]:
    """Run the engine; it ends with its standard input, so it cannot outlive this process."""
    properties, log = folder / "engine.properties", folder / "engine.log"
    properties.write_text(
        PROPERTIES.format(
            prefix=PREFIX, host=LOOPBACK, port=database.port, folder=folder, signals=SIGNALS,
            registry=servers.registry_url,
        )
    )  # fmt: skip
    command = [
        "java", "-Duser.timezone=UTC", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
        "-cp", f"{JARS}/classes:{JARS}/lib/*", "Engine", str(properties), servers.bootstrap_servers,
    ]  # fmt: skip
    with log.open("w") as output:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output)
    try:
        wait_until_streaming(database, process, log)
        yield
        assert process.poll() is None, f"the engine ended by itself: see {log}"
    finally:
        process.communicate()


def wait_until_streaming(database: Database, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the engine reads the slot: what is signalled before that is never seen."""
    end = time.monotonic() + WAIT_S
    while database.run("select active from pg_replication_slots") != "t\n":
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the engine does not stream: {log.read_text()[-3000:]}")
        time.sleep(POLL_S)


def wait_until_delivered(database: Database) -> None:
    """Wait until Kafka has every change committed so far.

    The engine confirms a place of the log only when Kafka has what is before it; the message gives it
    something to confirm behind the last change.
    """
    place = database.run("select pg_current_wal_lsn()").strip()
    database.run("select pg_logical_emit_message(true, 'live', 'the end')")
    end = time.monotonic() + WAIT_S
    behind = f"select count(*) from pg_replication_slots where confirmed_flush_lsn < '{place}'"
    while database.run(behind) != "0\n":
        assert time.monotonic() < end, f"the engine has not delivered {place}"
        time.sleep(POLL_S)
