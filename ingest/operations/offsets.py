"""Deliberate moves of a table's offsets."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final

import attrs

from ingest.errors import UsageError
from ingest.hudi.rejects import count_open
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.json_values import JsonValue
from ingest.kafka.breaks import Watermark, check_topic, is_created_again, offsets_text, topic_id_of
from ingest.kafka.watermarks import fetch_offsets_at, fetch_watermarks
from ingest.moments import parse_moment, to_iso
from ingest.names import Partition, Topic
from ingest.operations.status.status import TableStatus, table_status
from ingest.report.contract import Offsets
from ingest.report.outcome import by_text
from ingest.run.batch.start import consumed, last_of
from ingest.run.work.context import Context
from ingest.run.work.feeds import one_feed
from ingest.run.work.writer import writing
from ingest.settings import KafkaSettings, Settings
from ingest.tables import Feed, TableConfig

_ENDS: Final = ("earliest", "latest")
_FORMS: Final = (
    "Give earliest, latest, a time (2026-11-20T00:00, in UTC unless +02:00 follows, or 1d for a day ago), "
    "or 0=120,1=earliest"
)


@attrs.frozen
class OffsetMove(JsonValue):
    """The effect of a move on a table's next offsets, by partition."""

    json_keys = "table topic to offsets"

    table: str
    topic: Topic
    to: str
    before: Mapping[Partition, int]
    after: Mapping[Partition, int]

    @property
    def offsets(self) -> Offsets:
        """Both, as the run report has them."""
        return Offsets(by_text(self.before), by_text(self.after))


def preview_move(
    settings: Settings, table: TableConfig, last: LedgerEntry | None, to: str, topic: str | None = None
) -> OffsetMove:
    """Return the effect of `move_offsets` on a table with this last commit, without writing."""
    feed = one_feed(settings, table, topic)
    last = _committed(feed, last.seen_by(feed.source) if last and feed.source else last)
    marks = fetch_watermarks(settings.kafka, [feed.topic]).of(feed.topic)
    target = _target(settings.kafka, feed, last, to, marks)
    return OffsetMove(feed.name, feed.topic, target.text, last.next_offsets, target.offsets)


@attrs.frozen
class _Target:
    """The offsets that `--to` means, and its text: of a time in UTC."""

    text: str
    offsets: dict[Partition, int]


def move_offsets(run: Context, table: TableConfig, to: str, topic: str | None = None) -> TableStatus:
    """Move a table's next offsets, in a separate commit that records the move in the table's history.

    `to` is `earliest`, `latest`, a time such as `2026-11-20T00:00+02:00` (in UTC without the last part), or
    partitions with an end or an offset: `0=120,1=earliest` (others stay).
    Rows stay as they are.  After a move back the next run replays at least up to the offsets before the move.
    """
    moment_of(to)  # before Spark starts
    feed = one_feed(run.settings, table, topic)
    with writing(run, table) as writer:
        marks = fetch_watermarks(run.settings.kafka, [feed.topic]).of(feed.topic)
        last = _committed(feed, last_of(writer.stored, feed))
        target = _target(run.settings.kafka, feed, last, to, marks)
        writer.commit(writer.stored.no_rows(), _moved(run, last, target, marks))
        return table_status(
            writer.stored, feed, marks, None, count=writer.stored.count_rows,
            count_open=partial(count_open, run.lake, feed), kafka=run.settings.kafka,
        )  # fmt: skip


def _committed(feed: Feed, last: LedgerEntry | None) -> LedgerEntry:
    if last is None:
        raise UsageError(f"table {feed.name} does not have a commit yet", "Run it once first")
    check_topic(feed.topic, consumed(feed, last))
    if not last.next_offsets:
        raise UsageError(f"table {feed.name} has not read topic {feed.topic} yet", "Run it once first")
    return last


