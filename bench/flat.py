"""Cost by the size and the shape of the work: `make bench-flat`, or `python bench/flat.py LINE…`.

Whole processes, by CPU seconds of all descendants, each line a first run into an empty table with a driver
heap of 2 GiB.  The lines of one shape differ only in the number of events, so that their CPU time per event
shows whether the cost is flat.
"""

import sys
import time
from collections.abc import Sequence
from typing import Final
from zlib import crc32

import attrs
from events import KEY_SCHEMA, TOPIC, large_messages, messages, value_schema
from side_by_side import Contest, Line, Load, check, deployed, onboard
from whole import create_topic, send

HEAP: Final = "2g"
PLAIN: Final = {
    "10k": Load("pg.shop.n10k", 0, 10_000, 6_000),
    "100k": Load("pg.shop.n100k", 0, 100_000, 60_000),
    "1m": Load("pg.shop.n1m", 0, 1_000_000, 600_000),
    "5m": Load("pg.shop.n5m", 0, 5_000_000, 3_000_000),
    "hot": Load("pg.shop.hot", 0, 500_000, 5),
}
"""Events of 12 columns; `hot` has five keys with 100,000 changes each."""


@attrs.frozen
class Shape:
    """Rows of another shape: how many, how wide, and how large one text of them is."""

    events: int
    columns: int
    text_bytes: int = 0
    keys: int = 0
    """The keys of the rows, by default one for each event."""
    partitions: int = 2
    is_skewed: bool = False
    """Whether half of the events have one key, and nine tenths are in one partition."""


SHAPES: Final = {
    "wide": Shape(20_000, 200),
    "large": Shape(300, 4, 1_000_000),
    "even": Shape(500_000, 12, keys=300_000, partitions=4),
    "skewed": Shape(500_000, 12, keys=300_000, partitions=4, is_skewed=True),
    "spread": Shape(500_000, 12, keys=300_000, partitions=200),
}
HOT_SHARE: Final = 0.5


def measure(contest: Contest, name: str, topic: str, events: int) -> float:
    """Run `ingest` over a topic, and print the CPU time; return that of an event in µs."""
    onboard(contest, topic)
    line = Line(name, Load(topic, 0, events, 0), "cow", 0)
    run = contest.measure(f"flat-{name}", contest.ours(f"flat-{name}", line))
    if run["rc"]:
        sys.exit((contest.root / f"flat-{name}.log").read_text())
    micros = run["cpu_s"] / events * 1e6
    print(f"| {name} | {events:,} | {run['cpu_s']:.1f} / {run['wall_s']:.1f} | {micros:,.0f} |", flush=True)
    return micros


def measure_plain(contest: Contest, name: str) -> float:
    """Measure events of 12 columns, and compare the table with the generator's count and sum."""
    load = PLAIN[name]
    contest.generate(load, 0, load.waiting)
    micros = measure(contest, name, load.topic, load.waiting)
    check(contest, f"flat-{name}", load.topic)
    return micros


def measure_shape(contest: Contest, name: str) -> None:
    """Measure rows of another shape."""
    shape, topic = SHAPES[name], f"{TOPIC}.{name}"
    servers = contest.servers
    (contest.root / "addresses.json").write_text(f'["{servers.bootstrap_servers}", "{servers.registry_url}"]')
    key_id, value_id = create_topic(
        contest.root, topic, KEY_SCHEMA, value_schema(shape.columns), shape.partitions
    )
    if shape.text_bytes:
        events = large_messages(shape.events, shape.text_bytes, shape.columns, key_id, value_id)
    else:
        keys, hot = shape.keys or shape.events, HOT_SHARE * shape.is_skewed
        events = messages(shape.events, keys, shape.columns, key_id, (value_id,), hot_share=hot)
    send(contest.root, [topic], events, skewed_partition if shape.is_skewed else lambda _: -1)
    measure(contest, name, topic, shape.events)


def skewed_partition(key: bytes) -> int:
    """Return the first of four partitions for the key 0 and four fifths of the others."""
    number = crc32(key)
    return 1 + number % 3 if number % 5 == 0 and key[-1] else 0  # an Avro long of 0 is one byte of 0


def main(names: Sequence[str]) -> int:
    """Measure lines, all by default; return 1 where 5,000,000 events cost over 1.2 times as much each."""
    chosen = [name for name in (*PLAIN, *SHAPES) if not names or name in names]
    micros: dict[str, float] = {}
    with deployed(HEAP) as contest:
        warm = Load("pg.shop.warm", 0, 1_000, 1_000)
        contest.generate(warm, 0, warm.waiting)
        onboard(contest, warm.topic)
        # The first run leaves the class archive.
        contest.measure("warm", contest.ours("flat-warm", Line("warm", warm, "cow", 0)))
        print(f"CPU / wall seconds, {time.strftime('%Y-%m-%d')}, heap {HEAP}\n", flush=True)
        print("| line | events | CPU / wall | CPU µs per event |\n| --- | --- | --- | --- |", flush=True)
        for name in chosen:
            if name in PLAIN:
                micros[name] = measure_plain(contest, name)
            else:
                measure_shape(contest, name)
    if not {"1m", "5m"} <= micros.keys():
        return 0
    ratio = micros["5m"] / micros["1m"]
    print(f"\n5m to 1m, per event: {ratio:.2f} (wanted <= 1.20)")
    return int(ratio > 1.2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
