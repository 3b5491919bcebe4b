"""Repair: signals that ask the connector for the rows that differ, and a commit that deletes extra rows."""

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal
from uuid import uuid4

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import DELETED
from ingest.hudi.options import DELETE, OP
from ingest.names import Topic
from ingest.operations.signal import COLLECTION_PARTS, Signal, SignalRequest, make_signal, send
from ingest.operations.statement import statement
from ingest.run.batch.start import last_of
from ingest.run.work.context import Context
from ingest.run.work.writer import writing
from ingest.settings import SourceSettings
from ingest.sources.jdbc import Source
from ingest.sources.layout import CHANGE, Layout
from ingest.sources.origin import Origin
from ingest.sources.queries import Queries
from ingest.sql.template import Sql, sql
from ingest.tables import Feed, TableConfig
from ingest.verify.chunks import in_list
from ingest.verify.compare import Comparison
from ingest.verify.lake import LakeRows
from ingest.verify.result import TableVerification
from ingest.verify.rows import SqlRows

Repair = Literal["print", "execute"]
MOST_KEYS: Final = 20_000
"""Values of the first key column that one repair covers."""
_POLL_S: Final = 5.0
_MANY: Final = f"one repair covers {MOST_KEYS:,} keys: repeat it for the others"
MOST_CHARS: Final = 700
"""Characters of a condition: a signal holds it twice, and Debezium's table has 2,048 for a signal."""


@attrs.frozen
class Repairs:
    """Repairs the rows of one table that differ."""

    run: Context
    feed: Feed
    sql_rows: SqlRows | None
    """The source's rows, or None for a source without SQL."""
    origin: Origin
    layout: Layout
    repair: Repair | None
    deletes: bool

    def problem(self) -> str:
        """Return the reason why a repair is impossible, or an empty text if it is possible."""
        if self.repair is None:
            return ""
        if self.sql_rows is None:
            problem = f"--repair does not signal connectors of {self.origin.dialect}"
            return f"{problem}. Signal a snapshot by hand: see docs/snapshots.md"
        settings = self.sql_rows.source.settings
        if not (settings.signal_table or settings.signal_topic):
            name = f"sources.{self.sql_rows.source.name}"
            problem = f"--repair cannot signal the connector: {name} does not say where its signals go"
            return f"{problem}. Set signal_table to its signal.data.collection, or signal_topic"
        return ""

    def handle(self, rows: DataFrame, answer: TableVerification) -> TableVerification:
        """Make the statements, run them if requested, and delete extra rows if requested."""
        problem = self.problem()
        if problem:
            answer = attrs.evolve(answer, note="; ".join(filter(None, (answer.note, problem))))
        elif self.repair is not None and self.sql_rows is not None:
            wrong = rows.where("kind in ('missing', 'different')")
            leads = [row.k0 for row in wrong.select("k0").distinct().limit(MOST_KEYS + 1).collect()]
            filters = conditions(self.sql_rows.queries, leads[:MOST_KEYS])
            signals = make_signals(self.feed.table, self.origin, filters)
            answer = attrs.evolve(
                answer,
                repair=tuple(_text(self.sql_rows.source.settings, signal) for signal in signals),
                note=_MANY if len(leads) > MOST_KEYS else answer.note,
            )
            if self.repair == "execute" and signals:
                self._send(self.sql_rows.source, signals)
        if self.deletes and answer.counts.get("extra"):
            extra = rows.where("kind = 'extra'")
            deleted = delete_extra(self.run, self.feed, self.layout, extra, self.origin)
            answer = attrs.evolve(answer, deleted=deleted)
        return answer

    def _send(self, source: Source, signals: Sequence[Signal]) -> None:
        """Signal the connector through Kafka, or through its table in the source."""
        settings = source.settings
        if settings.signal_topic:
            for signal in signals:
                send(self.run.settings, Topic(settings.signal_topic), signal)
            return
        with source.connect(writes=True) as connection:
            for signal in signals:
                connection.execute(Sql((_text(settings, signal).removesuffix(";"),)))

    def follow_up(
        self, answer: TableVerification, comparison: Comparison, blank: TableVerification
    ) -> TableVerification:
        """Compare again after a repair, until the snapshot has arrived or the time is over."""
        executed = self.repair == "execute" and bool(answer.repair)
        if not executed and not answer.deleted:
            return answer
        end = time.monotonic() + (comparison.cut.lake_wait_s if executed else 0.0)
        result = comparison.compare(blank)
        while _awaits_rows(result, answer) and time.monotonic() < end:
            with comparison.cut.turn.passed_on():
                time.sleep(_POLL_S)
            result = comparison.compare(blank)
        if result.looks > 1:  # its numbers of rows are those before the rows arrived
            result = comparison.compare(blank)
        notes = (f"{answer.differing:,} rows differed before the repair", answer.note, result.note)
        return attrs.evolve(
            result, repair=answer.repair, deleted=answer.deleted, note="; ".join(filter(None, notes))
        )


