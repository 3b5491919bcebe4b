"""The ledger: each commit's account of itself, with the offsets that its rows come from.

Every value is a string under a key with our prefix in the commit's metadata, so rows and offsets appear
together or not at all, and a restore to a savepoint takes both back.
"""

import json
from collections.abc import Mapping
from typing import Final, Literal, get_args

import attrs

from ingest.errors import LakeError
from ingest.names import Instant, Partition, SchemaId, Topic, Truncate

PREFIX: Final = "ingest."
FORMAT: Final = "1"
MANY_TOPICS: Final = "2"
"""The format of commits that hold the offsets of several topics: older versions would lose those."""
TABLE_SERVICES: Final = frozenset({"COMPACT", "CLUSTER", "LOG_COMPACT"})
"""Operations that rewrite files only; older Hudi copied the metadata of an earlier commit into theirs."""

CommitKind = Literal["run", "set-offsets", "replay", "repair", "rebuild", "adopt", "load", "purge"]
"""The command behind a commit; only tables of rejects have a `purge`."""


@attrs.frozen
class TopicOffsets:
    """How far one topic of several has been read; the fields are those of a `LedgerEntry`."""

    next_offsets: Mapping[Partition, int]
    high_offsets: Mapping[Partition, int]
    topic_id: str = ""
    max_source_ms: int | None = None
    truncates: tuple[Truncate, ...] = ()


@attrs.frozen
class LedgerEntry:
    """One commit's account of itself: a checkpoint.

    The next run reads from `next_offsets`; `high_offsets` ends the offsets ever applied: after a person moves
    `next_offsets` back, the range between them is a replay.  Both are exclusive ends.  `schema_ids` and
    `counters` are those of this commit.  `instant` is None until it is committed.
    """

    run_id: str
    topic: Topic
    next_offsets: Mapping[Partition, int]
    high_offsets: Mapping[Partition, int]
    schema_ids: tuple[SchemaId, ...] = ()
    counters: Mapping[str, int] = attrs.Factory(dict)
    kind: CommitKind = "run"
    note: str = ""
    max_source_ms: int | None = None
    """The newest source time of any change applied so far, in ms since 1970 (UTC)."""
    known_ids: tuple[SchemaId, ...] = ()
    """The schemas of all commits so far: the changes of a later schema are computed against these."""
    topic_id: str = ""
    """The broker's id of the topic, which changes when the topic is created again; empty if unknown."""
    table_file: Mapping[str, str] = attrs.Factory(dict)
    """The parts of the table file that are fixed at creation; empty in commits of older versions."""
    masks: Mapping[str, str] = attrs.Factory(dict)
    """The masks of the stored columns; of hashes also the id of the salt."""
    start_offsets: Mapping[Partition, int] = attrs.Factory(dict)
    """The offsets that the commit started from; empty in commits of older versions."""
    checked_options: str = ""
    """A digest of the `[hudi]` options whose values Hudi's classes had checked; empty without options."""
    truncates: tuple[Truncate, ...] = ()
    """The topic's truncates that a history has applied: they end older versions that come late, too."""
    tombstone_ends: bool = False
    """Whether a history may have versions that a tombstone without its delete has ended."""
    other_topics: Mapping[Topic, TopicOffsets] = attrs.Factory(dict)
    """The offsets of the table's other topics; empty for a table of one topic."""
    instant: Instant | None = None
    committed_ms: int | None = attrs.field(default=None, eq=False)
    """The time of the commit, in ms since 1970 (UTC); older instants are in the zone of the JVM."""
    started_ms: int | None = attrs.field(default=None, eq=False)
    """The time at which the run began to read; None in commits of older versions."""

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The topics that the table has read, sorted."""
        return tuple(sorted({self.topic, *self.other_topics}))

    @property
    def own(self) -> TopicOffsets:
        """The offsets of the entry's own topic."""
        return TopicOffsets(
            self.next_offsets, self.high_offsets, self.topic_id, self.max_source_ms, self.truncates
        )

    def seen_by(self, topic: Topic) -> "LedgerEntry":
        """Return the entry with the offsets of another topic as its own; without any for a new topic."""
        if topic == self.topic:
            return self
        other_topics = {**self.other_topics, self.topic: self.own}
        offsets = other_topics.pop(topic, TopicOffsets({}, {}))
        return attrs.evolve(
            self,
            topic=topic,
            other_topics=other_topics,
            **attrs.asdict(offsets, recurse=False),
            start_offsets={},
        )


