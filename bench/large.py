"""Large runs into large tables: `python bench/large.py [KIND [EVENTS…]]`, `mor` or `cow`.

By default 1,000,000 and 5,000,000 events into merge-on-read tables.  A table has 40 columns and five rows for
two events.  The rows come from Parquet by `ingest load`.  The events are updates of keys at random, with both
images.  Each command is a process with a heap of 2 GiB: its CPU and wall seconds, its peak memory, and the
most bytes that it held in Spark's local folder.
"""

import os
import random
import sys
import threading
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import Any, Final

import fastavro
from events import KEY_SCHEMA, framed, physical, source, value_schema
from scattered import ROWS_PER_BUCKET, lay_out, measured
from side_by_side import run
from whole import create_topic, send, settings_folder

from ingest.jars.artifacts import spark_jars
from ingest.spark.session import start_session

COLUMNS: Final = 40
ROWS_PER_EVENT: Final = 2.5
IMAGES: Final = 5_000
"""The images that events take turns in, so that making them costs less than reading them."""
POLL_S: Final = 2
_TEXT: Final = "concat('text ', cast(pmod(hash(id, {n}), 100000) as string), ' of column {n}')"
EXPRESSIONS: Final = (
    _TEXT,
    "0",
    _TEXT,
    "cast(pmod(hash(id, {n}), 1000000) as bigint)",
    "cast(pmod(hash(id, {n}), 1000000) as decimal(18,2))",
    _TEXT,
    "true",
)
"""Columns in turn, of the types that the events have.  The integers are 0 until an update sets them."""


def envelope() -> dict[str, Any]:
    """Return the schema of the events: `id`, and columns of seven types in turn."""
    schema = value_schema(COLUMNS)
    fields = schema["fields"][0]["type"][1]["fields"]
    for number, field in enumerate(fields[1:]):
        field["type"] = fields[1 + number % len(EXPRESSIONS)]["type"]
    return schema


def export(path: Path, rows: int) -> None:
    """Write the rows of the source as Parquet."""
    spark = start_session("export", "local[2]", {"spark.driver.memory": "2g"}, spark_jars())
    texts = [EXPRESSIONS[n % len(EXPRESSIONS)].format(n=n) for n in range(COLUMNS - 1)]
    columns = [f"{text} as c{n}" for n, text in enumerate(texts)]
    spark.range(0, rows, numPartitions=8).selectExpr("id", *columns).write.parquet(str(path))
    spark.stop()


class Events:
    """The events of a table, and what its rows must add up to after them."""

    def __init__(self, rows: int, count: int) -> None:
        """Take the number of rows and of events."""
        self.count = count
        self.last = array("i", [0]) * rows
        """The last value of `c1` of each key."""

    def messages(self, key_id: int, value_id: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield updates.  Avro's records are their fields one after the other, so images are made once."""
        rng, rows = random.Random(1), len(self.last)  # noqa: S311  data, no secret
        schema = physical(envelope())
        images = [self._image(rng, schema) for _ in range(IMAGES)]
        rest = fastavro.parse_schema({**schema, "name": "Rest", "fields": schema["fields"][2:]})
        for number in range(self.count):
            key, (c1, image) = rng.randrange(rows), images[number % IMAGES]
            self.last[key] = c1
            head = framed(key_id, KEY_SCHEMA, {"id": key})
            row = b"\2" + head[5:] + image
            event = framed(value_id, rest, {"source": source(number), "op": "u", "ts_ms": number})
            yield head, event[:5] + row + row + event[5:]

    def _image(self, rng: random.Random, schema: dict[str, Any]) -> tuple[int, bytes]:
        row = schema["fields"][0]["type"][1]
        values = {field["name"]: _value(rng, n) for n, field in enumerate(row["fields"][1:])}
        tail = fastavro.parse_schema({**row, "name": "Tail", "fields": row["fields"][1:]})
        return int(values["c1"]), framed(0, tail, values)[5:]

    def check(self, lake: Path, table: str) -> None:
        """Compare the number of rows and the sum of `c1` with the table's."""
        spark = start_session("check", "local[2]", {"spark.driver.memory": "2g"}, spark_jars())
        found = spark.read.format("hudi").load(str(lake / table)).selectExpr("count(1)", "sum(c1)").first()
        spark.stop()
        assert found is not None
        assert tuple(found) == (len(self.last), sum(self.last)), (found, len(self.last), sum(self.last))


def _value(rng: random.Random, n: int) -> Any:
    match n % len(EXPRESSIONS):
        case 1 | 3:
            return rng.randrange(1, 1_000_000)
        case 4:
            return rng.randrange(10**10).to_bytes(8, "big")
        case 6:
            return rng.random() < 0.5
        case _:
            return f"text {rng.randrange(100_000)} of column {n}"


@contextmanager
def watched(folder: Path) -> Iterator[list[int]]:
    """Give the bytes in a folder, every two seconds."""
    ended, sizes = threading.Event(), [0]

    def watch() -> None:
        while not ended.wait(POLL_S):
            sizes.append(_bytes_in(folder))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield sizes
    finally:
        ended.set()
        thread.join()


def _bytes_in(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(root) / name).stat().st_size
            except FileNotFoundError:
                continue
    return total


def main(kind: str, sizes: list[int]) -> None:
    """Measure each size, and print its lines."""
    with settings_folder() as root:
        settings, local = root / "ingest.toml", root / "spark"
        plain = settings.read_text().replace("-XX:+TieredCompilation", "")
        settings.write_text(plain + f'"spark.local.dir" = "{local}"\n')
        print(
            f"| events | work | CPU s | wall s | CPU µs | peak MB | local MB |\n|{' --- |' * 7}", flush=True
        )
        for count in sizes:
            measure(root, local, kind, count)


def measure(root: Path, local: Path, kind: str, count: int) -> None:
    """Load the rows of a table and run over its events."""
    rows, topic = int(count * ROWS_PER_EVENT), f"bench.db.dbo.large{count}"
    table, folder, lake = topic.replace(".", "_"), root / f"tables-{count}", root / "lake"
    ids = create_topic(root, topic, KEY_SCHEMA, envelope(), partitions=4)
    exported = root / f"export-{count}"
    export(exported, rows)
    run([sys.executable, "-m", "ingest", "onboard", topic, "--tables", folder], cwd=root)
    lay_out(folder / f"{table}.toml", {"buckets": max(2, rows // ROWS_PER_BUCKET), "type": kind})
    options = ["--tables", folder, "--lake", lake]
    position = ["--position", "00000000:00000000:0001"]
    load = ["load", table, "--from", "parquet", exported, *position, *options]
    show(root, local, "load", rows, load)
    rmtree(exported)
    events = Events(rows, count)
    send(root, [topic], events.messages(*ids), compression_type="lz4")
    show(root, local, "run", count, ["run", table, *options])
    events.check(lake, table)


def show(root: Path, local: Path, work: str, count: int, command: list[object]) -> None:
    """Run a command, and print its figures."""
    with watched(local) as sizes:
        found = measured(root, f"{work}-{count}", command)
    cells = [found["cpu_s"], found["wall_s"], round(found["cpu_s"] / count * 1e6), found["max_rss_mb"]]
    print(f"| {count:,} | {work} | {' | '.join(map(str, cells))} | {max(sizes) // 1_000_000:,} |", flush=True)


if __name__ == "__main__":
    names = sys.argv[1:] or ["mor"]
    main(names[0], [int(text) for text in names[1:]] or [1_000_000, 5_000_000])
