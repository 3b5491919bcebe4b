"""Verifies tables one after the other: finds each table's source, compares, and keeps errors apart."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime

import attrs

from ingest.compile.table import CompiledTable
from ingest.decode.owner import source_payload
from ingest.errors import IngestError, TableFileError, UnexpectedError, UsageError
from ingest.hudi.storage.folder import UnclearFilesError
from ingest.hudi.timeline.ledger import known_ids
from ingest.log import logger
from ingest.names import first_few
from ingest.report.outcome import TableOutcome
from ingest.run.batch.own_messages import met_schemas
from ingest.run.batch.schemas import PayloadSchemas, compile_written, fetch_written
from ingest.run.work.context import Context
from ingest.run.work.topics import watermarks_of
from ingest.settings import SourceSettings
from ingest.sources.databases import DATABASES
from ingest.sources.jdbc import Source
from ingest.sources.layout import SAMPLE_PARTS, Layout, Mode
from ingest.sources.origin import Origin, check_any, choose_source, find_origin
from ingest.sources.pairs import make_layout
from ingest.sources.queries import SourceTable
from ingest.spark.java_errors import root_cause
from ingest.sql.template import sql
from ingest.tables import Feed, TableConfig
from ingest.verify import documents
from ingest.verify.compare import Comparison, Options
from ingest.verify.cut import Cut, Following
from ingest.verify.lake import LakeRows
from ingest.verify.looks import Looks, Opened
from ingest.verify.memory import progress_file, remember
from ingest.verify.progress import Progress, key_of
from ingest.verify.repair import Repair, Repairs
from ingest.verify.result import TableVerification, Verification
from ingest.verify.rows import SqlRows, open_table
from ingest.verify.topics import combined, compared_feeds, outcome_of
from ingest.verify.turn import Turn


@attrs.frozen(kw_only=True)
class VerifyRequest:
    """The comparison to make, and the repair of its rows."""

    mode: Mode = "checksums"
    columns: tuple[str, ...] = ()
    where: str = ""
    sample_percent: float = 100.0
    following: Following = "run"
    lake_wait_s: float = 600.0
    first: int = 10
    shows_values: bool = False
    repair: Repair | None = None
    """Ask the connector for missing and different rows: `print` the statements, or `execute` them."""
    delete_extra: bool = False
    resume: bool = False
    """Begin with the finished chunks of an interrupted comparison."""
    parallel: int | None = None
    """Concurrent queries of the source, instead of the number in the source's settings."""

    def bound(self, source: SourceSettings) -> SourceSettings:
        """Return the settings of a source with the load of this comparison."""
        return source if self.parallel is None else attrs.evolve(source, parallel=self.parallel)

    def narrow(self, layout: Layout) -> Layout:
        """Limit a comparison to the rows of the condition and the sample."""
        parts = max(1, round(SAMPLE_PARTS * self.sample_percent / 100))
        return attrs.evolve(layout, where=self.where, sample_parts=parts)

    @property
    def scope(self) -> tuple[str, ...]:
        """The limits of the comparison, without the text of a condition: it may hold values."""
        return tuple(filter(None, (
            f"{len(self.columns)} columns" if self.columns else "",
            "the rows of a condition" if self.where else "",
            f"a sample of {self.sample_percent:g} %" if self.sample_percent < 100 else "",  # noqa: PLR2004  percent
        )))  # fmt: skip


@attrs.frozen
class _Work:
    """The comparison of several tables, one at a time."""

    run: Context
    bring: Callable[[str], TableOutcome]
    """Runs a table once."""
    request: VerifyRequest
    turn: Turn = attrs.Factory(Turn)


def verify_tables(
    run: Context,
    tables: Sequence[TableConfig],
    bring: Callable[[str], TableOutcome],
    request: VerifyRequest,
    broken: Sequence[TableFileError] = (),
) -> Verification:
    """Compare tables with their sources. A table's error or `broken` file does not stop the other tables."""
    started = datetime.now(UTC)
    run.file_bytes.update({table.name: _data_size(run, table) for table in tables})
    work = _Work(run, bring, request)
    answers = work.turn.work_on(tables, lambda table: _verify(work, table))
    of_files = (TableVerification(error.table, mode=request.mode, error=error) for error in broken)
    return Verification(started, datetime.now(UTC), (*answers, *of_files))


