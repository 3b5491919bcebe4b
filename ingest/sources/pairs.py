"""Pair the lake's columns with the source's: each gets a form, or a reason why it is not compared."""

from collections.abc import Mapping, Sequence
from typing import Final

from ingest.compile.clashes import base_of, home_of_newest
from ingest.compile.column_versions import ColumnVersion
from ingest.compile.table import CompiledTable
from ingest.config.rules import suggest
from ingest.errors import SourceRefusedError, UsageError
from ingest.sources.database import Database
from ingest.sources.forms import form_of
from ingest.sources.layout import ComparedColumn, Layout, Mode
from ingest.sources.queries import SourceTable
from ingest.sql.template import sql
from ingest.sql.types import SparkType
from ingest.tables import SOURCE

_RESERVED: Final = "_cdc_"


def make_layout(
    compiled: CompiledTable,
    stored: Mapping[str, SparkType],
    database: Database,
    source: SourceTable,
    *,
    mode: Mode = "checksums",
    only: Sequence[str] = (),
) -> Layout:
    """Pair the lake's columns with the source's, each with its form. `only` names the columns to compare."""
    check_only(only, stored)
    key_names = [name for name, _ in compiled.key_columns if name != SOURCE]
    pairs: dict[str, ComparedColumn | str] = {
        name: pair_column(compiled, name, stored, database, source)
        for name in stored
        if not name.startswith(_RESERVED)
    }
    keys = tuple(_key(pairs[name], name, compiled.table.name, database) for name in key_names)
    columns = [
        (name, pair) for name, pair in pairs.items() if name not in key_names and (not only or name in only)
    ]
    uncompared = {name: pair for name, pair in columns if isinstance(pair, str)}
    if not only:
        uncompared |= _only_in_source(compiled, source, pairs)
    values = tuple(pair for _, pair in columns if isinstance(pair, ComparedColumn))
    return Layout(keys, values, uncompared, mode)


def check_only(only: Sequence[str], stored: Mapping[str, SparkType]) -> None:
    """Refuse `--columns` that the table lacks.  Raises `UsageError`."""
    unknown = [name for name in only if name not in stored]
    if unknown:
        problem = f"--columns: {unknown[0]} is not a column of the table"
        raise UsageError(problem, suggest(unknown[0], list(stored)))


def _only_in_source(
    compiled: CompiledTable, source: SourceTable, pairs: Mapping[str, ComparedColumn | str]
) -> dict[str, str]:
    """Return the source's columns that the table lacks, with the reason."""
    matched = {pair.source for pair in pairs.values() if isinstance(pair, ComparedColumn)}
    excluded = {name for name, column in compiled.table.columns.items() if column.exclude}
    return {
        name: "is excluded by the table file" if name in excluded else "is not a column of the table"
        for name in source.columns
        if name not in matched and _event_name(name) not in pairs
    }


def pair_column(
    compiled: CompiledTable,
    name: str,
    columns: Mapping[str, SparkType],
    database: Database,
    source: SourceTable,
) -> ComparedColumn | str:
    """Return a column of the lake with its column in the source, or the reason why it is not compared.

    `columns` are all columns of the lake.  The newest type of a column may be a separate column there.
    """
    newest = _newest_version(compiled, name, columns)
    if isinstance(newest, str):
        return newest
    names = [column for column in source.columns if column == newest.origin] or [
        column for column in source.columns if _event_name(column) == newest.origin
    ]
    if len(names) != 1:
        return "is not a column of the source" if not names else f"may be any of {', '.join(names)}"
    source_type = source.columns[names[0]]
    form = form_of(newest.mapped, columns[name])
    if isinstance(form, str):
        return form
    if database.text(form, source_type, sql("c")) is None:
        return f"{source_type} has no canonical form as {columns[name]}"
    return ComparedColumn(name, names[0], source_type, form)


def _newest_version(
    compiled: CompiledTable, name: str, columns: Mapping[str, SparkType]
) -> ColumnVersion | str:
    """Return the newest version of a stored column, or the reason why its values cannot be compared."""
    base = base_of(compiled, name)
    if base in compiled.value.columns():
        home = home_of_newest(compiled, base, columns)
        if home != name:
            return f"holds values of an earlier type; column {home} has the newest"
    versions = [
        v for v in (*compiled.key.column_versions, *compiled.value.column_versions) if v.column == base
    ]
    if not versions:
        is_computed = name in compiled.table.computed
        return "is computed by the table file" if is_computed else "no schema of the topic has it"
    mask = versions[-1].mapped.mask
    return f"holds masked values (mask {mask})" if mask else versions[-1]


def _key(pair: ComparedColumn | str, name: str, table: str, database: Database) -> ComparedColumn:
    if isinstance(pair, str):
        problem = f"table {table}: key column {name} cannot be compared: {pair}"
        raise SourceRefusedError(database.title, problem, "Rows without comparable keys cannot be verified")
    return pair


def _event_name(column: str) -> str:
    """Return the name that events may have for a column (`field.name.adjustment.mode = avro`)."""
    adjusted = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in column)
    return f"_{adjusted}" if adjusted[:1].isdigit() else adjusted
