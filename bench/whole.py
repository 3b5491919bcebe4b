"""Whole runs over the real local servers."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from events import KEY_SCHEMA, TOPIC, messages, value_schema
from partial import MONGODB, POSTGRES, Stream
from pyspark.sql import DataFrame

from ingest import Session
from ingest.compile.evolve import evolve
from ingest.compile.table import compile_table
from ingest.decode.events import decode_events
from ingest.hudi.table import HudiTable
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.kafka.ranges import plan_ranges
from ingest.kafka.read import read
from ingest.kafka.watermarks import fetch_watermarks
from ingest.local.servers import Addresses, down, up
from ingest.local.topics import create_topics
from ingest.masking import Masking
from ingest.order.changes import Changes, Stored
from ingest.order.latest import latest_by_key
from ingest.order.models import count_batch, model_of
from ingest.run.batch.schemas import fetch_written
from ingest.run.batch.start import consumed
from ingest.tables import TableConfig, feeds

ROUNDS = 9
WARMING = 3
"""Rounds that do not count: a JVM is several times as slow before it has compiled what it runs."""
PARTITIONS = 2


def rows_against_upsert() -> float:
    """Return upsert time / run time for 200,000 events of 31 columns, each a row of its own."""
    return _run_against_upsert(lambda root: produce(root, [TOPIC], events=200_000, keys=200_000, columns=31))


def changes_against_upsert() -> float:
    """Return the same for changes of 60,000 keys: the upsert's rows are a quarter of the events."""
    return _run_against_upsert(lambda root: produce(root, [TOPIC], events=200_000, keys=60_000, columns=31))


def postgres_against_upsert() -> float:
    """Return the same for 100,000 changes of PostgreSQL, most of them without their large value."""
    return _run_against_upsert(lambda root: _produce_stream(root, POSTGRES, events=100_000, keys=20_000))


def mongodb_against_upsert() -> float:
    """Return the same for 100,000 changes of MongoDB, most of them update descriptions."""
    return _run_against_upsert(lambda root: _produce_stream(root, MONGODB, events=100_000, keys=20_000))


def _run_against_upsert(produce: Callable[[Path], None]) -> float:
    """Compare the medians of both."""
    with settings_folder() as root:
        produce(root)
        with Session.open(root / "ingest.toml") as session:
            session.onboard(["bench.*"])
            (table,) = session.tables()
            rows, key_names = _settled(session, table)
            times = [_round(session, table, rows, key_names, root / f"round-{n}") for n in range(ROUNDS)]
    runs, upserts = zip(*times[WARMING:], strict=True)
    return median(upserts) / median(runs)


def idle_seconds() -> float:
    """Return the seconds of a run that finds nothing new in 50 tables."""
    topics = [f"{TOPIC}{number}" for number in range(50)]
    with settings_folder() as root:
        produce(root, topics, events=5, keys=5, columns=4)
        with Session.open(root / "ingest.toml") as session:
            session.onboard(["bench.*"])
            assert session.run().exit_code == 0
            started = time.perf_counter()
            report = session.run()
            assert {table.outcome for table in report.tables} == {"idle"}
            return time.perf_counter() - started


def million_events() -> float:
    """Return 1 if a run of 1,000,000 events of 11 columns commits in a JVM with a 2 GiB heap."""
    with settings_folder() as root:
        produce(root, [TOPIC], events=1_000_000, keys=400_000, columns=11)
        ingest = [sys.executable, "-m", "ingest"]
        subprocess.run([*ingest, "onboard", "bench.*"], cwd=root, check=True, stdout=subprocess.DEVNULL)
        report = root / "report.json"
        code = subprocess.run([*ingest, "run", "--report", str(report)], cwd=root, check=False).returncode
        print(json.loads(report.read_text())["tables"][0], flush=True)
        return float(code == 0)


def help_seconds() -> float:
    """Return the seconds of `ingest --help`, the best of five."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "ingest", "--help"], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
    return min(times)


# --- the parts ---------------------------------------------------------------------------------


@contextmanager
def settings_folder() -> Iterator[Path]:
    """Give a folder with settings for servers that run as long as it is open."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        root = Path(folder)
        try:
            addresses = up(root / "servers")
            (root / "ingest.toml").write_text(_settings(addresses))
            (root / "addresses.json").write_text(
                json.dumps([addresses.bootstrap_servers, addresses.registry_url])
            )
            yield root
        finally:
            down(root / "servers")


