"""Which offsets a run covers."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import UsageError
from ingest.kafka.breaks import Consumed, Watermark
from ingest.kafka.ranges import OffsetRange, TopicRanges
from ingest.kafka.ranges import plan_ranges as plan_consumed
from ingest.names import Partition, Topic

TOPIC = Topic("server1.dbo.customers")

Ends = Mapping[Partition, Watermark]


def ends(*pairs: tuple[int, int]) -> dict[Partition, Watermark]:
    """Make the watermarks of partitions from 0 on."""
    return {Partition(p): Watermark(*pair) for p, pair in enumerate(pairs)}


def offsets(*values: int) -> dict[Partition, int]:
    """Make one offset for each of the partitions from 0 on."""
    return {Partition(p): value for p, value in enumerate(values)}


def plan_ranges(topic: Topic, committed: Any, high: Any, seen: Ends, bound: int | None = None) -> TopicRanges:
    """Plan a run of a table that has read up to some offsets."""
    return plan_consumed(topic, Consumed("t", committed, high), seen, bound)


def test_a_first_run_covers_a_topic_from_its_beginning() -> None:
    """Without commits, every partition is read from the first offset that it still holds."""
    plan = plan_ranges(TOPIC, None, {}, ends((0, 5), (7, 9)))

    assert plan.ranges == (
        OffsetRange(TOPIC, Partition(0), 0, 5),
        OffsetRange(TOPIC, Partition(1), 7, 9),
    )
    assert plan.span == 7


def test_a_run_continues_from_the_committed_offsets() -> None:
    """Partitions without news are kept in the plan, so that its ends are the whole topic's."""
    plan = plan_ranges(TOPIC, offsets(5, 3), {}, ends((0, 5), (0, 4)))

    assert plan.start_offsets() == offsets(5, 3)
    assert plan.end_offsets() == offsets(5, 4)
    assert not plan.is_empty


def test_a_plan_without_news_is_empty() -> None:
    """Committed offsets at the ends leave nothing to read."""
    assert plan_ranges(TOPIC, offsets(5, 4), {}, ends((0, 5), (0, 4))).is_empty


def test_a_new_partition_is_read_from_its_beginning() -> None:
    """A topic that was given more partitions loses none of their records."""
    plan = plan_ranges(TOPIC, offsets(5), {}, ends((0, 5), (0, 4)))

    assert plan.ranges[1] == OffsetRange(TOPIC, Partition(1), 0, 4)


def test_max_offsets_gives_the_rest_of_a_short_partition_to_others() -> None:
    """The bound is shared evenly, and used up as long as there is something."""
    plan = plan_ranges(TOPIC, None, {}, ends((0, 100), (0, 3), (0, 100)), 23)

    assert plan.end_offsets() == offsets(10, 3, 10)


@pytest.mark.parametrize("bound", [0, -1])
def test_a_bound_that_allows_no_progress_is_refused(bound: int | None) -> None:
    """A run that may read nothing would never end."""
    with pytest.raises(UsageError, match="--max-offsets"):
        plan_ranges(TOPIC, None, {}, ends((0, 5)), bound)


def test_a_replay_reaches_the_applied_offsets_despite_any_bound() -> None:
    """After a move back, the table never shows a state older than it did."""
    plan = plan_ranges(TOPIC, offsets(0, 0), offsets(40, 60), ends((0, 100), (0, 50)), 5)

    assert plan.end_offsets() == offsets(40, 50)


spans = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda t: (t[0], t[0] + t[1]))


@st.composite
def topics(draw: st.DrawFn) -> tuple[dict[Partition, int], Ends]:
    """Draw a topic and committed offsets that fit it."""
    seen = ends(*draw(st.lists(spans, min_size=1, max_size=5)))
    return {p: draw(st.integers(w.begin, w.end)) for p, w in seen.items()}, seen


highs = st.dictionaries(st.integers(0, 5).map(Partition), st.integers(0, 120))


@given(topics(), st.none() | st.integers(1, 60))
def test_a_plan_stays_inside_the_topic_and_the_bound(topic: Any, bound: int | None) -> None:
    """No offset before the start or behind the end, and as many as the bound and the topic allow."""
    committed, seen = topic
    plan = plan_ranges(TOPIC, committed, {}, seen, bound)

    waiting = sum(seen[p].end - start for p, start in committed.items())
    assert plan.span == (waiting if bound is None else min(bound, waiting))
    assert plan.start_offsets() == committed
    assert all(item.start <= item.end <= seen[item.partition].end for item in plan.ranges)


@given(topics(), st.integers(1, 60))
def test_a_bound_is_shared_evenly(topic: Any, bound: int | None) -> None:
    """A partition gets less than another only when it is read to its end, but for the odd offset."""
    plan = plan_ranges(TOPIC, topic[0], {}, topic[1], bound)

    limit = max(item.end - item.start for item in plan.ranges)
    unfinished = [item for item in plan.ranges if item.end < topic[1][item.partition].end]
    assert all(item.end - item.start >= limit - 1 for item in unfinished)


@given(topics(), highs, st.integers(1, 60))
def test_runs_in_turn_cover_every_offset_once(
    topic: Any, high: dict[Partition, int], bound: int | None
) -> None:
    """Plan after plan, each from the end of the one before, walks to the end without a gap."""
    committed, seen = topic
    walked: list[TopicRanges] = []
    while not (plan := plan_ranges(TOPIC, committed, high, seen, bound)).is_empty:
        walked.append(plan)
        committed = plan.end_offsets()

    read = sorted(
        (item.partition, offset)
        for plan in walked
        for item in plan.ranges
        for offset in range(item.start, item.end)
    )
    assert read == [(p, o) for p, start in topic[0].items() for o in range(start, seen[p].end)]


@given(topics(), highs, st.integers(1, 60))
def test_only_a_replay_goes_beyond_the_bound(
    topic: Any, high: dict[Partition, int], bound: int | None
) -> None:
    """Each partition reaches what was applied of it; beyond that, the bound holds."""
    committed, seen = topic
    plan = plan_ranges(TOPIC, committed, high, seen, bound)

    floors = {p: max(s, min(high.get(p, 0), seen[p].end)) for p, s in committed.items()}
    assert all(item.end >= floors[item.partition] for item in plan.ranges)
    assert plan.span <= max(bound, sum(floors[p] - s for p, s in committed.items()))
