"""Debezium's engine as a process of its own, from PostgreSQL to Kafka, as Avro through the registry."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from ingest.local.ports import LOOPBACK
from ingest.local.servers import Addresses
from ingest.local.topics import connect, create_missing
from tests.live.database import Database

JARS = Path(__file__).parents[2] / "jars" / "live"
MISSING = f"test-live needs Debezium's engine in {JARS}: run `make test-live`"
PREFIX = "live"
SIGNALS = "inv.debezium_signal"
SINK = """\
offset.storage=org.apache.kafka.connect.storage.FileOffsetBackingStore
offset.storage.file.filename={folder}/offsets
offset.flush.interval.ms=500
tombstones.on.delete=true
skipped.operations=none
provide.transaction.metadata=true
heartbeat.interval.ms=1000
status.update.interval.ms=1000
poll.interval.ms=100
signal.data.collection={signals}
signal.enabled.channels=source,kafka
signal.kafka.topic={signal_topic}
signal.kafka.bootstrap.servers={broker}
signal.kafka.groupId={prefix}-signals
incremental.snapshot.chunk.size=25
notification.enabled.channels=sink
notification.sink.topic.name={prefix}.notifications
field.name.adjustment.mode=avro
schema.name.adjustment.mode=avro
key.converter.schema.registry.url={registry}
value.converter.schema.registry.url={registry}
header.converter.schemas.enable=false
"""
"""The part of the properties that all connectors share."""
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
heartbeat.action.query=select pg_logical_emit_message(true, 'beat', '') from public.beats
"""
BEATS = """
create table if not exists public.beats (beat boolean primary key);
insert into public.beats values (true) on conflict do nothing;
"""
"""While the table has a row, the connector writes to the log every second, and confirms its position."""
WAIT_S = 60.0
POLL_S = 0.2
Process = subprocess.Popen[bytes]


def signal_topic(prefix: str) -> str:
    """Return the topic through which a connector takes signals."""
    return f"{prefix}-signal"


@contextmanager
def stream(
    database: Database,
    servers: Addresses,
    folder: Path,
    prefix: str = PREFIX,
    *,
    wait_s: float = WAIT_S,
    more: str = "",
) -> Iterator[Process]:
    """Run the engine, from where the folder's last one was; it cannot outlive this process.

    `more` are properties of its own.
    A caller may kill what it gets: then the next engine sends once more what this one's offsets do not tell.
    """
    properties = more + (PROPERTIES + SINK).format(
        prefix=prefix, host=LOOPBACK, port=database.port, folder=folder, signals=SIGNALS,
        registry=servers.registry_url, broker=servers.bootstrap_servers, signal_topic=signal_topic(prefix),
    )  # fmt: skip

    database.run(BEATS)
    create_missing(connect(servers.bootstrap_servers), {signal_topic(prefix): 1})

    def is_streaming() -> bool:
        return database.run("select active from pg_replication_slots") == "t\n"

    jars = sorted((JARS / "lib").glob("*.jar"))
    with run_engine(properties, jars, servers, folder, is_streaming, wait_s=wait_s) as process:
        yield process
    _wait_until(database, "select count(*) = 0 from pg_replication_slots where active")


@contextmanager
def run_engine(
    properties: str,
    jars: Sequence[Path],
    servers: Addresses,
    folder: Path,
    is_streaming: Callable[[], bool],
    *,
    partitions: int = 3,
    wait_s: float = WAIT_S,
) -> Iterator[Process]:
    """Run the engine with properties until the end; yield it when it streams."""
    path, log = folder / "engine.properties", folder / "engine.log"
    path.write_text(properties)
    class_path = ":".join(map(str, (JARS / "classes", *jars)))
    command = [
        "java", "-Duser.timezone=UTC", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
        f"-Dpartitions={partitions}", "-cp", class_path, "Engine", str(path), servers.bootstrap_servers,
    ]  # fmt: skip
    with log.open("a") as output:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output)
    try:
        _wait_until_streaming(is_streaming, process, log, wait_s)
        yield process
        assert process.poll() in {None, -signal.SIGKILL}, f"the engine ended by itself: {_end_of(log)}"
    finally:
        process.communicate()


def wait_until_delivered(database: Database, wait_s: float = WAIT_S) -> None:
    """Wait until Kafka has every change committed so far.

    The engine confirms a place of the log only when Kafka has what is before it.  The first message is behind
    the place where its slot begins, which counts as confirmed during a snapshot; the second one gives it
    something to confirm behind the last change.
    """
    message = "select pg_logical_emit_message(true, 'live', 'the end')"
    database.run(message)
    position = database.run("select pg_current_wal_lsn()").strip()
    database.run(message)
    _wait_until(database, f"select confirmed_flush_lsn >= '{position}' from pg_replication_slots", wait_s)


def read_values(servers: Addresses, topic: str) -> tuple[bytes, ...]:
    """Read a whole topic."""
    consumer = Consumer({"bootstrap.servers": servers.bootstrap_servers, "group.id": "live"})
    try:
        partitions = consumer.list_topics(topic).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        messages = consumer.consume(10_000, timeout=1)
        return tuple(message.value() or b"" for message in messages)
    finally:
        consumer.close()


def _wait_until_streaming(
    is_streaming: Callable[[], bool], process: Process, log: Path, wait_s: float
) -> None:
    """Wait until the engine reads the log of changes: what is signalled before that is never seen."""
    end = time.monotonic() + wait_s
    while not is_streaming():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the engine does not stream: {_end_of(log)}")
        time.sleep(POLL_S)


def _wait_until(database: Database, query: str, wait_s: float = WAIT_S) -> None:
    end = time.monotonic() + wait_s
    while database.run(query) != "t\n":
        assert time.monotonic() < end, f"not so after {wait_s:.0f} s: {query}"
        time.sleep(POLL_S)


def _end_of(log: Path) -> str:
    return log.read_text()[-3000:]
