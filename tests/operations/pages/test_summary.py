"""The page of all tables: a sentence for a manager, totals, groups, and charts that no load flattens."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import attrs

from ingest import Session
from ingest.errors import BrokerUnreachableError
from ingest.moments import to_millis
from ingest.names import Topic
from ingest.operations.pages.draw import bars
from ingest.operations.pages.summary import group_by_source, lead, sum_up
from ingest.operations.status.connector import Connector
from ingest.operations.status.last_verification import LastVerification
from ingest.operations.status.overview import TableOverview
from tests.lakes import MadeDeployment

NOW = datetime.now(UTC)
PROOF = LastVerification(
    finished_at=NOW - timedelta(hours=3), outcome="equal", mode="checksums", source="shop"
)


def tables(root: Path, *loads: int, **fields: object) -> list[TableOverview]:
    """Make tables that are well, each with a first load of these rows and with ten small commits."""
    deployment = MadeDeployment(root / "deployment")
    for number, load in enumerate(loads):
        made = deployment.table(f"t{number}")
        made.now = NOW - timedelta(minutes=20)
        for rows in (load, *range(1, 11)):
            made.commit(load, after=timedelta(minutes=1), counters={"read": rows, "upserted": rows}, **fields)
    with Session.open(deployment.root / "ingest.toml", overrides={"spark.master": "nowhere"}) as session:
        found = session.report_html(root / "www").tables
    return [_well(overview) for overview in found]


def _well(overview: TableOverview) -> TableOverview:
    """Return a table as it would be with a broker, and proven."""
    status = attrs.evolve(overview.status, error=None, unclear="", lag=0, source_lag_s=0.0)
    return attrs.evolve(overview, status=attrs.evolve(status, verification=PROOF))


def test_the_first_sentence_says_what_is_proven_how_old_data_is_and_how_much_changed(tmp_path: Path) -> None:
    """With what needs attention before it."""
    well, other = tables(tmp_path, 1_000_000, 200_000, max_source_ms=to_millis(NOW) - 40_000)
    assert lead([well, other], NOW, None) == (
        "2 of 2 tables are proven equal to their source, the oldest proof 3.0 h ago. "
        "The newest data is 40 s old, with 1.2 M changes in 24 hours."
    )
    silent = Connector("shop", NOW - timedelta(hours=1), has_heartbeats=True, limit_s=60.0)
    ill = attrs.evolve(other, status=attrs.evolve(other.status, connector=silent))
    gone = attrs.evolve(other, status=attrs.evolve(other.status, error=BrokerUnreachableError("b", "x")))
    text = lead([well, ill, gone], NOW, None)
    assert text.startswith("2 of 3 tables need attention: 1 unknown, 1 silent. 3 of 3 tables are proven")


def test_only_a_comparison_of_all_values_is_a_proof() -> None:
    """A sample, or equal numbers of rows, are not."""
    assert PROOF.is_proof
    for change in ({"outcome": "different"}, {"scope": ("a sample of 1 %",)}, {"mode": "counts"}):
        assert not attrs.evolve(PROOF, **change).is_proof


def test_totals_add_up_and_leave_out_changes_before_a_day(tmp_path: Path) -> None:
    """Tables whose rows are unknown count as none."""
    first, second = tables(tmp_path, 1_000, 500)
    unknown = attrs.evolve(second, status=attrs.evolve(second.status, rows=None, lag=7, rejects=3))
    totals = sum_up([first, unknown], NOW)
    assert (totals.rows, totals.waiting, totals.rejects, totals.is_more) == (1_000, 7, 3, False)
    assert totals.changes == 1_000 + 500 + 2 * sum(range(1, 11))
    assert sum_up([first, unknown], NOW + timedelta(days=2)).changes == 0


def test_tables_are_grouped_by_their_source_the_worst_first(tmp_path: Path) -> None:
    """By the prefix of the topic, or of the connector that sends heartbeats."""
    first, second, third = tables(tmp_path, 1, 1, 1)
    shop = Connector("shop.eu", NOW, has_heartbeats=True, limit_s=86_400.0)
    second = attrs.evolve(second, status=attrs.evolve(second.status, connector=shop))
    gone = attrs.evolve(third.status, error=BrokerUnreachableError("b", "x"), topic=Topic("plain"))
    groups = group_by_source([first, second, attrs.evolve(third, status=gone)], None)
    assert [(group.name, len(group.tables)) for group in groups] == [("", 1), ("server1", 1), ("shop.eu", 1)]


def test_a_first_load_is_cut_and_does_not_flatten_the_commits_after_it(tmp_path: Path) -> None:
    """The highest of the others has the whole height; nothing is cut without an outlier."""
    (table,) = tables(tmp_path, 1_000_000)
    drawn = bars(table.commits, 60)
    assert [bar.is_cut for bar in drawn] == [True] + [False] * 10
    assert drawn[0].upserted_height == drawn[-1].upserted_height > 90
    assert drawn[5].upserted_height > 40
    assert not any(bar.is_cut for bar in bars(table.commits[:-1], 60))
