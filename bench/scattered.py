"""Scattered changes: what 20,000 and 200,000 of them cost in each layout of a table of 20,000,000 rows.

`python bench/scattered.py [ROWS [LAYOUT…]]`.  The rows come from Parquet by `ingest load`.  The changes hit
keys at random, in all 50 partitions.  Each command is a process: its CPU and wall seconds, its peak memory,
and the data files that it adds.
"""

import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import fastavro
from events import framed, physical, source, value_schema
from side_by_side import PEERS, run
from whole import create_topic, send, settings_folder

from ingest.jars.artifacts import spark_jars
from ingest.spark.session import start_session

TOPIC: Final = "bench.db.dbo.scattered"
TABLE: Final = "bench_db_dbo_scattered"
COLUMNS: Final = 8
REGIONS: Final = 50
BATCHES: Final = (20_000, 200_000, 20_000)
"""The first makes the record index."""
KEY: Final = {
    "type": "record", "name": "Key", "namespace": TOPIC, "connect.name": f"{TOPIC}.Key",
    "fields": [{"name": "id", "type": "long"}, {"name": "region", "type": "string"}],
}  # fmt: skip
LAYOUTS: Final[dict[str, dict[str, Any]]] = {
    "no partitions": {},
    "partitions in the key": {"partition_by": ["region"], "buckets": 2},
    "partitions outside the key": {"partition_by": ["zone"], "index": "global_simple"},
    "record index": {"partition_by": ["zone"], "index": "global_record"},
}
ALL: Final = [f"{layout}, {kind}" for layout in LAYOUTS for kind in ("cow", "mor")]
ROWS_PER_BUCKET: Final = 1_000_000
"""As onboarding sizes buckets."""


def envelope() -> dict[str, Any]:
    """Return the schema of the events: the key's columns, `zone`, which equals `region`, and others."""
    schema = value_schema(COLUMNS)
    schema["fields"][0]["type"][1]["fields"][1:1] = [
        {"name": name, "type": "string"} for name in ("region", "zone")
    ]
    return schema


def row(rng: random.Random, key: int) -> dict[str, Any]:
    """Return a row of the key."""
    region = f"r{key % REGIONS:02d}"
    texts = {f"c{n}": f"text {rng.randrange(100_000)}" for n in (0, 2, 5)}
    numbers = {f"c{n}": rng.randrange(1_000_000) for n in (1, 3)}
    return {"id": key, "region": region, "zone": region, **texts, **numbers, "c4": b"\1" * 8, "c6": True}


def changes(count: int, rows: int, key_id: int, value_id: int, seed: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield updates of keys at random.  Those of a larger seed are newer."""
    rng, schema = random.Random(seed), fastavro.parse_schema(physical(envelope()))  # noqa: S311  data, no secret
    for number in range(seed << 20, (seed << 20) + count):
        after = row(rng, rng.randrange(rows))
        event = {"before": after, "after": after, "source": source(number), "op": "u", "ts_ms": number}
        key = {"id": after["id"], "region": after["region"]}
        yield framed(key_id, KEY, key), framed(value_id, schema, event)


def export(path: Path, rows: int) -> None:
    """Write the rows of the source as Parquet."""
    spark = start_session("export", "local[2]", {"spark.driver.memory": "3g"}, spark_jars())
    text = "concat('text ', cast(pmod(hash(id, {n}), 100000) as string)) as c{n}"
    number = "cast(pmod(hash(id, {n}), 1000000) as {type}) as c{n}"
    region = f"format_string('r%02d', id % {REGIONS}) as"
    spark.range(0, rows, numPartitions=8).selectExpr(
        "id", f"{region} region", f"{region} zone",
        text.format(n=0), number.format(n=1, type="int"), text.format(n=2), number.format(n=3, type="bigint"),
        "cast(1 as decimal(18,2)) as c4", text.format(n=5), "true as c6",
    ).write.parquet(str(path))  # fmt: skip
    spark.stop()


def measured(root: Path, label: str, command: list[object]) -> dict[str, float]:
    """Run a command of `ingest` as a process, and return its figures."""
    run([PEERS / "measure.py", label, sys.executable, "-m", "ingest", *command], cwd=root)
    figures: dict[str, float] = json.loads((root / "results.jsonl").read_text().splitlines()[-1])
    assert figures["rc"] == 0, (root / f"{label}.log").read_text()
    return figures


def written(folder: Path) -> tuple[int, int]:
    """Return the number and the bytes of the data files of a table."""
    files = [file for file in folder.rglob("*") if re.search(r"parquet$|log\.\d+_[-\d]+$", file.name)]
    return len(files), sum(file.stat().st_size for file in files)


def main(rows: int, names: list[str]) -> None:
    """Measure each layout, and print a line of each of its runs."""
    with settings_folder() as root:
        settings = root / "ingest.toml"
        settings.write_text(
            settings.read_text().replace("-XX:+TieredCompilation", "").replace('"2g"', '"3g"')
        )
        ids = create_topic(root, TOPIC, KEY, envelope())
        export(root / "export", rows)
        print(f"| layout | work | CPU s | wall s | peak MB | files | MB written |\n|{' --- |' * 7}")
        load = ["load", TABLE, "--from", "parquet", root / "export", "--position", "00000001:00000000:0003"]
        for number, name in enumerate(names):
            folder = root / f"layout-{number}"
            run([sys.executable, "-m", "ingest", "onboard", TOPIC, "--tables", folder], cwd=root)
            layout, _, kind = name.rpartition(", ")
            buckets = max(2, rows // ROWS_PER_BUCKET)
            lay_out(folder / f"{TABLE}.toml", {"buckets": buckets, **LAYOUTS[layout], "type": kind})
            show(root, number, name, "load", load)
        for seed, count in enumerate(BATCHES, start=2):
            send(root, [TOPIC], changes(count, rows, *ids, seed))
            for number, name in enumerate(names):
                show(root, number, name, f"{count:,} changes", ["run", TABLE])


def show(root: Path, number: int, name: str, work: str, command: list[object]) -> None:
    """Run a command on the table of a layout, and print its figures."""
    lake = root / f"lake-{number}"
    files, size = written(lake)
    found = measured(root, f"{number}", [*command, "--tables", root / f"layout-{number}", "--lake", lake])
    more, larger = written(lake)
    cells = [found["cpu_s"], found["wall_s"], found["max_rss_mb"], more - files, (larger - size) // 1_000_000]
    print(f"| {name} | {work} | {' | '.join(map(str, cells))} |", flush=True)


def lay_out(file: Path, target: dict[str, object]) -> None:
    """Set values of the [target] of a table file."""
    lines = file.read_text().splitlines()
    lines = [line for line in lines if line.split(" ")[0] not in target]
    at = lines.index("[target]") + 1
    lines[at:at] = [f"{name} = {json.dumps(value)}" for name, value in target.items()]
    file.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000_000, sys.argv[2:] or ALL)
