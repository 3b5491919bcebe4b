"""What one read of a topic would save for two tables of it: the current rows and their history."""

from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from events import TOPIC
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from small import cpu_seconds
from whole import produce, settings_folder

from ingest import Session
from ingest.compile.table import compile_table
from ingest.decode.events import decode_events
from ingest.kafka.ranges import plan_ranges
from ingest.kafka.read import read
from ingest.kafka.watermarks import fetch_watermarks
from ingest.masking import Masking
from ingest.run.batch.schemas import fetch_written
from ingest.run.batch.start import consumed
from ingest.spark.java import jvm_of
from ingest.tables import feeds

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 6
WARMING = 2


def saved_by_one_read() -> float:
    """Return the CPU that events kept between two tables would save, as a share of a run of both."""
    with settings_folder() as root:
        produce(root, [TOPIC], events=200_000, keys=60_000, columns=12)
        with Session.open(root / "ingest.toml") as session:
            session.onboard(["bench.*"], name="t")
            plain = (root / "tables" / "t.toml").read_text()
            history = plain.replace('table = "t"', 'table = "h"').replace(
                "[target]", '[target]\nmode = "history"'
            )
            (root / "tables" / "h.toml").write_text(history)
            messages, (events, events_of_history) = _events(session)
            work: dict[str, Callable[[int], object]] = {
                "both tables": lambda number: _run(session, root, number, share_reads=False),
                "both from one read": lambda number: _run(session, root, number, share_reads=True),
                "messages twice": lambda _: (_evaluate(messages), _evaluate(messages)),
                "messages kept": lambda _: _twice_from_one(messages),
                "events twice": lambda _: (_evaluate(events), _evaluate(events_of_history)),
                "events kept": lambda _: _twice_from_one(events_of_history),
            }
            seconds: dict[str, list[float]] = {name: [] for name in work}
            pid = int(jvm_of(session.spark).java.lang.ProcessHandle.current().pid())
            for number in range(ROUNDS):
                for name, act in work.items():
                    started = cpu_seconds(pid)
                    act(number)
                    seconds[name].append(cpu_seconds(pid) - started)
    figures = {name: median(values[WARMING:]) for name, values in seconds.items()}
    print("  " + ", ".join(f"{name} {figure:.2f} s" for name, figure in figures.items()), flush=True)
    return (figures["events twice"] - figures["events kept"]) / figures["both tables"]


def _events(session: Session) -> tuple[DataFrame, tuple[DataFrame, ...]]:
    """Return the messages of the topic, and the events of each table."""
    kafka, tables = session.settings.kafka, sorted(session.tables(), key=lambda table: table.name == "h")
    marks = fetch_watermarks(kafka, [tables[0].topic]).of(tables[0].topic)
    own = [feeds(table, Masking())[0] for table in tables]
    ranges = plan_ranges(own[0].topic, consumed(own[0], None), marks)
    schemas = fetch_written(session.settings, session.registry, own[0], {}, {})
    messages = read(session.spark, ranges, kafka, min_partitions=2)
    return messages, tuple(decode_events(messages, compile_table(feed, *schemas)) for feed in own)


def _run(session: Session, root: Path, number: int, *, share_reads: bool) -> None:
    """Run both tables into a new lake."""
    settings = {"lake.path": str(root / f"lake{number}{share_reads}"), "run.share_reads": share_reads}
    with Session.open(root / "ingest.toml", overrides=settings, spark=session.spark) as run:
        assert run.run().exit_code == 0


def _evaluate(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


def _twice_from_one(rows: DataFrame) -> None:
    """Evaluate rows twice, from memory the second time."""
    kept = rows.persist(StorageLevel.MEMORY_AND_DISK)
    _evaluate(kept)
    _evaluate(kept)
    kept.unpersist(blocking=True)
