"""What `ingest status` advises for tables whose layout makes commits dear."""

import re

import attrs
import pytest

from ingest.hudi.timeline.ledger import CommitKind, commit_metadata
from ingest.hudi.timeline.stored_commit import StoredCommit, WrittenFile
from ingest.names import Instant, Subject, Topic
from ingest.operations.status.advice import LIMIT_BYTES, advise, advise_index, not_shown
from ingest.tables import Subjects, TableConfig, Target
from tests.hudi.conftest import entry_of

LARGE = LIMIT_BYTES


def table_of(target: Target) -> TableConfig:
    """Make a table file's value."""
    subjects = Subjects(value=Subject("t-value"))
    return TableConfig(name="orders", topic=Topic("t"), dialect="sqlserver", subjects=subjects, target=target)


@pytest.mark.parametrize(
    ("target", "size", "advice"),
    [
        (Target(buckets=2), 511_999_999, ""),
        (
            Target(buckets=2),
            812_000_000,
            "812 MB, .* buckets = 16 in place of 2, then `ingest rebuild orders`$",
        ),
        (Target(buckets=4096), 10**12, ""),
        (Target(buckets=3000), 10**12, "buckets = 4096"),
        (Target(index="global_simple"), 10**12, ""),
    ],
)
def test_files_advise_the_number_of_buckets(target: Target, size: int, advice: str) -> None:
    """Files of 128 MB, where a bucket's file is over 512 MB."""
    warning = advise(table_of(target), size, ())
    assert re.search(advice, warning) if advice else warning == ""


def commit(size: int, changes: int, operation: str = "UPSERT", kind: CommitKind = "run") -> StoredCommit:
    """Make a commit that wrote a file and changed rows."""
    entry = attrs.evolve(entry_of(1), counters={"upserted": changes - 1, "deleted": 1}, kind=kind)
    file = WrittenFile("20261126165500000", "0", "0_1.parquet", size)
    return StoredCommit("t", Instant("1"), "2", operation, commit_metadata(entry), (file,))


MUCH = commit(LARGE, 20_000)
FAIR = commit(LARGE, 60_000)


SCHEMA = '{"type": "record", "name": "orders", "fields": [{"name": "id", "type": "int"}]}'


@pytest.mark.parametrize(
    ("target", "warning"),
    [
        (Target(readers=("trino",), table_version=6), ""),
        (
            Target(readers=("spark", "trino"), type="mor", table_version=6),
            "not for Trino .*: they see",
        ),
        (Target(readers=("trino",)), r"not for Trino .*: it needs \[target\] table_version = 6"),
        (Target(readers=("hive",)), "^Hive .* cuts timestamps"),
        (Target(readers=("any",)), ""),
        (Target(type="mor"), ""),
    ],
)
def test_a_reader_that_is_named_and_misses_rows_is_warned_of(target: Target, warning: str) -> None:
    """By the newest commit with a schema; a table that names no reader, or any, has no warning."""
    written = attrs.evolve(MUCH, values=MUCH.values | {"schema": SCHEMA})
    found = "; ".join(not_shown(table_of(target), (MUCH, written)))
    assert re.search(warning, found) if warning else found == ""


@pytest.mark.parametrize(
    ("commits", "warns"),
    [
        ((MUCH, MUCH, MUCH, FAIR), True),
        ((MUCH, MUCH), False),
        ((MUCH, commit(0, 1, kind="set-offsets"), MUCH, commit(LARGE, 1, kind="rebuild"), MUCH), True),
        ((MUCH, MUCH, FAIR, MUCH), False),
        ((MUCH, MUCH, commit(LARGE - 1, 1), MUCH), False),
        ((MUCH, MUCH, commit(LARGE, 1, "BULK_INSERT")), False),
    ],
    ids=["much", "two commits", "others between", "many changes", "small", "first load"],
)
def test_commits_that_rewrite_much_for_few_rows_advise_the_type(
    commits: tuple[StoredCommit, ...], *, warns: bool
) -> None:
    """A merge-on-read commit writes the changed rows alone."""
    warning = advise(table_of(Target(type="cow")), 0, commits)
    assert warning == (
        "the last 3 commits rewrote 1,536 MB for 60,000 rows: "
        'set [target] type = "mor", then `ingest rebuild orders`'
        if warns
        else ""
    )
    for target in (Target(type="mor"), Target(type="cow", index="global_simple")):
        assert advise(table_of(target), 0, commits) == ""


@pytest.mark.parametrize(
    ("target", "size", "advice"),
    [
        (Target(index="global_simple"), 63_999_999, ""),
        (
            Target(index="global_simple"),
            812_000_000,
            'each commit reads the keys of 812 MB of files: set [target] index = "global_record"',
        ),
        (Target(index="global_record"), 812_000_000, ""),
        (Target(), 812_000_000, ""),
    ],
)
def test_files_whose_keys_each_commit_reads_advise_the_record_index(
    target: Target, size: int, advice: str
) -> None:
    """From 64 MB on, and without a rebuild."""
    assert advise_index(table_of(target), lambda: size) == advice


def test_one_rebuild_follows_all_advice() -> None:
    """It takes minutes."""
    warning = advise(table_of(Target(type="cow", buckets=2)), LARGE, (MUCH, MUCH, MUCH))
    assert warning.endswith(
        'set [target] type = "mor" and buckets = 8 in place of 2, then `ingest rebuild orders`'
    )
