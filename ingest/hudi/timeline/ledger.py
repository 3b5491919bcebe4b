"""The ledger: each commit's account of itself, with the offsets that its rows come from.

Every value is a string under a key with our prefix in the commit's metadata, so rows and offsets appear
together or not at all, and a restore to a savepoint takes both back.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal, get_args

import attrs
import cattrs

from ingest.errors import LakeError
from ingest.moments import moment_or_none
from ingest.names import Instant, Partition, SchemaId, Topic, Truncate

PREFIX: Final = "ingest."
FORMAT: Final = "1"
MANY_TOPICS: Final = "2"
"""The format of commits that hold the offsets of several topics: older versions would lose those."""
TABLE_SERVICES: Final = frozenset({"COMPACT", "CLUSTER", "LOG_COMPACT"})
"""Operations that rewrite files only.  Older Hudi copied the metadata of an earlier commit into theirs."""

CommitKind = Literal["run", "set-offsets", "replay", "repair", "rebuild", "adopt", "load", "purge"]
"""The command behind a commit.  Only tables of rejects have a `purge`."""


@attrs.frozen
class TopicOffsets:
    """How far one topic of several has been read.  `LedgerEntry` explains the fields."""

    next_offsets: Mapping[Partition, int]
    high_offsets: Mapping[Partition, int]
    topic_id: str = ""
    max_source_ms: int | None = None
    truncates: tuple[Truncate, ...] = ()


@attrs.frozen
class LedgerEntry:
    """One commit's account of itself: a checkpoint.

    The next run reads from `next_offsets`.  `high_offsets` ends the offsets ever applied: after a person
    moves `next_offsets` back, the range between them is a replay.  Both are exclusive ends.  `schema_ids` and
    `counters` describe this commit.  `instant` is None until it is committed.
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
    """The broker's id of the topic, which changes when the topic is created again, or empty if unknown."""
    table_file: Mapping[str, str] = attrs.Factory(dict)
    """The parts of the table file that are fixed at creation, empty in commits of older versions."""
    masks: Mapping[str, str] = attrs.Factory(dict)
    """The masks of the stored columns, for hashes with the id of the salt."""
    start_offsets: Mapping[Partition, int] = attrs.Factory(dict)
    """The offsets that the commit started from, empty in commits of older versions."""
    checked_options: str = ""
    """A digest of the `[hudi]` options whose values Hudi's classes had checked, or empty without options."""
    truncates: tuple[Truncate, ...] = ()
    """The topic's truncates that have been applied, as long as older changes may come late."""
    tombstone_ends: bool = False
    """Whether a history may have versions that a tombstone without its delete has ended."""
    has_empty_key_parts: bool = False
    """Whether the table may have keys of several columns with an empty text in one of them."""
    other_topics: Mapping[Topic, TopicOffsets] = attrs.Factory(dict)
    """The offsets of the table's other topics, empty for a table of one topic."""
    instant: Instant | None = None
    committed_ms: int | None = attrs.field(default=None, eq=False)
    """The time of the commit, in ms since 1970 (UTC).  Older instants are in the zone of the JVM."""
    started_ms: int | None = attrs.field(default=None, eq=False)
    """The time at which the run began to read, None in commits of older versions."""

    @property
    def committed_at(self) -> datetime | None:
        """The time of the commit."""
        return moment_or_none(self.committed_ms)

    @property
    def max_source_at(self) -> datetime | None:
        """The newest source time of any change applied so far."""
        return moment_or_none(self.max_source_ms)

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
        """Return the entry with the offsets of another topic as its own, without any for a new topic."""
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


def known_ids(last: LedgerEntry | None) -> tuple[SchemaId, ...]:
    """Return the schemas of all commits so far.  Commits of older versions name only their own."""
    return (last.known_ids or last.schema_ids) if last else ()


_STORED: Final = tuple(field for field in attrs.fields(LedgerEntry) if field.name != "instant")
"""A field's type decides how it is written: text as it is, True as `yes`, all else as JSON."""
_ONLY_IF_SET: Final = frozenset({"truncates", "tombstone_ends", "has_empty_key_parts", "other_topics"})
"""Fields that the metadata lacks while they are empty."""
_CONVERTER: Final = cattrs.Converter()
_CONVERTER.register_structure_hook(
    Truncate, lambda value, _: Truncate(**value) if isinstance(value, dict) else Truncate(*value)
)


def commit_metadata(entry: LedgerEntry) -> dict[str, str]:
    """Write an entry as the Hudi options that put it into the commit's metadata."""
    values = {"format": MANY_TOPICS if entry.other_topics else FORMAT}
    for field in _STORED:
        value = getattr(entry, field.name)
        if value or field.name not in _ONLY_IF_SET:
            values[field.name] = _write(value)
    return {PREFIX + key: text for key, text in values.items()}


def entry_of(path: str, instant: Instant, operation: str, values: Mapping[str, str]) -> LedgerEntry | None:
    """Return the entry in a commit's metadata, or None for a commit of others, or that moved files only."""
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
    texts = ((field, values.get(PREFIX + field.name)) for field in _STORED)
    fields = {field.name: _read(field.type, text) for field, text in texts if text}
    return LedgerEntry(instant=instant, **fields)


def _write(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return "yes" if value is True else json.dumps(value, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    """Return a value that JSON has: of a truncate its values in order, of offsets their names, too."""
    if isinstance(value, Truncate):
        return attrs.astuple(value)
    return attrs.asdict(value) if isinstance(value, TopicOffsets) else dict(value)


def _read(kind: Any, text: str) -> Any:
    """Read a field of a type.  A later version's command counts as a run."""
    if kind is CommitKind:
        return text if text in get_args(CommitKind) else "run"
    if kind in (str, Topic):
        return text
    return text == "yes" if kind is bool else _CONVERTER.structure(json.loads(text), kind)
