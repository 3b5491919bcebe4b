"""Show the offsets of the tables to tools that know consumer groups (`[kafka] group`)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ingest.errors import IngestError
from ingest.kafka.group import store_offsets
from ingest.log import logger
from ingest.run.context import Run
from ingest.run.report import TableOutcome

if TYPE_CHECKING:
    from ingest.names import Partition, Topic


def show_offsets(run: Run, outcomes: Sequence[TableOutcome]) -> None:
    """Store the offsets at which the next run continues; of a topic of several tables, the lowest.

    Leaves out a topic of which a table failed: its lag grows.  An error is only logged: the commits are
    there, and the next run stores the offsets again.
    """
    offsets: dict[Topic, dict[Partition, int]] = {}
    outcomes = [topic for outcome in outcomes for topic in outcome.topics or (outcome,)]
    failed = {outcome.topic for outcome in outcomes if outcome.outcome not in {"committed", "idle"}}
    for outcome in outcomes:
        if outcome.ranges is not None and outcome.topic not in failed:
            ends = offsets.setdefault(outcome.topic, {})
            for partition, end in outcome.ranges.end_offsets().items():
                ends[partition] = min(end, ends.get(partition, end))
    try:
        store_offsets(run.settings.kafka, offsets)
    except IngestError as error:
        logger(__name__).warning("group.not-stored", group=run.settings.kafka.group, problem=str(error))