def _data_size(run: Context, table: TableConfig) -> int:
    """Return the bytes of a table's newest files, or 0 if they are not known without a JVM."""
    try:
        return run.files.table(table).size().newest_bytes
    except (UnclearFilesError, IngestError):
        return 0


def _verify(work: _Work, table: TableConfig) -> TableVerification:
    """Compare a table, or each of its topics, and remember the answer."""
    if table.topics:
        blank = TableVerification(table.name, mode=work.request.mode)
        answer = _guarded(blank, lambda blank: _verify_topics(work, table, blank))
    else:
        answer = _verify_topic(work, work.run.feeds(table)[0])
    work.run.progress(table.name, answer.outcome)
    remember(work.run.settings.state_dir, answer, work.request.scope)
    return answer


def _verify_topics(work: _Work, table: TableConfig, answer: TableVerification) -> TableVerification:
    """Compare the rows of each topic with its source. A topic's error does not stop the other topics."""
    found = compared_feeds(work.run, table)
    answers = [_verify_topic(work, feed) for feed in found.feeds]
    return combined(answer, answers, found.note)


def _verify_topic(work: _Work, feed: Feed) -> TableVerification:
    """Compare the rows of one topic: all rows, unless the table is a view of several."""

    def compare(answer: TableVerification) -> TableVerification:
        work.run.step(feed.table, "looking for its source")
        return _compare(work, feed, lambda: outcome_of(work.bring(feed.name), feed), answer)

    blank = TableVerification(feed.name, mode=work.request.mode, topic=feed.source or "")
    return _guarded(blank, compare)


def _guarded(
    answer: TableVerification, compare: Callable[[TableVerification], TableVerification]
) -> TableVerification:
    """Return the answer of a comparison. The answer also carries its error."""
    started = time.monotonic()
    try:
        answer = compare(answer)
    except IngestError as error:
        answer = attrs.evolve(answer, error=error)
    except Exception as error:  # noqa: BLE001  the other tables go on
        logger(__name__).warning("verify failed", table=answer.table, topic=answer.topic, exc_info=error)
        answer = attrs.evolve(answer, error=UnexpectedError(f"table {answer.table}", root_cause(error)))
    return attrs.evolve(answer, seconds=time.monotonic() - started)


def _compare(
    work: _Work, feed: Feed, bring: Callable[[], TableOutcome], answer: TableVerification
) -> TableVerification:
    run, request = work.run, work.request
    check_any(run.settings.sources, feed.name)
    stored = LakeRows(run.lake.table(feed.table), feed)
    marks = watermarks_of(run.settings.kafka, {feed.name: (feed,)}).of(feed.topic)
    spans = {partition: (mark.begin, mark.end) for partition, mark in marks.items()}
    schemas = fetch_written(run.settings, run.registry, feed, spans, spans)
    of_topic = None
    if feed.table.source_table:
        of_topic, last = source_payload(schemas[1]), stored.stored.checkpoint()
        if last is None:
            raise _without_commit(feed.name)
        schemas = met_schemas(run.registry, schemas[1], known_ids(last))
    compiled = _compile(feed, schemas, request)
    origin = find_origin(run.spark, run.settings.kafka, compiled, marks, of_topic)
    with _open(run, compiled, origin, stored, request) as source:
        layout = source.layout
        sql_rows = source.rows if isinstance(source.rows, SqlRows) else None
        cut = Cut(
            stored, source.log, run.settings.kafka, request.following, bring, request.lake_wait_s, work.turn
        )
        note = cut.check_primary()
        layout.lake_filter(stored.read())  # raises an error of the condition before anything is read
        repairs = Repairs(run, feed, sql_rows, origin, layout, request.repair, request.delete_extra)
        options = Options(request.first, request.shows_values, repairs.handle)
        comparison = Comparison(
            Looks(layout, source.rows, stored), cut, sql_rows, options,
            lambda step: run.step(feed.table, step),
            _progress(run, feed, sql_rows, request),
        )  # fmt: skip
        blank = attrs.evolve(
            answer,
            note=note,
            source=f"{source.log.name}: {origin}",
            compared=tuple(column.name for column in layout.columns) if request.mode != "counts" else (),
            uncompared=layout.uncompared,
        )
        first = comparison.compare(blank)
        repeated = attrs.evolve(comparison, options=Options(request.first))
        return _explained(repairs.follow_up(first, repeated, blank), sql_rows, origin)


