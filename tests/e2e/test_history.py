"""Every recording becomes a history that equals a plain-Python replay, in any order of arrival."""

import gzip
import json
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import attrs
import pytest
from pyspark.sql import DataFrame

from tests.e2e.deployment import Deployment
from tests.e2e.recordings import (
    RECORDINGS,
    SQLSERVER,
    Recording,
)
from tests.e2e.referee import Expected, read_expected
from tests.e2e.referee.kind import Kind
from tests.e2e.referee.replay import is_unavailable, read_events
from tests.e2e.referee.scd2 import Change, versions

pytestmark = [pytest.mark.spark, pytest.mark.servers]

Plan = Callable[[Deployment], None]
Versions = dict[tuple[Any, ...], list[dict[str, Any]]]


def run(deployment: Deployment, *, max_offsets: int | None = None, until_idle: bool = False) -> None:
    """Run all tables, once or until they are idle; none may fail."""
    again = True
    while again:
        report = deployment.run(max_offsets=max_offsets)
        assert [str(outcome.error) for outcome in report.tables if outcome.error] == []
        again = until_idle and any(outcome.outcome == "committed" for outcome in report.tables)


def one_run(deployment: Deployment) -> None:
    """Everything at once."""
    run(deployment)


def small_runs(deployment: Deployment) -> None:
    """Many runs of a few offsets each."""
    run(deployment, max_offsets=60, until_idle=True)


def repeated_runs(deployment: Deployment) -> None:
    """Late and repeated: the newest offsets first, then all of them in small runs."""
    run(deployment, max_offsets=90)
    _move(deployment, "earliest")
    run(deployment, max_offsets=45)
    run(deployment)
    _move(deployment, "earliest")
    run(deployment, max_offsets=70, until_idle=True)


def late_runs(deployment: Deployment) -> None:
    """Read the last offsets before those in the middle."""
    run(deployment, max_offsets=20)
    for table in deployment.recording.tables:
        deployment.session.move_offsets(table, f"0={_late_offset(deployment.recording, table)}")
    run(deployment)
    _move(deployment, "0=0")
    run(deployment, max_offsets=60, until_idle=True)


def _late_offset(recording: Recording, table: str) -> int:
    """Return an offset with two thirds of the messages of the first partition before it."""
    path = recording.folder / "messages" / f"{recording.topic(table)}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return sum(json.loads(line)["p"] == 0 for line in lines) * 2 // 3


def _move(deployment: Deployment, to: str) -> None:
    for table in deployment.recording.tables:
        deployment.session.move_offsets(table, to)


PLANS: tuple[Plan, ...] = (one_run, small_runs, repeated_runs, late_runs)
USUAL = pytest.param(SQLSERVER, late_runs, "mor", ("orders",), id="usual")
# Oracle's truncates are in one of three partitions: the order of the file is not the connector's.
TABLES = {
    recording.name: tuple(t for t in recording.tables if (recording.name, t) != ("oracle-rac", "SCRATCH"))
    for recording in RECORDINGS
}
CASES = [
    pytest.param(
        *case,
        TABLES[case[0].name],
        id=f"{case[0].name}-{case[1].__name__}-{case[2]}",
        marks=pytest.mark.pairs,
    )
    for case in product(RECORDINGS, PLANS, ("cow", "mor"))
]


@pytest.mark.parametrize(("recording", "plan", "table_type", "tables"), [USUAL, *CASES])
def test_histories_equal_a_replay(
    recording: Recording,
    plan: Plan,
    table_type: str,
    tables: tuple[str, ...],
    make_deployment: Callable[[Recording], Deployment],
) -> None:
    """Every cell of every version of every table, its interval included."""
    deployment = make_deployment(attrs.evolve(recording, tables=tables))
    deployment.load()
    topics = [recording.topic(table).removeprefix(f"{recording.prefix}.") for table in tables]
    deployment.onboard([f"{deployment.prefix}.{topic}" for topic in topics], type=table_type, mode="history")

    plan(deployment)

    wrong = {table: differences(deployment, table) for table in tables}
    assert {table: lines[:5] for table, lines in wrong.items() if lines} == {}


def differences(deployment: Deployment, table: str) -> list[str]:
    """Compare the versions of each row with those of the replay."""
    return differing_versions(deployment.recording, table, deployment.frame(table))


def differing_versions(recording: Recording, table: str, frame: DataFrame) -> list[str]:
    """Compare the versions of rows with those of the replay."""
    source = read_expected(recording, table)
    expected = replayed(recording, table, source)
    found = stored(frame, source.keys, source.kinds)
    return [
        f"{key}: expected {expected.get(key)}, found {found.get(key)}"
        for key in expected.keys() | found.keys()
        if expected.get(key) != found.get(key)
    ]


def replayed(recording: Recording, table: str, source: Expected) -> Versions:
    """Return the versions by the order of the file, which for one partition is the connector's order."""
    events = list(read_events(recording, table))
    columns = dict.fromkeys(name for event in events for name in event.row or ())
    changes: dict[tuple[Any, ...], list[Change]] = {}
    truncates = [event for event in events if event.op == "t"]
    for event in events:
        if event.op == "t":
            continue
        row = None if event.row is None else {**dict.fromkeys(columns), **event.row}
        lacks = frozenset(name for name, value in (row or {}).items() if is_unavailable(value))
        change = Change(order=(event.offset,), time_ms=event.source_ms, values=row, lacks=lacks)
        key = tuple(_found(event.key, source.kinds, source.keys).values())
        changes.setdefault(key, []).append(change)
    for all_changes in changes.values():
        all_changes += [Change(order=(t.offset,), time_ms=t.source_ms, values=None) for t in truncates]
    return {
        key: [
            {
                **_found(version.values, source.kinds, columns),
                "from": version.valid_from,
                "to": version.valid_to,
                "current": version.end is None,
            }
            for version in versions(all_changes)
            if not version.is_empty and version.values is not None
        ]
        for key, all_changes in changes.items()
    }


def stored(frame: DataFrame, keys: tuple[str, ...], kinds: Mapping[str, Kind]) -> Versions:
    """Return the versions of a table: the changes whose interval of positions is not empty."""
    columns = [
        f"unix_micros(`{name}`) as `{name}`" if spark_type == "timestamp" else f"`{name}`"
        for name, spark_type in frame.dtypes
        if not name.startswith("_hoodie_")
    ]
    rows = frame.orderBy("_cdc_position").selectExpr(*columns).collect()
    result: Versions = {}
    for row in map(dict, (row.asDict() for row in rows)):
        names = [name for name in row if not name.startswith("_cdc_")]
        values = {n: bytes(row[n]) if isinstance(row[n], bytearray) else row[n] for n in names}
        found = _found(values, kinds, names)
        versions_of_key = result.setdefault(tuple(found[name] for name in keys), [])
        if row["_cdc_end_position"] is None or row["_cdc_position"] < row["_cdc_end_position"]:
            end = row["_cdc_valid_to"]
            versions_of_key.append(
                {
                    **found,
                    "from": row["_cdc_valid_from"] // 1000,
                    "to": None if end is None else end // 1000,
                    "current": row["_cdc_is_current"],
                }
            )
    return result


def _found(row: Mapping[str, Any] | None, kinds: Mapping[str, Kind], columns: Any) -> dict[str, Any]:
    """Convert values as the referee reads a table; columns that the source dropped stay as they are."""
    return {
        name: kinds[name].found(value) if name in kinds and value is not None else value
        for name in columns
        for value in [(row or {}).get(name)]
    }
