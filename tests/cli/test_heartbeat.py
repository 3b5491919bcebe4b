"""A command shows the tables at work: in log lines, or in lines on a terminal."""

import io
import json
import pickle
import time
from collections.abc import Mapping, Sequence

import attrs
import pytest

from ingest.cli.display import lines_of
from ingest.cli.heartbeat import Steps, heartbeat
from ingest.log import configure
from ingest.names import Reading
from ingest.spark.stages import Stage

READING = Stage(7, 4, 1, 120_000)


def lines_logged(
    steps: Steps,
    interval_s: float,
    until_s: float,
    stages: Mapping[str, Sequence[Stage]] | None = None,
    level: str = "warning",
) -> list[dict[str, object]]:
    """Let the heartbeat log for some time; return its lines."""
    stream = io.StringIO()
    configure(level, stream=stream)
    with heartbeat(steps, interval_s, lambda: stages or {}):
        time.sleep(until_s)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def shown(steps: Steps, seconds: float, *stages: Stage) -> str:
    """Return the line of the table at work, as a terminal shows it after some time."""
    steps.measure(lambda: {"orders": stages})
    (work,) = steps.work()
    work.started = time.monotonic() - seconds
    if work.since is not None:
        work.since = work.started + 2, 0
    (line,) = lines_of([work])
    return line


def test_every_interval_names_each_table_with_its_step_and_time() -> None:
    """A table that is done is not named; the start of Spark is, without a table."""
    steps = Steps()
    steps.begin("", "starting Spark")
    assert lines_of(steps.work()) == ["starting Spark  0:00"]
    steps.begin("orders", Reading(61_200))
    steps.begin("lines", "writing 7 rows")
    steps.begin("done", "committed")
    steps.end("done")

    lines = lines_logged(steps, 0.05, 0.3, {"lines": (Stage(3, 8, 5, 0),)})

    assert len(lines) >= 2
    assert (lines[0]["event"], lines[0]["level"]) == ("at work", "info")
    assert lines[0]["tables"] == [
        "orders reading 61,200 offsets, for 0 s", "lines writing 7 rows (5 of 8 tasks), for 0 s",
    ]  # fmt: skip
    assert "hint" not in lines[0]


def test_a_step_that_reads_survives_pickle() -> None:
    """The error of a table that took too long names its step, and goes to other processes."""
    step = pickle.loads(pickle.dumps(Reading(61_200)))  # noqa: S301  our own bytes
    assert (step, step.total) == ("reading 61,200 offsets", 61_200)


def test_nothing_is_logged_without_tables_at_work_or_without_an_interval() -> None:
    """0 turns the lines off, and so does a log of errors."""
    assert lines_logged(Steps(), 0.02, 0.1) == []
    steps = Steps()
    steps.begin("orders", "writing 7 rows")
    assert lines_logged(steps, 0, 0.1) == []
    assert lines_logged(steps, 0.02, 0.1, level="error") == []


def test_a_table_that_reads_shows_messages_share_time_and_time_left() -> None:
    """By the first stage of the step; the stages behind it order the messages."""
    steps = Steps()
    steps.begin("orders", Reading(314_459))

    assert shown(steps, 2) == "orders  reading 314,459 offsets  0:02"
    unmeasured = attrs.evolve(READING, records=0)
    assert shown(steps, 3, unmeasured) == "orders  reading 314,459 offsets (1 of 4 tasks)  0:03"
    assert shown(steps, 4, READING) == "orders  reading 120,000 of 314,459 (38 %)  0:04"
    assert shown(steps, 42, READING) == "orders  reading 120,000 of 314,459 (38 %)  0:42, about 1:05 left"
    assert shown(steps, 100, Stage(7, 4, 4, 314_459)) == (
        "orders  reading 314,459 of 314,459 (100 %)  1:40, about 0:00 left"
    )
    # Records of a later stage are rows or shuffled records, not messages.
    assert shown(steps, 101, Stage(8, 8, 3, 5)) == "orders  ordering the messages (3 of 8 tasks)  1:41"
    steps.begin("orders", "writing 300,000 rows")
    assert shown(steps, 3_700, Stage(9, 2, 1, 9)) == "orders  writing 300,000 rows (1 of 2 tasks)  1:01:40"


@pytest.mark.parametrize(("count", "lines"), [(8, 8), (9, 9), (10, 9)])
def test_of_many_tables_the_first_are_shown_with_their_names_aligned(count: int, lines: int) -> None:
    """And the number of the others."""
    steps = Steps()
    for number in range(count):
        steps.begin(f"t{number}\x1b", "writing")
    result = lines_of(steps.work())
    assert len(result) == lines
    assert result[0] == "t0\\x1b  writing  0:00", "control characters are escaped"
    assert result[-1] == ("and 2 more tables" if count == 10 else f"t{count - 1}\\x1b  writing  0:00")
