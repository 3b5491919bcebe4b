"""What the commits of a table say of its settings: what makes the next ones dear, and what readers miss."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, takewhile
from typing import Final

import attrs

from ingest.hudi.timeline.stored_commit import StoredCommit
from ingest.hudi.timeline.table_schema import columns_of
from ingest.sql.types import parse_ddl
from ingest.tables import TableConfig
from ingest.typemap.readers import reader_caveats

LIMIT_BYTES: Final = 512_000_000
"""The size of a bucket's file, and what each commit rewrites, from which `ingest status` warns."""
_GOAL_BYTES: Final = 128_000_000
"""The size that the advised number of buckets gives: Parquet's own unit of reading, a row group."""
_MOST: Final = 4096
_MEGABYTE: Final = 1_000_000
_MOST_LOOKED_UP: Final = 64_000_000
"""The size of all files from which the index of keys costs less than reading them (docs/performance.md)."""
_COMMITS: Final = 3
"""Commits, one after the other, that show how a table changes."""
_BYTES_PER_CHANGE: Final = 10_000
"""Bytes rewritten for each changed row, of which most are other rows."""


@attrs.frozen
class _Advice:
    reason: str
    setting: str


def advise(table: TableConfig, largest_bytes: int, commits: Iterable[StoredCommit]) -> str:
    """Return the settings that suit a table better, with the reasons, or empty if its own do.

    `largest_bytes` is the size of its largest base file.  The commits are read newest first, and few of them.
    """
    found = (*_of_rewrites(table, commits), *_of_buckets(table, largest_bytes))
    if not found:
        return ""
    reasons = ", and ".join(advice.reason for advice in found)
    settings = " and ".join(advice.setting for advice in found)
    return f"{reasons}: set [target] {settings}, then `ingest rebuild {table.name}`"


def advise_index(table: TableConfig, data_bytes: Callable[[], int]) -> str:
    """Return the index that suits a table better, with the reason, or empty.

    `data_bytes` is called only for `global_simple`: the bytes of the files whose keys a commit reads.
    """
    if table.target.index != "global_simple" or (size := data_bytes()) < _MOST_LOOKED_UP:
        return ""
    files = f"{size / _MEGABYTE:,.0f} MB of files"
    return f'each commit reads the keys of {files}: set [target] index = "global_record"'


def not_shown(table: TableConfig, commits: Iterable[StoredCommit]) -> list[str]:
    """Return what the readers that a table names do not show of it.  The commits are read newest first."""
    if not table.target.readers or "any" in table.target.readers:
        return []
    schema = next((commit.schema for commit in commits if commit.schema), "")
    if not schema:
        return []
    columns = columns_of(schema, f"the schema of {table.name}")
    return reader_caveats([(name, parse_ddl(kind)) for name, kind in columns.items()], table.target)


def _of_buckets(table: TableConfig, largest_bytes: int) -> Iterator[_Advice]:
    """Yield the number of buckets for a table that has outgrown its own."""
    buckets = table.target.buckets
    if table.target.index != "bucket" or largest_bytes < LIMIT_BYTES or buckets >= _MOST:
        return
    advised = buckets
    while advised < _MOST and largest_bytes * buckets > _GOAL_BYTES * advised:
        advised *= 2
    reason = f"a bucket has grown to {largest_bytes / _MEGABYTE:,.0f} MB, which each commit may rewrite"
    yield _Advice(reason, f"buckets = {min(advised, _MOST)} in place of {buckets}")


def _of_rewrites(table: TableConfig, commits: Iterable[StoredCommit]) -> Iterator[_Advice]:
    """Yield the type for a table of which each commit rewrites much for few rows.

    None for `global_simple`: with merge-on-read it reads the rows of every file that a change may be in.
    Nor for `global_record`: its commits add to the index as well.
    """
    if table.target.type != "cow" or table.target.index != "bucket":
        return
    newest = list(islice(takewhile(_rewrites_much, filter(_is_run, commits)), _COMMITS))
    if len(newest) == _COMMITS:
        written, changed = sum(commit.bytes for commit in newest), sum(map(_changes, newest))
        size = f"{written / _MEGABYTE:,.0f} MB"
        yield _Advice(f"the last {_COMMITS} commits rewrote {size} for {changed:,} rows", 'type = "mor"')


def _is_run(commit: StoredCommit) -> bool:
    """Whether a run made the commit, and changed rows."""
    return commit.entry is not None and commit.entry.kind == "run" and bool(_changes(commit))


def _rewrites_much(commit: StoredCommit) -> bool:
    limit = max(LIMIT_BYTES, _changes(commit) * _BYTES_PER_CHANGE)
    return commit.operation == "UPSERT" and commit.bytes >= limit


def _changes(commit: StoredCommit) -> int:
    counters = commit.entry.counters if commit.entry else {}
    return counters.get("upserted", 0) + counters.get("deleted", 0)