def _settings(addresses: Addresses) -> str:
    return (
        f'[registry]\nurl = "{addresses.registry_url}"\n'
        f'[kafka]\nbootstrap_servers = "{addresses.bootstrap_servers}"\n'
        '[spark]\nmaster = "local[2]"\n[spark.conf]\n"spark.driver.memory" = "2g"\n'
        # Rounds in one session, as under --follow: with the optimising compiler, which a short run is spared.
        '"spark.driver.extraJavaOptions" = "-XX:+TieredCompilation"\n'
    )


def produce(root: Path, topics: list[str], *, events: int, keys: int, columns: int) -> None:
    """Register a key and a value schema for each topic, and produce the same events to all."""
    for topic in topics:
        key_id, value_id = create_topic(root, topic, KEY_SCHEMA, value_schema(columns))
    send(root, topics, messages(events, keys, columns, key_id, (value_id,)))


def _produce_stream(root: Path, stream: Stream, *, events: int, keys: int) -> None:
    """Register the schemas of a stream, and produce its messages."""
    key_id, value_id = create_topic(root, stream.topic, stream.key_schema(), stream.value_schema())
    send(root, [stream.topic], stream.messages(events, keys, key_id, value_id))


def create_topic(
    root: Path, topic: str, key: Any, value: Any, partitions: int = PARTITIONS
) -> tuple[int, int]:
    """Create a topic; return the ids of its key's and value's schema."""
    brokers, registry = json.loads((root / "addresses.json").read_text())
    admin = AdminClient({"bootstrap.servers": brokers})
    create_topics(admin, [NewTopic(topic, partitions, 1)])
    client = SchemaRegistryClient({"url": registry})
    key_id = client.register_schema(f"{topic}-key", Schema(json.dumps(key), "AVRO"))
    return key_id, client.register_schema(f"{topic}-value", Schema(json.dumps(value), "AVRO"))


def send(
    root: Path,
    topics: list[str],
    events: Iterable[tuple[bytes, bytes]],
    partition_of: Callable[[bytes], int] = lambda _: -1,
    **properties: str,
) -> None:
    """Produce the same keys and values to each topic, by default to partitions that the client chooses.

    `properties` are further ones of the client, with `_` for each dot.
    """
    brokers, _ = json.loads((root / "addresses.json").read_text())
    producer = Producer(
        {
            "bootstrap.servers": brokers,
            "linger.ms": 50,
            "queue.buffering.max.messages": 200_000,
            "message.max.bytes": 8_000_000,
            **{name.replace("_", "."): value for name, value in properties.items()},
        }
    )
    for key, value_bytes in events:
        for topic in topics:
            while True:
                try:
                    producer.produce(topic, key=key, value=value_bytes, partition=partition_of(key))
                    break
                except BufferError:
                    producer.poll(0.2)
        producer.poll(0)
    producer.flush()


def _settled(session: Session, table: TableConfig) -> tuple[DataFrame, list[str]]:
    """Give the rows that a run would write, already decoded and folded, held in memory."""
    kafka = session.settings.kafka
    marks = fetch_watermarks(kafka, [table.topic]).of(table.topic)
    feed = feeds(table, Masking())[0]
    ranges = plan_ranges(feed.topic, consumed(feed, None), marks)
    keys, values = fetch_written(session.settings, session.registry, feed, {}, {})
    compiled = compile_table(feed, keys, values)
    frame = read(session.spark, ranges, kafka, min_partitions=2)
    latest = latest_by_key(decode_events(frame, compiled), compiled)
    counts = count_batch(latest, compiled)
    changes = Changes(latest, compiled, evolve(compiled, counts.schema_ids, None), counts)
    rows = model_of(compiled).rows(changes, Stored(), None).persist()
    rows.count()
    return rows, [name for name, _ in compiled.key_columns]


def _round(
    session: Session, table: TableConfig, rows: DataFrame, keys: list[str], lake: Path
) -> tuple[float, float]:
    """Time a run into a new lake, then an upsert of its rows into another new table."""
    (lake.parent / "round.toml").write_text(
        (lake.parent / "ingest.toml").read_text() + f'[lake]\npath = "{lake}"\n'
    )
    fresh = Session.open(lake.parent / "round.toml", tables=session.settings.tables_dir, spark=session.spark)
    started = time.perf_counter()
    report = fresh.run()
    run_s = time.perf_counter() - started
    assert report.exit_code == 0
    started = time.perf_counter()
    entry = LedgerEntry("bench", table.topic, {}, {})
    HudiTable(rows.sparkSession, str(lake / "upserted")).commit(rows, table, keys, "load", entry)
    upsert_s = time.perf_counter() - started
    print(f"  run {run_s:.1f} s, upsert {upsert_s:.1f} s", flush=True)
    return run_s, upsert_s
