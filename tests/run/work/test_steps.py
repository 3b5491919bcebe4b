"""The seconds of a run by step, from the spans that the threads of its tables note."""

import time

from hypothesis import given
from hypothesis import strategies as st

from ingest.report.contract import StepSeconds
from ingest.run.work.steps import Span, StepTimes, shares

MOMENTS = st.integers(0, 50).map(float)
SPANS = st.builds(
    lambda table, step, begin, length: Span(table, step, begin, begin + length),
    st.sampled_from("ab"), st.sampled_from(["start", "plan", "read", "write", "upkeep"]), MOMENTS, MOMENTS,
)  # fmt: skip


def total(seconds: StepSeconds) -> float:
    """Add up the steps."""
    return seconds.start + seconds.plan + seconds.read + seconds.write + seconds.upkeep


def test_steps_that_follow_each_other_have_their_own_seconds() -> None:
    """A step ends where the next one begins."""
    spans = [Span("a", "plan", 1, 1.5), Span("a", "read", 1.5, 4), Span("a", "plan", 7, 8)]
    assert shares(spans) == StepSeconds(plan=1.5, read=2.5)


def test_tables_at_the_same_time_share_it() -> None:
    """Two tables for two seconds, then one of them for another two."""
    spans = [Span("a", "read", 0, 4), Span("b", "write", 0, 2)]
    assert shares(spans) == StepSeconds(read=3, write=1)


@given(st.lists(SPANS, max_size=6))
def test_the_sum_is_the_time_in_which_anything_ran(spans: list[Span]) -> None:
    """However the spans overlap, no second is counted twice, and none is lost."""
    covered = {
        second for span in spans for second in range(int(span.begin_s), int(span.end_s))
    }  # whole seconds
    assert abs(total(shares(spans)) - len(covered)) < 0.01


def test_a_step_ends_when_the_table_begins_another_and_one_without_an_end_lasts_until_now() -> None:
    """A table that is left behind, or fails, has the seconds of the step that it is in."""
    times = StepTimes()
    with times.during("a", "plan"):
        times.begin("a", "write")
        time.sleep(0.01)
    times.begin("b", "read")
    time.sleep(0.01)

    assert times.of_table("a").write >= 0.01
    assert times.of_table("b").read >= 0.01
    assert total(times.of_table("c")) == 0
    assert abs(total(times.of_run()) - total(times.of_table("a")) - total(times.of_table("b"))) < 0.01
