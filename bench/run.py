"""The measurements that the README quotes: `make bench`, or `python bench/run.py NAME…`.

Every figure is a ratio inside one run, or a bound, so that a busy or a slow machine does not change what it
says.
"""

import sys
from collections.abc import Callable

import airflow_parse
import attrs
import chosen
import decoding
import merged
import one_read
import small
import whole
import wide


@attrs.frozen
class Bench:
    """A measurement: its function returns the figure, `bound` is what it must keep."""

    measure: Callable[[], float]
    bound: str
    ok: Callable[[float], bool]
    what: str


BENCHES = {
    "decode": Bench(
        decoding.decode_against_bare, ">= 0.60", lambda x: x >= 0.60,
        "decode + convert 31 columns, as share of the speed of bare from_avro",
    ),
    "ids": Bench(
        decoding.four_ids_against_one, "<= 1.20", lambda x: x <= 1.20,
        "time for four schema ids in a batch, over one",
    ),
    "rows": Bench(
        whole.rows_against_upsert, ">= 0.60", lambda x: x >= 0.60,
        "a run of 200,000 events that are rows, as share of the speed of these rows through the same upsert",
    ),
    "changes": Bench(
        whole.changes_against_upsert, "shown", lambda _: True,
        "the same for 200,000 changes of 60,000 keys, where the upsert has only the newest rows to write",
    ),
    "postgres": Bench(
        whole.postgres_against_upsert, "shown", lambda _: True,
        "the same for 100,000 changes of PostgreSQL, 72 % of them without their unchanged large value",
    ),
    "mongodb": Bench(
        whole.mongodb_against_upsert, "shown", lambda _: True,
        "the same for 100,000 changes of MongoDB, 80 % of them update descriptions without a document",
    ),
    "chosen": Bench(
        chosen.chosen_against_plain, "<= 1.10", lambda x: x <= 1.10,
        "CPU of 150,000 events with four masks, a condition or three computed columns, over plain ones",
    ),
    "history": Bench(
        chosen.history_against_plain, "<= 2.00", lambda x: x <= 2.00,
        "CPU of 150,000 events of 50,000 keys into a history, over the plain table",
    ),
    "one-read": Bench(
        one_read.saved_by_one_read, "shown", lambda _: True,
        "CPU that one read of a topic would save for its current rows and history, as share of both",
    ),
    "idle": Bench(
        whole.idle_seconds, "< 3 s", lambda x: x < 3,
        "seconds of a run that finds nothing new in 50 tables, session up",
    ),
    "warm": Bench(
        small.warm_cpu_seconds, "< 3 s", lambda x: x < 3,
        "CPU seconds of a commit of 1,000 changes over 10,000 rows, session up",
    ),
    "fifty": Bench(
        small.fifty_seconds, "shown", lambda _: True,
        "seconds of a run of 50 tables with 1,000 changes each, session up",
    ),
    "million": Bench(
        whole.million_events, "= 1", lambda x: x == 1,
        "1,000,000 events in one run with a 2 GiB driver heap",
    ),
    "merged": Bench(
        merged.costliest_read, "<= 2.00", lambda x: x <= 2,
        "CPU of the costliest read with compact_at = 0.1 under ten updates, over the compacted table",
    ),
    "wide": Bench(
        wide.widest_seconds, "< 60 s", lambda x: x < 60,
        "seconds to decode and explain a record of 2,000 columns or 1,000 schemas, 2 GiB driver heap",
    ),
    "help": Bench(
        whole.help_seconds, "< 0.5 s", lambda x: x < 0.5, "seconds until `ingest --help` has answered",
    ),
    "dag": Bench(
        airflow_parse.parse_seconds, "< 2 s", lambda x: x < 2,
        "CPU seconds of a DAG file of 1,000 tables, Airflow imported",
    ),
}  # fmt: skip


def main(names: list[str]) -> int:
    """Measure, print a line each, return 1 if a bound is broken."""
    broken = 0
    for name in names or BENCHES:
        bench = BENCHES[name]
        figure = bench.measure()
        retained = bench.ok(figure)
        broken += not retained
        print(
            f"{'ok ' if retained else 'NOT'} {name:8s} {figure:6.2f}  ({bench.bound})  {bench.what}",
            flush=True,
        )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
