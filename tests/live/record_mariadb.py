"""Records MariaDB's stream as a fixture folder: `python -m tests.live.record_mariadb FOLDER BROKER REGISTRY`.

The broker and the registry (`ingest local up`) should be empty; `make golden` then writes the golden files.
"""

import base64
import gzip
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
from confluent_kafka import Consumer, Message, TopicPartition

from ingest.local.servers import Addresses
from ingest.local.topics import connect
from tests.live.engine_mariadb import SIGNALS, stream, wait_until_delivered
from tests.live.mariadb import MariaDb, serve
from tests.live.scenario_mariadb import COPY_ALL_TYPES, LAST, NEW_COLUMNS, SIGNAL, TRUNCATE, WIDER
from tests.live.source_mariadb import KEYS, START, TABLES, read_columns, read_texts, source_name
from tests.live.writer import CompiledWriter
from tests.live.writer_mariadb import STATEMENTS

PREFIX = "mys"
WAIT_S = 60.0
PHASES = [
    "initial snapshot",
    "every type once more, streamed: inserted, updated, deleted; random small transactions, rolled back too",
    "the connector killed and started again: events sent twice",
    "DDL: nullable and NOT NULL columns with defaults; a new table; int -> bigint on a value and on a key",
    "truncate, then refill",
    "incremental snapshot of customers and order_lines with a transaction open across it",
    "last burst",
]
DIFFERENCES = [
    {"table": "all_types", "column": "fl", "why": "a snapshot reads six digits of a float"},
    {"table": "all_types", "ids": [5, 15, 25], "why": "zero dates are null"},
    {"table": "order_lines", "column": "channel",
     "why": "rows not changed after ADD COLUMN have no event; the Avro default restores 'web'"},
    {"table": "scratch", "why": "truncate events have a null key: ordered in one partition only"},
]  # fmt: skip


def record(folder: Path, servers: Addresses) -> None:
    """Run the scenario, and write what the topics and the database hold in its end."""
    scratch = Path(tempfile.mkdtemp(prefix="ingest-record-"))
    with serve() as database:
        database.run(START.read_text())
        _stream(database, servers, scratch)
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "expected").mkdir(parents=True)
        for table in TABLES:
            _write_gzip(folder / "expected" / f"{table}.json.gz", json.dumps(_expected(database, table)))
        version = database.rows("select version()")[0][0]
    messages = {topic: list(_read(servers, topic)) for topic in _topics(servers)}
    _write(folder, messages, servers, version)
    shutil.rmtree(scratch)


def _stream(database: MariaDb, servers: Addresses, folder: Path) -> None:
    marks = f"{PREFIX}.inv.marks"
    with stream(database, servers, folder, PREFIX, partitions=1) as engine:
        wait_until_delivered(database, servers, marks)
        database.run(COPY_ALL_TYPES)
        with CompiledWriter(database, 1, STATEMENTS):
            time.sleep(4.0)
            engine.kill()
    with stream(database, servers, folder, PREFIX, partitions=1):
        with CompiledWriter(database, 2, STATEMENTS):
            time.sleep(2.0)
        for change in (NEW_COLUMNS, WIDER, TRUNCATE):
            database.run(change)
        with CompiledWriter(database, 3, STATEMENTS), database.transaction() as opened:
            opened.run("insert into inv.customers (id, first_name) values (95, 'open')")
            opened.run("update inv.order_lines set note = 'open' where order_id = 21")
            database.run(SIGNAL.format(signals=SIGNALS))
            time.sleep(1.0)
        wait_until_delivered(database, servers, marks)
        time.sleep(3.0)  # the incremental snapshot ends
        database.run(LAST)
        wait_until_delivered(database, servers, marks)


def _expected(database: MariaDb, table: str) -> dict[str, Any]:
    columns = [{"name": name, "type": declared} for name, declared in read_columns(database, table)]
    names = {"Weird_Table": ["the key"]}.get(table, list(KEYS.get(table, ("id",))))
    rows = sorted(read_texts(database, table), key=str)
    return {
        "table": f"inv.{source_name(table)}", "topic": f"{PREFIX}.inv.{table}", "primary_key": names,
        "columns": columns, "rows": rows,
    }  # fmt: skip


