"""A command without a terminal logs the tables at work."""

import io
import json
import time

from ingest.cli.heartbeat import Steps, heartbeat
from ingest.log import configure


def lines_of(steps: Steps, interval_s: float, until_s: float) -> list[dict[str, object]]:
    """Let the heartbeat log for some time; return its lines."""
    stream = io.StringIO()
    configure(stream=stream)
    with heartbeat(steps, interval_s):
        time.sleep(until_s)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_every_interval_names_each_table_with_its_step_and_time() -> None:
    """A table that is done is not named; the start of Spark is, without a table."""
    steps = Steps()
    steps.begin("", "starting Spark")
    assert steps.names() == ["starting Spark"]
    steps.begin("orders", "reading 61,200 offsets")
    steps.begin("lines", "writing 7 rows")
    steps.begin("done", "committed")
    steps.end("done")

    lines = lines_of(steps, 0.05, 0.3)

    assert len(lines) >= 2
    assert lines[0]["event"] == "at work"
    assert lines[0]["tables"] == ["orders reading 61,200 offsets, for 0 s", "lines writing 7 rows, for 0 s"]
    assert "hint" not in lines[0]


def test_nothing_is_logged_without_tables_at_work_or_without_an_interval() -> None:
    """0 turns the lines off."""
    assert lines_of(Steps(), 0.02, 0.1) == []
    steps = Steps()
    steps.begin("orders", "writing 7 rows")
    assert lines_of(steps, 0, 0.1) == []
