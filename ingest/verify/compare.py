"""One comparison: checksums of chunks, then the rows of unequal chunks, then looks until all is clear."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.sources.layout import Layout
from ingest.sql.template import ident, sql
from ingest.verify.chunks import Ranges, chunk_count, in_list, key_ranges
from ingest.verify.cut import Cut, Passed
from ingest.verify.details import count_columns, first_rows
from ingest.verify.looks import Looks, Part, read_once, verdict_is
from ingest.verify.progress import Progress, Sums
from ingest.verify.result import Difference, TableVerification
from ingest.verify.rows import SqlRows

MOST_LOOKS: Final = 6
"""Looks at rows that keep changing. Rows that still change after the last look are reported as in flight."""
Note = Callable[[str], None]


@attrs.frozen
class Options:
    """The extent of an answer."""

    first: int = 10
    """Keys to show."""
    shows_values: bool = False
    handle: "Callable[[DataFrame, TableVerification], TableVerification]" = lambda _, answer: answer
    """Takes the rows that differ, with their keys, versions and kind, while they are at hand."""


@attrs.frozen
class Comparison:
    """Compares one table with its source."""

    looks: Looks
    cut: Cut
    sql_rows: SqlRows | None
    """Sums the checksums of chunks, or None for a source without checksums."""
    options: Options
    note: Note
    progress: Progress

    @property
    def layout(self) -> Layout:
        """The columns to compare."""
        return self.looks.layout

    def compare(self, answer: TableVerification) -> TableVerification:
        """Return the answer, completed."""
        position = self.cut.position()
        problem = self.cut.follow()
        self.looks.stored.refresh()
        position = self.progress.begin(position, self.cut.offsets())
        result = self._compare(attrs.evolve(answer, note=""))
        notes = filter(None, (answer.note, self.progress.note, problem, result.note))
        self.progress.end()
        return attrs.evolve(result, position=position, note="; ".join(notes))

    def _compare(self, answer: TableVerification) -> TableVerification:
        if self.layout.mode == "counts":
            return self._compare_counts(answer)
        if self.layout.mode == "full" or self.sql_rows is None:
            return self._look(answer, Part())
        answer, part = self._compare_chunks(answer, self.sql_rows)
        return answer if part is None else self._look(answer, part)

    # --- counts --------------------------------------------------------------------------------

    def _compare_counts(self, answer: TableVerification) -> TableVerification:
        """Count both sides until they agree, or differ while neither has changed.

        A table that has passed a position behind a count must agree with a source that is unchanged since.
        If the source moves between two counts, a number of rows between them agrees.
        """
        before: tuple[int, ...] = ()
        for looks in range(1, MOST_LOOKS + 1):
            passed = Passed(None) if looks == 1 else self.cut.passed()
            rows = self.layout.lake_filter(self.looks.stored.read()).count()
            state = (*self.looks.source.count(with_versions=looks > 1), rows)
            count = state[0]
            note = passed.problem or passed.note or answer.note
            answer = attrs.evolve(answer, source_rows=count, table_rows=rows, looks=looks, note=note)
            if rows == count or state == before or self.cut.following == "as-is":
                return answer
            if passed.problem:
                break
            if looks > 1 and min(before[0], count) <= rows <= max(before[0], count):
                return attrs.evolve(answer, source_rows=rows, note=_MOVING)
            before = state
        return attrs.evolve(answer, in_flight=abs(count - rows))

    # --- chunks --------------------------------------------------------------------------------

    def _compare_chunks(
        self, answer: TableVerification, reader: SqlRows
    ) -> tuple[TableVerification, Part | None]:
        """Compare the checksums of chunks, and return the part that differs, if any does."""
        stored = self.looks.stored.read()
        total = stored.count()
        chunks = chunk_count(total, reader.source.settings.chunk_rows)
        self.note(f"comparing {total:,} rows in {chunks} chunks")
        if self.layout.has_ranges:
            ranges = self.progress.ranges() or key_ranges(stored, self.layout, total, chunks)
            source, lake = self._sum_ranges(reader, stored, ranges, total)
            part = _range_part(self.layout, ranges, _unequal(source, lake))
        else:
            source, lake = self._sum_buckets(reader, stored, chunks)
            part = _bucket_part(self.layout, chunks, _unequal(source, lake))
        rows = (sum(count for count, _ in sums.values()) for sums in (source, lake))
        return attrs.evolve(answer, source_rows=next(rows), table_rows=next(rows)), part

    def _sum_ranges(
        self, reader: SqlRows, stored: DataFrame, ranges: Ranges, total: int
    ) -> tuple[Sums, Sums]:
        parallel = min(reader.source.settings.parallel, ranges.count)
        walk = _Walk(self, reader, ranges, total, self.progress.sums(ranges))
        column = ident(self.layout.keys[0].name)
        with ThreadPoolExecutor(parallel) as pool:
            stripes = [pool.submit(walk.sum_stripe, start, parallel) for start in range(parallel)]
            lake = self.layout.lake_chunks(stored, ranges.chunk_of(column))
            source = {chunk: sums for stripe in stripes for chunk, sums in stripe.result().items()}
        return source, lake

    def _sum_buckets(self, reader: SqlRows, stored: DataFrame, chunks: int) -> tuple[Sums, Sums]:
        with ThreadPoolExecutor(1) as pool:
            rows = pool.submit(reader.connection.rows, reader.queries.bucket_query(chunks), 3)
            lake = self.layout.lake_chunks(stored, self.layout.lake_bucket(chunks))
            source = {int(b or 0): (int(count or 0), int(total or 0)) for b, count, total in rows.result()}
        return source, lake

    # --- rows ----------------------------------------------------------------------------------

    def _look(self, answer: TableVerification, part: Part) -> TableVerification:
        """Look at the rows of a part until each that differs is confirmed, or changed at every look."""
        if self.layout.mode == "full" or self.sql_rows is None:
            rows = self.layout.lake_filter(self.looks.stored.read()).count()
            answer = attrs.evolve(answer, source_rows=self.looks.source.count()[0], table_rows=rows)
        with self.looks.source.errors():
            pending, count = read_once(self.looks.differing(part))
            if not count or self.cut.following == "as-is":
                return self._answer(answer, pending if count else None, 0)
            confirmed: list[DataFrame] = []
            for looks in range(2, MOST_LOOKS + 1):
                self.note(f"looking again at {count:,} rows that differ")
                passed = self.cut.passed()
                answer = attrs.evolve(answer, looks=looks, position=passed.position, note=passed.note)
                if passed.problem:
                    answer = attrs.evolve(answer, note=passed.problem)
                    break
                self.looks.stored.refresh()
                seen, _ = read_once(self.looks.again(pending))
                confirmed.append(verdict_is(seen, "confirmed"))
                pending = verdict_is(seen, None)
                count = pending.count()
                if not count:
                    break
            differing = _united(confirmed)
            return self._answer(answer, differing, count)

    def _answer(self, answer: TableVerification, rows: DataFrame | None, in_flight: int) -> TableVerification:
        """Complete an answer with the rows that differ."""
        answer = attrs.evolve(answer, in_flight=in_flight)
        if rows is None:
            return answer
        kinds = rows.groupBy(F.expr(_DIFFERENCE).alias("kind")).count().collect()
        counts: dict[Difference, int] = {row.kind: row["count"] for row in kinds}
        if not counts:
            return answer
        self.note(f"comparing the columns of {sum(counts.values()):,} rows")
        options = self.options
        detailed, _ = read_once(self.looks.columns_of(rows.withColumn("kind", F.expr(_DIFFERENCE))))
        answer = attrs.evolve(
            answer,
            counts=counts,
            columns=count_columns(self.layout, detailed),
            rows=first_rows(self.layout, detailed, options.first, shows_values=options.shows_values),
        )
        return options.handle(detailed, answer)


_MOVING: Final = "rows came and went while they were counted"
_DIFFERENCE: Final = (
    "case when t_n is null then 'missing' when s_n is null then 'extra' "
    "when t_n > s_n then 'doubled' else 'different' end"
)


@attrs.frozen
class _Walk:
    """Walks the ranges of a source, several stripes at a time."""

    comparison: Comparison
    reader: SqlRows
    ranges: Ranges
    total: int
    finished: Sums
    """The chunks of an interrupted comparison."""
    started: float = attrs.field(factory=time.monotonic)
    done: list[int] = attrs.Factory(list)

    def sum_stripe(self, start: int, step: int) -> Sums:
        """Sum every `step`th range over a separate connection."""
        source, queries = self.reader.source, self.reader.queries
        sums: Sums = {}
        with source.connect() as connection:
            for chunk in range(start, self.ranges.count, step):
                if chunk in self.finished:
                    sums[chunk] = self.finished[chunk]
                    continue
                condition = self.ranges.condition(chunk, queries.range_column())
                ((count, total),) = connection.rows(queries.chunk_query(condition), 2)
                sums[chunk] = (int(count or 0), int(total or 0))
                self.comparison.progress.add(chunk, sums[chunk])
                self._report(sums[chunk][0])
                time.sleep(source.settings.pause_s)
        return sums

    def _report(self, rows: int) -> None:
        self.done.append(rows)
        done, seconds = sum(self.done), max(time.monotonic() - self.started, 0.001)
        remaining = max(0.0, (self.total - done) * seconds / max(done, 1))
        self.comparison.note(
            f"compared {done:,} of about {self.total:,} rows, {done / seconds:,.0f} rows/s, "
            f"{remaining:.0f} s left"
        )


def _unequal(source: Sums, lake: Sums) -> list[int]:
    """Return the chunks for which rows or checksums differ."""
    empty = (0, 0)
    chunks = sorted({*source, *lake})
    return [chunk for chunk in chunks if source.get(chunk, empty) != lake.get(chunk, empty)]


def _range_part(layout: Layout, ranges: Ranges, chunks: Sequence[int]) -> Part | None:
    if not chunks:
        return None
    column = ident(layout.keys[0].name)
    in_lake = in_list(ranges.chunk_of(column), [sql("{n}", n=chunk) for chunk in chunks])
    return Part(tuple(ranges.condition(chunk, sql("b")) for chunk in chunks), in_lake)


def _bucket_part(layout: Layout, buckets: int, chunks: Sequence[int]) -> Part | None:
    if not chunks:
        return None
    numbers = [sql("{n}", n=chunk) for chunk in chunks]
    in_lake = in_list(layout.lake_bucket(buckets), numbers)
    return Part((in_list(sql("h"), numbers),), in_lake, buckets)


def _united(rows: Sequence[DataFrame]) -> DataFrame | None:
    """Return the rows of all looks."""
    union: DataFrame | None = None
    for part in rows:
        union = part if union is None else union.unionByName(part)
    return union
