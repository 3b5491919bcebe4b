"""The life of a table's schema: its columns now, and the changes that commits and versions brought."""

from collections.abc import Iterator, Mapping, Sequence

import attrs

from ingest.compile.describe import ColumnLine, describe
from ingest.compile.diff import SchemaChange, differences
from ingest.compile.payload import WriterSchema
from ingest.hudi.timeline.table_schema import columns_of
from ingest.names import SchemaId
from ingest.operations.status.history import Commit
from ingest.run.batch.schemas import compile_written
from ingest.tables import Feed, TableConfig


@attrs.frozen
class ColumnFacts:
    """A column, from its type at the source to its type in the table, each empty if it is not there."""

    name: str
    source: str = ""
    """The physical type in the newest version of the value subject."""
    meaning: str = ""
    table: str = ""
    loses: str = ""
    note: str = ""


@attrs.frozen
class TableChange:
    """A commit that changed the table's columns: name, type before, type after, None for an absent one."""

    commit: Commit
    columns: tuple[tuple[str, str | None, str | None], ...]


@attrs.frozen
class VersionChange:
    """A version of the value subject, and its differences from the version before it."""

    version: int
    schema_id: SchemaId
    changes: tuple[SchemaChange, ...] = ()
    problem: str = ""


def newest_columns(commits: Sequence[Commit]) -> dict[str, str]:
    """Return the columns of the newest commit with a schema.  `commits` are newest first."""
    schemas = (commit.stored.schema for commit in commits if commit.stored.schema)
    return columns_of(next(schemas, '{"type": "record", "name": "t", "fields": []}'), "the table's schema")


def table_changes(commits: Sequence[Commit]) -> tuple[TableChange, ...]:
    """Return the commits that changed the columns, newest first.  In the oldest, all columns are new."""
    changes: list[TableChange] = []
    text, before = "", dict[str, str]()
    for commit in reversed(commits):
        if commit.stored.schema in ("", text):
            continue
        text = commit.stored.schema
        columns = columns_of(text, f"commit {commit.stored.instant}")
        changed = tuple(_changed(before, columns))
        before = columns
        if changed:
            changes.append(TableChange(commit, changed))
    return tuple(reversed(changes))


def _changed(
    before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[tuple[str, str | None, str | None]]:
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield name, before.get(name), after.get(name)


def version_changes(feed: Feed, schemas: Sequence[WriterSchema]) -> tuple[VersionChange, ...]:
    """Return the versions, newest first, each compared with the one before.  `schemas` are oldest first."""
    if len(schemas) < 2:  # noqa: PLR2004  nothing to compare, and so nothing to compile
        return tuple(VersionChange(schema.version, schema.schema_id) for schema in schemas)
    compiled = compile_written(feed.keyless(), (), schemas)
    problems = {schema.schema_id: problem for schema, problem in compiled.unmapped}
    problems |= dict(compiled.misfits)
    versions, older = list[VersionChange](), None
    for schema in schemas:
        problem = problems.get(schema.schema_id, "")
        changes: Sequence[SchemaChange] = ()
        if not problem and older is not None:
            changes = differences(compiled.value, older, schema.schema_id)
        versions.append(VersionChange(schema.version, schema.schema_id, tuple(changes), problem))
        older = older if problem else schema.schema_id
    return tuple(reversed(versions))


def column_facts(
    table: TableConfig, stored: Mapping[str, str], newest: WriterSchema | None
) -> tuple[ColumnFacts, ...]:
    """Return every column of the source, in its order, then the columns that only the table has."""
    lines = describe(newest.schema, newest.label).columns if newest else ()
    facts = [_of_source(table, line, stored) for line in lines]
    names = {fact.name for fact in facts}
    notes = "" if newest is None else "in the table only"
    return (
        *facts,
        *(
            ColumnFacts(name, table=kind, note="written by ingest" if name.startswith("_cdc_") else notes)
            for name, kind in stored.items()
            if name not in names
        ),
    )


def _of_source(table: TableConfig, line: ColumnLine, stored: Mapping[str, str]) -> ColumnFacts:
    column = table.columns.get(line.name)
    name = (column.rename if column else "") or line.name
    note = line.problem
    if column and column.exclude:
        note = "excluded by the table file"
    elif name != line.name:
        note = f"{line.name} at the source"
    elif not note and stored and name not in stored:
        note = "not in the table yet"
    return ColumnFacts(name, line.avro, line.semantic, stored.get(name, ""), line.loses, note)
