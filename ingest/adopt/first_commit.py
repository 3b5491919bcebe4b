"""The first commit of a table from imported rows, with its ledger entry, so that runs can continue."""

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress

import attrs

from ingest.adopt.columns import unmasked
from ingest.adopt.rows import ForeignRows
from ingest.adopt.start import StartOffsets
from ingest.compile.table import CompiledTable
from ingest.errors import TakeoverError
from ingest.hudi.fixed import recorded_masks
from ingest.hudi.options import check_hudi, options_digest
from ingest.hudi.storage.exchange import Folders, exchange, find_folders
from ingest.hudi.storage.folder import UnclearFilesError
from ingest.hudi.table import HudiTable
from ingest.hudi.timeline.ledger import CommitKind, LedgerEntry
from ingest.kafka.breaks import Watermark, topic_id_of
from ingest.names import Partition
from ingest.run.batch.keys import check_masked_names
from ingest.run.batch.schemas import compile_written, fetch_written
from ingest.run.work.context import Context
from ingest.run.work.writer import Writer
from ingest.spark.driver import UNKNOWN_BYTES
from ingest.tables import TableConfig

Marks = Mapping[Partition, Watermark]


@attrs.frozen
class Subject:
    """A table to begin: compiled by its file, with and without masks."""

    table: TableConfig
    compiled: CompiledTable
    plain: CompiledTable
    marks: Marks


def expect_rows(run: Context, table: TableConfig, size: Callable[[], int]) -> None:
    """Note the work of a takeover before Spark starts: its rows are read to check and to write them.

    `size` returns the bytes of the rows, or raises if only Spark finds them.
    """
    run.file_bytes[table.name] = UNKNOWN_BYTES
    with suppress(UnclearFilesError, OSError):
        run.file_bytes[table.name] = 2 * size() or UNKNOWN_BYTES


def open_subject(run: Context, table: TableConfig, marks: Marks) -> Subject:
    """Compile a table by all its schemas.  Raises TakeoverError for one that cannot begin with rows."""
    check_hudi(table)
    run.step(table, "comparing the columns")
    spans = {partition: (mark.begin, mark.end) for partition, mark in marks.items()}
    (feed,) = run.feeds(table)
    schemas = fetch_written(run.settings, run.registry, feed, spans, spans)
    compiled = compile_written(feed, *schemas)
    check_masked_names(compiled)
    if compiled.model.keeps_changes:
        problem = f'with [target] mode = "{table.target.mode}" a row is a message of the topic'
        raise TakeoverError(table.name, problem, "Adopt or load tables of rows")
    if compiled.dialect.is_document:
        raise TakeoverError(table.name, "it holds documents", "Let the connector send a new snapshot")
    return Subject(table, compiled, compile_written(unmasked(feed), *schemas), marks)


def first_entry(
    run: Context, subject: Subject, start: StartOffsets, kind: CommitKind, note: str
) -> LedgerEntry:
    """Return the ledger entry of a first commit."""
    table, compiled = subject.table, subject.compiled
    ids = compiled.value.in_version_order(
        schema_id for schema_id in compiled.schema_ids if schema_id > 0 and schema_id not in compiled.misfits
    )
    return LedgerEntry(
        run_id=run.run_id,
        topic=table.topic,
        next_offsets=start.next,
        high_offsets=start.high,
        start_offsets=start.next,
        kind=kind,
        note=note,
        known_ids=ids,
        topic_id=topic_id_of(subject.marks),
        masks=recorded_masks(compiled.masks, compiled.feed.masking.salt_id),
        checked_options=options_digest(table) if table.hudi else "",
    )


def commit_first(writer: Writer, foreign: ForeignRows, position: str, entry: LedgerEntry) -> LedgerEntry:
    """Commit the rows at the table's path: the table is there with all of them, or not at all."""
    batch, rows = foreign.table_rows(position)
    writer.run.step(writer.table, "writing the rows")
    return writer.commit(rows, entry, batch.key_names)


def replace_foreign(
    writer: Writer, foreign: ForeignRows, position: str, entry: LedgerEntry, check: Callable[[], None]
) -> LedgerEntry:
    """Commit the rows into a separate folder, and exchange it for the other writer's table.

    `check` raises if the exchange must not follow.
    """
    run, table = writer.run, writer.table
    folders = exchanged_folders(run, table)
    _remove_copy(run, table, folders)
    batch, rows = foreign.table_rows(position)
    run.step(table, "writing the rows")
    writer.begin_commit()
    copied = HudiTable(run.spark, f"file://{folders.copy}")
    committed = copied.commit(rows, table, batch.key_names, "load", entry)
    writer.begin_commit()
    check()
    exchange(folders.table, folders.copy)
    writer.stored.reopen()
    return committed


def exchanged_folders(run: Context, table: TableConfig) -> Folders:
    """Return the folders to exchange.  Raises TakeoverError if the storage cannot exchange them."""
    lake, default_fs = run.settings.lake, run.files.hadoop.default_fs
    folders = find_folders(lake.table_path(table.name), lake.adopted_path(table.name), default_fs)
    if not isinstance(folders, str):
        return folders
    raise TakeoverError(
        table.name,
        f"a table in its own place needs a storage that exchanges two folders in one step "
        f"({lake.path}: {folders})",
        "Move the table to another folder, and give that as --path",
    )


def _remove_copy(run: Context, table: TableConfig, folders: Folders) -> None:
    """Remove the rest of a killed adoption, but keep another writer's table from an earlier adoption."""
    if not folders.copy.exists():
        return
    copied = HudiTable(run.spark, f"file://{folders.copy}")
    if copied.client is not None and copied.checkpoint() is None and copied.commits():
        raise TakeoverError(
            table.name,
            f"{folders.copy} holds the table of another writer, from an earlier adoption",
            "Move or delete that folder",
        )
    shutil.rmtree(folders.copy)