def _target(
    kafka: KafkaSettings, feed: Feed, last: LedgerEntry, to: str, marks: Mapping[Partition, Watermark]
) -> _Target:
    moment = moment_of(to)
    if moment is not None:
        return _Target(to_iso(moment), fetch_offsets_at(kafka, feed.topic, marks, moment))
    is_anew = is_created_again(last.topic_id, marks)
    return _Target(to, parse_move(to, {} if is_anew else last.next_offsets, marks, is_anew=is_anew))


def _moved(
    run: Context, last: LedgerEntry, target: _Target, marks: Mapping[Partition, Watermark]
) -> LedgerEntry:
    """Return the ledger entry of a move."""
    is_anew, offsets = is_created_again(last.topic_id, marks), target.offsets
    # Nothing of a recreated topic has been applied yet.
    high = offsets if is_anew else {p: min(last.high_offsets.get(p, 0), marks[p].end) for p in offsets}
    return attrs.evolve(
        last,
        run_id=run.run_id,
        start_offsets=last.next_offsets,
        next_offsets=offsets,
        high_offsets=high,
        counters={},
        kind="set-offsets",
        note=_note(target.text, last.next_offsets, offsets, is_anew=is_anew),
        topic_id=topic_id_of(marks),
        instant=None,
    )


def moment_of(to: str, option: str = "--to") -> datetime | None:
    """Read a time that is not in the future, or return None for other texts.  Raises UsageError."""
    moment = parse_moment(to)
    if moment is not None and moment > datetime.now(UTC):
        raise UsageError(
            f"{option} {to}: {to_iso(moment)} is in the future", "Give latest for the topic's end"
        )
    return moment


def parse_move(
    to: str,
    current: Mapping[Partition, int],
    marks: Mapping[Partition, Watermark],
    *,
    is_anew: bool = False,
    option: str = "--to",
) -> dict[Partition, int]:
    """Parse an option such as `--to` into offsets.  Raises `UsageError` for a move beyond the topic."""
    if to in _ENDS:
        return {partition: _end(to, mark) for partition, mark in marks.items()}
    moved = {partition: offset for partition, offset in current.items() if partition in marks}
    for part in to.split(","):
        partition, target = _parse_part(to, part, option)
        mark = marks.get(partition)
        if mark is None:
            allowed = f"Allowed: partitions {_ends(marks)}"
            raise UsageError(f"{option} {to}: '{part}' is outside the topic", allowed)
        moved[partition] = _end(target, mark) if target in _ENDS else int(target)
        if not mark.begin <= moved[partition] <= mark.end:
            allowed = f"Allowed: {mark.begin} to {mark.end}"
            raise UsageError(f"{option} {to}: '{part}' is outside the topic", allowed)
    if is_anew and moved.keys() != marks.keys():
        todo = f"Name every partition ({_ends(marks)}), or give earliest or latest"
        raise UsageError(f"{option} {to}: some partitions of the topic are missing", todo)
    return moved


def _parse_part(to: str, part: str, option: str) -> tuple[Partition, str]:
    """Split `0=120` or `0=earliest`."""
    partition, _, target = (text.strip() for text in part.partition("="))
    if not (_is_number(partition) and (_is_number(target) or target in _ENDS)):
        raise UsageError(f"{option} {to}: cannot parse '{part}'", _FORMS)
    return Partition(int(partition)), target


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _end(which: str, mark: Watermark) -> int:
    return mark.begin if which == "earliest" else mark.end


def _ends(marks: Mapping[Partition, Watermark]) -> str:
    return ", ".join(f"{partition}={mark.begin} to {mark.end}" for partition, mark in sorted(marks.items()))


def _note(to: str, before: Mapping[Partition, int], after: Mapping[Partition, int], *, is_anew: bool) -> str:
    """Describe a move for the table's history, with the number of offsets that no run will read."""
    note = f"moved to {to}; was {offsets_text(before)}"
    if is_anew:
        return f"{note} of a topic that was recreated since"
    skipped = sum(max(0, offset - before.get(partition, 0)) for partition, offset in after.items())
    return f"{note}; {skipped} offsets skipped" if skipped else note