def _topics(servers: Addresses) -> list[str]:
    names = connect(servers.bootstrap_servers).list_topics(timeout=10).topics
    mine = (PREFIX, f"__debezium-heartbeat.{PREFIX}")
    return sorted(name for name in names if name.startswith(mine))


def _read(servers: Addresses, topic: str) -> Iterator[Message]:
    """Yield the messages of a topic of one partition."""
    consumer = Consumer({"bootstrap.servers": servers.bootstrap_servers, "group.id": "record"})
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
        consumer.assign([TopicPartition(topic, 0, 0)])
        count = 0
        while count < end:
            for message in consumer.consume(end - count, timeout=5):
                count += 1
                yield message
    finally:
        consumer.close()


def _write(folder: Path, messages: Mapping[str, list[Message]], servers: Addresses, version: str) -> None:
    (folder / "messages").mkdir()
    used = set[int]()
    for topic, records in messages.items():
        lines = [json.dumps(_line(message), separators=(",", ":")) for message in records]
        _write_gzip(folder / "messages" / f"{topic}.jsonl.gz", "".join(f"{line}\n" for line in lines))
        payloads = (payload for message in records for payload in (message.key(), message.value()))
        used |= {int.from_bytes(payload[1:5], "big") for payload in payloads if payload}
    schemas = [schema for schema in _schemas(servers) if schema["id"] in used]
    for schema in schemas:
        path = folder / schema["subject"] / f"v{schema['version']}.avsc"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(json.loads(schema.pop("schema")), indent=1, ensure_ascii=False) + "\n")
    topics = [{"name": topic, "partitions": 1, "messages": len(found)} for topic, found in messages.items()]
    origin = {
        "corpus": "mysql",
        "source": f"MariaDB {version.partition('-')[0]} + Debezium 3.5.0.Final (embedded engine), live",
        "wire": "confluent v0 (0x00 + int32 id)",
        "phases": PHASES,
        "expected_text": "cast(column as char) under UTC; bytes by hex(), bits by bin(), float as double",
        "column_names": "Debezium's avro rule: characters outside [A-Za-z0-9_] are _, a leading digit gets _",
    }
    content = {"origin": origin, "known_differences": DIFFERENCES, "topics": topics, "schemas": schemas}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    (folder / "fixture.json").write_text(_one_line_each(text) + "\n")


def _line(message: Message) -> dict[str, Any]:
    headers = [[name, _base64(value)] for name, value in message.headers() or []]
    return {
        "p": message.partition(), "o": message.offset(), "ts": message.timestamp()[1], "h": headers,
        "k": _base64(message.key()), "v": _base64(message.value()),
    }  # fmt: skip


def _schemas(servers: Addresses) -> Iterator[dict[str, Any]]:
    """Yield every version of the subjects."""
    url = servers.registry_url.rstrip("/")
    for subject in sorted(_get(f"{url}/subjects")):
        if subject.startswith((PREFIX, f"__debezium-heartbeat.{PREFIX}")):
            for version in _get(f"{url}/subjects/{subject}/versions"):
                answer = _get(f"{url}/subjects/{subject}/versions/{version}")
                yield {
                    "subject": subject, "version": version, "id": answer["id"], "references": [],
                    "schema": answer["schema"],
                }  # fmt: skip


def _get(url: str) -> Any:
    return httpx2.get(url, timeout=10).raise_for_status().json()


def _base64(payload: bytes | None) -> str | None:
    return None if payload is None else base64.b64encode(payload).decode()


def _write_gzip(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def _one_line_each(text: str) -> str:
    """Write the objects of the lists of topics and schemas on a line each."""
    before, _, lists = text.partition(' "topics": [')
    for name in ("name", "subject"):
        lists = lists.replace(f'{{\n   "{name}"', f'{{ "{name}"')
    return before + ' "topics": [' + lists.replace(",\n   ", ", ").replace("\n  }", " }")


if __name__ == "__main__":
    target, bootstrap_servers, registry_url = sys.argv[1:]
    record(Path(target), Addresses(bootstrap_servers, registry_url))
