"""Compare each topic's rows of a table with their source, and sum the answers for the table."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

import attrs

from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.report.outcome import TableOutcome
from ingest.report.result import worst_error
from ingest.run.work.context import Context
from ingest.run.work.topics import find_feeds, missing_feeds
from ingest.tables import SOURCE, Feed, TableConfig
from ingest.verify.result import RowDifference, TableVerification

Name = TypeVar("Name", bound=str)


@attrs.frozen
class ComparedFeeds:
    """The feeds of a table to compare.  `note` names topics with rows that are not compared."""

    feeds: tuple[Feed, ...]
    note: str = ""


def compared_feeds(run: Context, table: TableConfig) -> ComparedFeeds:
    """Return the feeds by all topics that the table file names, including topics that the broker lacks."""
    last = run.lake.table(table).checkpoint()
    present = find_feeds(run.settings, [table])[table.name]
    compared = (*present, *missing_feeds(present, last))
    return ComparedFeeds(compared, _unnamed(last, {feed.topic for feed in compared}))


def _unnamed(last: LedgerEntry | None, compared: set[str]) -> str:
    topics = [topic for topic in (last.topics if last else ()) if topic not in compared]
    listed = ", ".join(topics)
    return f"rows of topics that the table file does not name are not compared: {listed}" if topics else ""


def outcome_of(outcome: TableOutcome, feed: Feed) -> TableOutcome:
    """Return a run's outcome for one topic, or the table's outcome if the topic was not run."""
    return next((topic for topic in outcome.topics if topic.topic == feed.topic), outcome)


def combined(answer: TableVerification, topics: Sequence[TableVerification], note: str) -> TableVerification:
    """Complete a table's answer with the sums and the worst error of its topics' answers."""
    notes = (note, *(f"{topic.topic}: {topic.note}" for topic in topics if topic.note))
    uncompared = _uncompared(topics)
    compared = dict.fromkeys(chain.from_iterable(topic.compared for topic in topics))
    return attrs.evolve(
        _summed(answer, topics),
        source="; ".join(dict.fromkeys(topic.source for topic in topics if topic.source)),
        compared=tuple(name for name in compared if name not in uncompared),
        uncompared=uncompared,
        rows=tuple(_row(topic, row) for topic in topics for row in topic.rows),
        repair=tuple(chain.from_iterable(topic.repair for topic in topics)),
        note="; ".join(filter(None, notes)),
        error=worst_error(topics),
        topics=tuple(topics),
    )


def _summed(answer: TableVerification, topics: Sequence[TableVerification]) -> TableVerification:
    return attrs.evolve(
        answer,
        source_rows=sum(topic.source_rows for topic in topics),
        table_rows=sum(topic.table_rows for topic in topics),
        counts=_sums(topic.counts for topic in topics),
        in_flight=sum(topic.in_flight for topic in topics),
        columns=_sums(topic.columns for topic in topics),
        looks=max(topic.looks for topic in topics),
        deleted=sum(topic.deleted for topic in topics),
    )


def _row(topic: TableVerification, row: RowDifference) -> RowDifference:
    """Return a row with its whole key in the table."""
    return attrs.evolve(row, key={**row.key, SOURCE: topic.topic})


def _sums(counts: Iterable[Mapping[Name, int]]) -> dict[Name, int]:
    total: Counter[Name] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _uncompared(topics: Sequence[TableVerification]) -> dict[str, str]:
    """Return the columns that are not compared in some topic, with the topics of each reason."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for topic in topics:
        for name, reason in topic.uncompared.items():
            reasons.setdefault(name, {}).setdefault(reason, []).append(topic.topic)
    return {
        name: "; ".join(f"{', '.join(listed)}: {reason}" for reason, listed in by_reason.items())
        for name, by_reason in reasons.items()
    }