def _explained(answer: TableVerification, sql_rows: SqlRows | None, origin: Origin) -> TableVerification:
    """Add to differences the traps of the source's table, which may be their cause."""
    if answer.outcome != "different" or sql_rows is None:
        return answer
    try:
        traps = sql_rows.connection.traps(*origin.parts)
        hints = [f"{trap.text} ({first_few(names)})" for trap, names in traps.items()]
    except IngestError as error:  # the differences count all the same
        hints = [f"known causes were not looked for: {error}"]
    return attrs.evolve(answer, note="; ".join(filter(None, (answer.note, *hints))))


def _open(
    run: Context,
    compiled: CompiledTable,
    origin: Origin,
    stored: LakeRows,
    request: VerifyRequest,
) -> AbstractContextManager[Opened]:
    """Open the source of a table, with the columns to compare.  Raises `UsageError` for a new table."""
    sources, table = run.settings.sources, compiled.table.name
    name = choose_source(origin, sources, table)
    settings = request.bound(sources[name])
    columns = stored.stored.columns()
    if columns is None:
        raise _without_commit(table)
    if compiled.dialect.is_document:
        layout = documents.document_layout(compiled, columns, request.mode, request.columns)
        narrowed = request.narrow(layout)
        return documents.open_documents(
            run.spark, name, settings, compiled=compiled, origin=origin, layout=narrowed
        )
    source = Source(run.spark, name, settings, DATABASES[settings.database])

    def make(source_table: SourceTable) -> Layout:
        layout = make_layout(
            compiled, columns, source.database, source_table, mode=request.mode, only=request.columns
        )
        narrowed = request.narrow(layout)
        return attrs.evolve(narrowed, source_where=compiled.table.rows.source_where or "")

    return open_table(source, origin, make)


def _without_commit(table: str) -> UsageError:
    return UsageError(f"table {table} does not have a commit yet", "Run it once first")


def _compile(feed: Feed, schemas: PayloadSchemas, request: VerifyRequest) -> CompiledTable:
    """Compile a table from all its schemas.  Raises `UsageError` for one that is not a copy of rows."""
    compiled = compile_written(feed, *schemas)
    if compiled.model.has_versions and request.delete_extra:
        problem = f"table {feed.name}: is a history, and deletes end versions at a time of the source"
        raise UsageError(problem, "Leave --delete-extra out")
    if compiled.model.is_log:
        problem = f"table {feed.name}: keeps every change, and is not a copy of its source"
        raise UsageError(problem, 'Verify tables with [target] mode = "upsert"')
    has_condition = request.where or (feed.table.rows.source_where and not compiled.dialect.is_document)
    if feed.table.rows.where is not None and not has_condition:
        problem = f"table {feed.name}: holds only the rows of [rows] where, and its source has others"
        raise UsageError(
            problem, "Set [rows] source_where to the same condition in SQL of the source, or give --where"
        )
    return compiled


def _progress(run: Context, feed: Feed, sql_rows: SqlRows | None, request: VerifyRequest) -> Progress:
    """Return the progress of a comparison, identified by its source and its query.

    A comparison without chunks has an empty key.
    """
    key = ""
    if sql_rows is not None:
        query, url = str(sql_rows.queries.chunk_query(sql("0 = 0"))), sql_rows.source.settings.url
        key = key_of(run.settings.lake.table_path(feed.name), url, request.mode, query, feed.source or "")
    return Progress(progress_file(run.settings.state_dir, feed), key, request.resume)