def _awaits_rows(result: TableVerification, before: TableVerification) -> bool:
    """Return whether rows that a repair asked for may still arrive."""
    if _MANY in before.note:
        return _wrong(result) > _wrong(before) - MOST_KEYS
    return bool(_wrong(result) or result.in_flight)


def _wrong(result: TableVerification) -> int:
    return result.counts.get("missing", 0) + result.counts.get("different", 0)


def conditions(queries: Queries, leads: Sequence[str]) -> list[str]:
    """Return conditions that match exactly the rows with one of the values in the first key column."""
    column = queries.range_column()
    if queries.layout.has_ranges:
        terms = [_range(column, low, high) for low, high in ranges_of(sorted(map(int, leads)))]
        return _batches(terms, " OR ")
    values = [queries.database.literal(lead) for lead in sorted(leads)]
    return [str(in_list(column, batch)) for batch in _split(values, MOST_CHARS - len(str(column)))]


def ranges_of(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return ascending numbers as closed ranges without gaps."""
    if not numbers:
        return []
    breaks = [(a, b) for a, b in pairwise(numbers) if b > a + 1]
    starts = [numbers[0], *(b for _, b in breaks)]
    ends = [*(a for a, _ in breaks), numbers[-1]]
    return list(zip(starts, ends, strict=True))


def make_signals(table: TableConfig, origin: Origin, filters: Sequence[str]) -> list[Signal]:
    """Return the signals for an incremental snapshot of the filtered rows."""
    parts = {"database": origin.database, "schema": origin.schema, "table": origin.table}
    name = ".".join(parts[part] for part in COLLECTION_PARTS[origin.dialect])
    requests = [
        SignalRequest(
            kind="execute-snapshot", tables=(table.name,), condition=condition, collections=(name,),
            prefix=origin.prefix,
        )
        for condition in filters
    ]  # fmt: skip
    return [make_signal([table], request, str(uuid4())) for request in requests]


def _text(settings: SourceSettings, signal: Signal) -> str:
    """Return a signal as a person would send it: the message's key and value, or a statement."""
    if settings.signal_topic:
        return f"{settings.signal_topic}: {signal.connector.prefix} {signal.message()}"
    return statement(signal, settings.signal_table)


def delete_extra(run: Context, feed: Feed, layout: Layout, extra: DataFrame, origin: Origin) -> int:
    """Delete rows that the source lacks, in a commit that says so, and return their number.

    A row is deleted only if it is still the version that was compared.  The delete has that version's
    position, so every newer change wins against it.
    """
    with writing(run, feed.table) as writer:
        last = last_of(writer.stored, feed)
        if last is None:
            return 0
        names = layout.key_names()
        rows = LakeRows(writer.stored, feed).read()
        texts = [key.in_lake().alias(name) for key, name in zip(layout.keys, names, strict=True)]
        keyed = rows.selectExpr("*", *map(str, texts), str(CHANGE.alias("t_v")))
        chosen = keyed.join(extra.select(*names, "t_v"), [*names, "t_v"], "left_semi").select(*rows.columns)
        deletes = chosen.withColumn(OP, F.lit(DELETE))
        if DELETED in rows.columns:
            deletes = deletes.withColumn(DELETED, F.lit(True))  # noqa: FBT003  a value
        deletes = deletes.localCheckpoint()
        count = deletes.count()
        note = f"verify deleted {count} rows that its source {origin} does not have"
        entry = attrs.evolve(
            last, run_id=run.run_id, start_offsets=last.next_offsets, kind="repair", note=note,
            counters={"deleted": count}, schema_ids=(), instant=None,
        )  # fmt: skip
        writer.commit(deletes, entry)
        return count


def _range(column: Sql, low: int, high: int) -> Sql:
    if low == high:
        return sql("{c} = {n}", c=column, n=low)
    return sql("{c} BETWEEN {low} AND {high}", c=column, low=low, high=high)


def _batches(terms: Sequence[Sql], separator: str) -> list[str]:
    return [separator.join(map(str, batch)) for batch in _split(terms, MOST_CHARS)]


def _split(terms: Sequence[Sql], chars: int) -> list[list[Sql]]:
    """Split terms into batches of about as many characters."""
    batches: list[list[Sql]] = []
    used = 0
    for term in terms:
        used += len(str(term)) + 4
        if not batches or used > chars:
            batches.append([])
            used = len(str(term))
        batches[-1].append(term)
    return batches
