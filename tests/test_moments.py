"""Times and durations, as people write them in options and settings."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.moments import parse_duration, parse_moment, write_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("15 min", 900), ("1.5 h", 5_400), ("1d", 86_400), ("2w", 1_209_600)],
)
def test_a_duration_is_read_in_any_unit(text: str, seconds: float) -> None:
    """With or without a space; m is a minute."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "15", "m", "-1d", "1 month", "1d2h", "٣d"])
def test_other_texts_are_no_durations(text: str) -> None:
    """Numbers without a unit neither."""
    assert parse_duration(text) is None
    assert parse_moment(text) is None


@given(st.floats(0, 1e8))
def test_what_is_written_is_read_again(seconds: float) -> None:
    """To the digit that is shown."""
    read = parse_duration(write_duration(seconds))

    assert read is not None
    assert abs(read - seconds) <= max(0.5, 0.05 * seconds)


def test_a_time_is_in_utc_or_before_now() -> None:
    """A zone is converted."""
    assert parse_moment("2026-11-20T08:00") == datetime(2026, 11, 20, 8, tzinfo=UTC)
    assert parse_moment("2026-11-20T08:00+08:00") == datetime(2026, 11, 20, tzinfo=UTC)
    before = datetime.now(UTC)
    moment = parse_moment("2 h")
    assert moment is not None
    assert before <= moment + timedelta(hours=2) <= datetime.now(UTC)
