"""Verifies tables, one after the other: finds the source of each, compares, and keeps errors apart."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import attrs

from ingest.compile.row_model import Append
from ingest.compile.table import CompiledTable
from ingest.dialects import DIALECTS
from ingest.errors import IngestError, SourceRefusedError, UnexpectedError, UsageError
from ingest.hudi.java_errors import root_cause
from ingest.hudi.storage import UnclearFilesError
from ingest.kafka.breaks import Watermark
from ingest.kafka.watermarks import fetch_watermarks
from ingest.log import logger
from ingest.names import Partition
from ingest.run.context import Run
from ingest.run.report import TableOutcome
from ingest.run.schemas import compile_written, fetch_written
from ingest.tables import TableConfig
from ingest.typemap.sql import sql
from ingest.verify.compare import Comparison, Options
from ingest.verify.cut import Cut, Following
from ingest.verify.database import Checksum
from ingest.verify.databases import DATABASES
from ingest.verify.jdbc import Connection, Source, sources_of
from ingest.verify.layout import SAMPLE_PARTS, Layout, Mode, SourceTable, make_layout
from ingest.verify.looks import Looks
from ingest.verify.memory import progress_file, remember
from ingest.verify.origin import Origin, check_database, choose_source, find_origin
from ingest.verify.progress import Progress, key_of
from ingest.verify.repair import Repair, Repairs
from ingest.verify.result import TableVerification, Verification

_ROW_BYTES: Final = 50


@attrs.frozen(kw_only=True)
class Request:
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

    @property
    def scope(self) -> tuple[str, ...]:
        """The limits of the comparison, without the text of a condition: it may hold values."""
        return tuple(filter(None, (
            f"{len(self.columns)} columns" if self.columns else "",
            "the rows of a condition" if self.where else "",
            f"a sample of {self.sample_percent:g} %" if self.sample_percent < 100 else "",  # noqa: PLR2004  percent
        )))  # fmt: skip


def verify_tables(
    run: Run, tables: Sequence[TableConfig], bring: Callable[[str], TableOutcome], request: Request
) -> Verification:
    """Compare tables with their sources; an error in one does not stop the others."""
    started = datetime.now(UTC)
    run.waiting.update({table.name: _estimate_rows(run, table) for table in tables})
    answers = tuple(_verify(run, table, bring, request) for table in tables)
    return Verification(started, datetime.now(UTC), answers)


def _estimate_rows(run: Run, table: TableConfig) -> int:
    """Return about how many rows a table has, before Spark starts: many need its optimising compiler."""
    try:
        return run.files.table(table).size().newest_bytes // _ROW_BYTES
    except (UnclearFilesError, IngestError):
        return 0


def _verify(
    run: Run, table: TableConfig, bring: Callable[[str], TableOutcome], request: Request
) -> TableVerification:
    started, answer = time.monotonic(), TableVerification(table.name, mode=request.mode)
    try:
        run.enter(table, "looking for its source")
        answer = _compare(run, table, lambda: bring(table.name), request, answer)
    except IngestError as error:
        answer = attrs.evolve(answer, error=error)
    except Exception as error:  # noqa: BLE001  the other tables go on
        logger(__name__).warning("verify failed", table=table.name, exc_info=error)
        answer = attrs.evolve(answer, error=UnexpectedError(f"table {table.name}", root_cause(error)))
    run.progress(table.name, answer.outcome)
    answer = attrs.evolve(answer, seconds=time.monotonic() - started)
    remember(run.settings.state_dir, answer, request.scope)
    return answer


def _compare(
    run: Run,
    table: TableConfig,
    bring: Callable[[], TableOutcome],
    request: Request,
    answer: TableVerification,
) -> TableVerification:
    marks = fetch_watermarks(run.settings.kafka, [table.topic]).of(table.topic)
    compiled = _compile(run, table, marks)
    origin = find_origin(run.settings.kafka, compiled, marks)
    name = choose_source(origin, run.settings.sources, table.name)
    source = sources_of(run.spark, run.settings.sources, DATABASES)[name]
    stored = run.lake.table(table)
    with source.connect() as connection:
        check_database(origin, name, _current(connection))
        layout = _layout(compiled, stored.columns(), source, read_table(connection, origin), request)
        layout = attrs.evolve(layout, checksum=_choose_checksum(connection))
        cut = Cut(table, stored, run.settings.kafka, request.following, bring, request.lake_wait_s)
        note = cut.check_primary(connection)
        layout.lake_filter(stored.live_rows())  # raises an error of the condition before anything is read
        repairs = Repairs(run, table, source, origin, layout, request.repair, request.delete_extra)
        repairs.check()
        options = Options(request.first, request.shows_values, repairs.handle)
        comparison = Comparison(
            Looks(layout, source, stored), cut, connection, options, lambda step: run.enter(table, step),
            _progress(run, table, layout, source, request),
        )  # fmt: skip
        blank = attrs.evolve(
            answer,
            note=note,
            source=f"{name}: {origin}",
            compared=tuple(column.name for column in layout.columns) if request.mode != "counts" else (),
            uncompared=layout.uncompared,
        )
        first = comparison.compare(blank)
        return repairs.follow_up(first, attrs.evolve(comparison, options=Options(request.first)), blank)


def _compile(run: Run, table: TableConfig, marks: Mapping[Partition, Watermark]) -> CompiledTable:
    """Compile a table from all its schemas.  Raises `UsageError` for one that is not a copy of rows."""
    if DIALECTS[table.dialect].is_document:
        problem = f"table {table.name}: documents of {DIALECTS[table.dialect].title} cannot be verified yet"
        raise UsageError(problem, "Compare counts by hand")
    spans = {partition: (mark.begin, mark.end) for partition, mark in marks.items()}
    compiled = compile_written(table, *fetch_written(run.settings, run.registry, table, spans, spans))
    if compiled.model == Append():
        problem = f"table {table.name}: keeps every change, and is not a copy of its source"
        raise UsageError(problem, 'Verify tables with [target] mode = "upsert"')
    return compiled


def _progress(run: Run, table: TableConfig, layout: Layout, source: Source, request: Request) -> Progress:
    """Return the progress of a comparison, known by its source and its query."""
    query = str(layout.chunk_query(sql("0 = 0")))
    key = key_of(run.settings.lake.table_path(table.name), source.settings.url, request.mode, query)
    return Progress(progress_file(run.settings.state_dir, table.name), key, request.resume)


def _layout(
    compiled: CompiledTable,
    stored: Mapping[str, object] | None,
    source: Source,
    source_table: SourceTable,
    request: Request,
) -> Layout:
    name = compiled.table.name
    if stored is None:
        raise UsageError(f"table {name} does not have a commit yet", "Run it once first")
    layout = make_layout(
        compiled, stored, source.database, source_table, mode=request.mode, only=request.columns  # type: ignore[arg-type]
    )  # fmt: skip
    parts = max(1, round(SAMPLE_PARTS * request.sample_percent / 100))
    return attrs.evolve(layout, where=request.where, sample_parts=parts)


def read_table(connection: Connection, origin: Origin) -> SourceTable:
    """Read the columns of a table of the source.  Raises `SourceRefusedError` for a table without any."""
    database = connection.source.database
    schema, table = origin.parts
    query = database.columns.of(schema=database.literal(schema), table=database.literal(table))
    columns = {str(name): str(column_type) for name, column_type in connection.rows(query, 2)}
    if not columns:
        problem = f"does not have the table {origin}, or does not let its user see it"
        raise SourceRefusedError(
            connection.source.name, problem, "Check the table, and the rights of the user"
        )
    return SourceTable(origin.parts, columns)


def _choose_checksum(connection: Connection) -> Checksum:
    """Return the cheapest checksum that the database and Spark compute alike."""
    database = connection.source.database
    native = database.native
    if native is not None and all(connection.value(query) == "true" for query in native.conditions):
        return native.checksum
    return database.md5


def _current(connection: Connection) -> str | None:
    query = connection.source.database.current
    return None if query is None else connection.value(query)
