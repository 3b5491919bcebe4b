"""What a table's commits say of themselves: the consumed offsets lie in the commit that holds their rows.

Every value is a string under a key with our prefix in the commit's metadata, so rows and offsets appear
together or not at all, and a restore to a savepoint takes both back.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, Literal, get_args

import attrs
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ingest.errors import LakeError, LakeUnreachableError
from ingest.hudi.java_errors import root_cause
from ingest.hudi.metaclient import open_table
from ingest.names import Instant, Partition, SchemaId, Topic

PREFIX: Final = "ingest."
FORMAT: Final = "1"
TABLE_SERVICES: Final = frozenset({"COMPACT", "CLUSTER", "LOG_COMPACT"})
"""Operations that rewrite files only; older Hudi copied the metadata of an earlier commit into theirs."""

Kind = Literal["run", "set-offsets", "replay", "purge"]
"""What made a commit; `purge` stands in the tables of rejects alone."""


@attrs.frozen
class LedgerEntry:
    """One commit's account of itself.

    `next_offsets` is where to read on, `high_offsets` the end of what was ever applied: when a person moves
    `next_offsets` back, what lies between is a replay.  Both are exclusive ends.  `schema_ids` and `counters`
    are those of this commit.  `instant` is None until it is committed.
    """

    run_id: str
    topic: Topic
    next_offsets: Mapping[Partition, int]
    high_offsets: Mapping[Partition, int]
    schema_ids: tuple[SchemaId, ...] = ()
    counters: Mapping[str, int] = attrs.Factory(dict)
    kind: Kind = "run"
    note: str = ""
    max_source_ms: int | None = None
    """The newest source time of any change applied so far, in ms since 1970 (UTC)."""
    known_ids: tuple[SchemaId, ...] = ()
    """The schemas that any commit so far met: what a later one changes is told against them."""
    topic_id: str = ""
    """The broker's id of the topic, another one when it is created anew; empty where nobody told it."""
    instant: Instant | None = None
    committed_ms: int | None = attrs.field(default=None, eq=False)
    """When the commit was made, in ms since 1970 (UTC): the instant is in the time zone of who wrote it."""


def read(spark: SparkSession, path: str) -> LedgerEntry | None:
    """Read the newest entry; None when there is no table, or no commit of ours in it."""
    return next(iter(history(spark, path, 1)), None)


def history(spark: SparkSession, path: str, limit: int) -> tuple[LedgerEntry, ...]:
    """Read up to `limit` entries, newest first.

    Commits without one (other writers, compaction) are passed over.
    """
    table = open_table(spark, path)
    if table is None:
        return ()
    try:
        return tuple(islice(_all_entries(path, table), limit))
    except Py4JJavaError as error:
        raise LakeUnreachableError(path, root_cause(error)) from error


def commit_metadata(entry: LedgerEntry) -> dict[str, str]:
    """Write an entry as the Hudi options that put it into the commit's metadata."""
    values = {
        "format": FORMAT,
        "kind": entry.kind,
        "run_id": entry.run_id,
        "topic": entry.topic,
        "topic_id": entry.topic_id,
        "next_offsets": json.dumps(entry.next_offsets, sort_keys=True),
        "high_offsets": json.dumps(entry.high_offsets, sort_keys=True),
        "schema_ids": json.dumps(entry.schema_ids),
        "counters": json.dumps(dict(entry.counters), sort_keys=True),
        "note": entry.note,
        "max_source_ms": "" if entry.max_source_ms is None else str(entry.max_source_ms),
        "known_ids": json.dumps(entry.known_ids),
        "committed_ms": "" if entry.committed_ms is None else str(entry.committed_ms),
    }
    return {PREFIX + key: value for key, value in values.items()}


def _all_entries(path: str, table: Any) -> Iterator[LedgerEntry]:
    """Give the entries of the active timeline, then, if still asked, those that Hudi has archived."""
    yield from _entries(path, table.getActiveTimeline().getCommitsTimeline())
    archived = table.getArchivedTimeline()
    archived.loadCompletedInstantDetailsInMemory()
    yield from _entries(path, archived.getCommitsTimeline())


def _entries(path: str, timeline: Any) -> Iterator[LedgerEntry]:
    """Walk back over the completed commits and give the entries in them."""
    commits = timeline.filterCompletedInstants()
    instants = commits.getReverseOrderedInstants().iterator()
    while instants.hasNext():
        instant = instants.next()
        metadata = commits.readCommitMetadata(instant)
        if metadata.getOperationType().toString() in TABLE_SERVICES:
            continue
        values = dict(metadata.getExtraMetadata())
        if PREFIX + "format" in values:
            yield _entry(path, Instant(instant.requestedTime()), values)


def _entry(path: str, instant: Instant, values: Mapping[str, str]) -> LedgerEntry:
    """Read one entry; a format that a newer `ingest` wrote is refused, never guessed."""
    found = values[PREFIX + "format"]
    if found != FORMAT:
        raise LakeError(
            f"{path}, commit {instant}",
            f"its ledger has format '{found}', this version reads '{FORMAT}'",
            "Run the version of ingest that wrote it, or a newer one",
        )
    said = values[PREFIX + "kind"]
    return LedgerEntry(
        run_id=values[PREFIX + "run_id"],
        topic=Topic(values[PREFIX + "topic"]),
        next_offsets=_offsets(values[PREFIX + "next_offsets"]),
        high_offsets=_offsets(values[PREFIX + "high_offsets"]),
        schema_ids=tuple(SchemaId(one) for one in json.loads(values[PREFIX + "schema_ids"])),
        counters=json.loads(values[PREFIX + "counters"]),
        kind=next((kind for kind in get_args(Kind) if kind == said), "run"),
        note=values[PREFIX + "note"],
        max_source_ms=_millis(values.get(PREFIX + "max_source_ms")),
        known_ids=tuple(SchemaId(one) for one in json.loads(values.get(PREFIX + "known_ids") or "[]")),
        topic_id=values.get(PREFIX + "topic_id", ""),
        instant=instant,
        committed_ms=_millis(values.get(PREFIX + "committed_ms")),
    )


def _millis(text: str | None) -> int | None:
    return int(text) if text else None


def _offsets(text: str) -> dict[Partition, int]:
    """Read offsets by partition: JSON keeps the partition numbers as text."""
    return {Partition(int(partition)): offset for partition, offset in json.loads(text).items()}
