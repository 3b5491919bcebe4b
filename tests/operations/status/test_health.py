"""One rule of a table's health: the worst of what its files, its last run and its verification say."""

from datetime import UTC, datetime, timedelta

import attrs
import pytest

from ingest.errors import BrokerUnreachableError, EvolutionError, TopicNotFoundError
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.moments import to_millis
from ingest.names import Instant, Topic
from ingest.operations.status.connector import Connector
from ingest.operations.status.health import STATES, health, parse_bound
from ingest.operations.status.last_verification import LastVerification
from ingest.operations.status.status import TableStatus
from ingest.report.kept_runs import LastRun

NOW = datetime.now(UTC)
HOUR = timedelta(hours=1)
COMMIT = LedgerEntry("r", Topic("t"), {}, {}, instant=Instant("1"), committed_ms=to_millis(NOW - HOUR))
OK = TableStatus("t", Topic("t"), "/lake/t", COMMIT, 0, source_lag_s=0.0)
PASSED = LastRun("r", NOW, NOW, "committed")
FAILED = LastRun("r", NOW, NOW, "failed", "amount: column-changed", 1)
WRONG_FILE = LastRun("r", NOW, NOW, "failed", "t.toml:2: colour: unknown key", 2)
LATER = LastRun("r", NOW, NOW, "temporary", "Kafka b:9092: gone", 75)
DIFFERENT = LastVerification(
    finished_at=NOW - HOUR, outcome="different", mode="checksums", source="shop", counts={"missing": 51}
)
CHANGED = EvolutionError("t", "amount", "column-changed", "string", "int", "t-value v2 (id 7)")
GONE = BrokerUnreachableError("b:9092", "gone")

TROUBLES = {
    "failing": attrs.evolve(OK, error=TopicNotFoundError("t", "b"), last_run=LATER, verification=DIFFERENT),
    "failing by its last run": attrs.evolve(OK, last_run=FAILED, verification=DIFFERENT, error=GONE),
    "failing by its next version": attrs.evolve(OK, ahead=CHANGED, verification=DIFFERENT, error=GONE),
    "different": attrs.evolve(OK, verification=DIFFERENT, last_run=LATER, error=GONE),
    "temporary": attrs.evolve(OK, last_run=LATER, unclear="no files", lag=9),
    "unknown": attrs.evolve(OK, error=GONE, lag=None),
    "unknown by its files": attrs.evolve(OK, unclear="no files", lag=9),
    "silent": attrs.evolve(OK, connector=Connector("shop", NOW - HOUR, True, 60.0), lag=9),  # noqa: FBT003
    "behind": attrs.evolve(
        OK, lag=9, rejects=3, connector=Connector("shop", NOW, True, 86_400.0)),  # noqa: FBT003
    "rejects": attrs.evolve(OK, rejects=3),
    "not run yet": attrs.evolve(OK, last=None),
    "ok": attrs.evolve(OK, last_run=PASSED, verification=attrs.evolve(DIFFERENT, outcome="equal")),
}  # fmt: skip
CODES = {"failing": 1, "different": 1, "temporary": 75, "unknown": 75, "silent": 1, "behind": 1}


@pytest.mark.parametrize("name", TROUBLES)
def test_the_worst_state_holds_with_its_reason_and_exit_code(name: str) -> None:
    """In the order of the states; those that need nothing now exit with 0."""
    found, state = health(TROUBLES[name], parse_bound("8")), name.partition(" by ")[0]
    assert (found.state, found.exit_code) == (state, CODES.get(state, 0))
    assert bool(found.reason) == (state in CODES)
    assert state in STATES


def test_a_failed_run_says_why_and_keeps_its_exit_code() -> None:
    """A broken table file is wrong usage."""
    found = health(attrs.evolve(OK, last_run=WRONG_FILE))
    assert found.exit_code == 2
    assert "colour: unknown key" in found.reason
    assert "51 missing" in health(attrs.evolve(OK, verification=DIFFERENT)).reason


@pytest.mark.parametrize(
    ("lag_s", "limit_s", "bound", "state"),
    [(61.0, 60.0, None, "behind"), (60.0, 60.0, None, "ok"), (61.0, 0.0, None, "ok"),
     (61.0, 60.0, "2h", "ok"), (None, 60.0, None, "behind"), (9.0, 60.0, "5s", "behind")],
)  # fmt: skip
def test_a_table_s_own_limit_holds_unless_another_is_given(
    lag_s: float | None, limit_s: float, bound: str | None, state: str
) -> None:
    """`[freshness] max_behind`, and `--max-lag`."""
    found = attrs.evolve(OK, lag=9, source_lag_s=lag_s, max_behind_s=limit_s)
    assert health(found, parse_bound(bound) if bound else None).state == state


def test_a_later_commit_clears_a_failed_run() -> None:
    """Such as one of a host that does not share the state folder, or of a rebuild."""
    earlier = attrs.evolve(FAILED, finished_at=NOW - 2 * HOUR)
    assert health(attrs.evolve(OK, last_run=earlier)).state == "ok"
    assert health(attrs.evolve(OK, last_run=earlier, last=None)).state == "failing"


@pytest.mark.parametrize(("given", "limit"), [("15m", "15.0 min"), ("900s", "15.0 min"), ("1000", "1000")])
def test_a_limit_is_written_as_every_duration_is(given: str, limit: str) -> None:
    """The limit of `--max-lag` reads like the limit of a table file and of a connector."""
    assert parse_bound(given).text == limit