def commit_metadata(entry: LedgerEntry) -> dict[str, str]:
    """Write an entry as the Hudi options that put it into the commit's metadata."""
    values = {
        "format": MANY_TOPICS if entry.other_topics else FORMAT,
        "kind": entry.kind,
        "run_id": entry.run_id,
        "topic": entry.topic,
        "topic_id": entry.topic_id,
        "next_offsets": json.dumps(entry.next_offsets, sort_keys=True),
        "high_offsets": json.dumps(entry.high_offsets, sort_keys=True),
        "start_offsets": json.dumps(entry.start_offsets, sort_keys=True),
        "schema_ids": json.dumps(entry.schema_ids),
        "counters": json.dumps(dict(entry.counters), sort_keys=True),
        "note": entry.note,
        "checked_options": entry.checked_options,
        "max_source_ms": "" if entry.max_source_ms is None else str(entry.max_source_ms),
        "known_ids": json.dumps(entry.known_ids),
        "table_file": json.dumps(dict(entry.table_file), sort_keys=True),
        "masks": json.dumps(dict(entry.masks), sort_keys=True),
        **({"truncates": json.dumps([attrs.astuple(t) for t in entry.truncates])} if entry.truncates else {}),
        **({"tombstone_ends": "yes"} if entry.tombstone_ends else {}),
        "committed_ms": "" if entry.committed_ms is None else str(entry.committed_ms),
        "started_ms": "" if entry.started_ms is None else str(entry.started_ms),
    }
    if entry.other_topics:
        other_topics = {topic: attrs.asdict(offsets) for topic, offsets in entry.other_topics.items()}
        values["other_topics"] = json.dumps(other_topics, sort_keys=True)
    return {PREFIX + key: value for key, value in values.items()}


def entry_of(path: str, instant: Instant, operation: str, values: Mapping[str, str]) -> LedgerEntry | None:
    """Return the entry in a commit's metadata; None for a commit that is not ours, or moved files only."""
    if operation in TABLE_SERVICES or PREFIX + "format" not in values:
        return None
    return read_entry(path, instant, values)


def read_entry(path: str, instant: Instant, values: Mapping[str, str]) -> LedgerEntry:
    """Read the entry in a commit's metadata.  Raises LakeError for a newer format."""
    version = values[PREFIX + "format"]
    if version not in (FORMAT, MANY_TOPICS):
        raise LakeError(
            f"{path}, commit {instant}",
            f"its ledger has format '{version}', this version reads '{FORMAT}' and '{MANY_TOPICS}'",
            "Run the version of ingest that wrote it, or a newer one",
        )
    return LedgerEntry(
        run_id=values[PREFIX + "run_id"],
        topic=Topic(values[PREFIX + "topic"]),
        next_offsets=_offsets(values[PREFIX + "next_offsets"]),
        high_offsets=_offsets(values[PREFIX + "high_offsets"]),
        schema_ids=_ids(values[PREFIX + "schema_ids"]),
        counters=json.loads(values[PREFIX + "counters"]),
        kind=next((kind for kind in get_args(CommitKind) if kind == values[PREFIX + "kind"]), "run"),
        note=values[PREFIX + "note"],
        max_source_ms=_millis(values.get(PREFIX + "max_source_ms")),
        known_ids=_ids(values.get(PREFIX + "known_ids") or "[]"),
        topic_id=values.get(PREFIX + "topic_id", ""),
        start_offsets=_offsets(values.get(PREFIX + "start_offsets") or "{}"),
        table_file=json.loads(values.get(PREFIX + "table_file") or "{}"),
        masks=json.loads(values.get(PREFIX + "masks") or "{}"),
        checked_options=values.get(PREFIX + "checked_options", ""),
        truncates=tuple(Truncate(*values) for values in json.loads(values.get(PREFIX + "truncates") or "[]")),
        tombstone_ends=PREFIX + "tombstone_ends" in values,
        other_topics=_other_topics(values.get(PREFIX + "other_topics") or "{}"),
        instant=instant,
        committed_ms=_millis(values.get(PREFIX + "committed_ms")),
        started_ms=_millis(values.get(PREFIX + "started_ms")),
    )


def _ids(text: str) -> tuple[SchemaId, ...]:
    return tuple(SchemaId(schema_id) for schema_id in json.loads(text))


def _other_topics(text: str) -> dict[Topic, TopicOffsets]:
    return {
        Topic(topic): TopicOffsets(
            _by_partition(offsets["next_offsets"]),
            _by_partition(offsets["high_offsets"]),
            offsets["topic_id"],
            offsets["max_source_ms"],
            tuple(Truncate(**values) for values in offsets.get("truncates", ())),
        )
        for topic, offsets in json.loads(text).items()
    }


def _millis(text: str | None) -> int | None:
    return int(text) if text else None


def _offsets(text: str) -> dict[Partition, int]:
    return _by_partition(json.loads(text))


def _by_partition(offsets: Mapping[str, int]) -> dict[Partition, int]:
    """Read offsets by partition: JSON keeps the partition numbers as text."""
    return {Partition(int(partition)): offset for partition, offset in offsets.items()}
