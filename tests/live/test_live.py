"""A real PostgreSQL, written to in each phase, behind Debezium: each ends with two comparisons.

`ingest verify` also runs while the writing goes on.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import attrs
import pytest

from ingest.report.outcome import RunReport
from ingest.verify.result import TableVerification
from tests.e2e.deployment import Deployment, Deployments
from tests.live.database import serve
from tests.live.engine import PREFIX, SIGNALS, read_values, stream, wait_until_delivered
from tests.live.source import START, TABLES, read_source
from tests.live.tables import Ending, has_ended_snapshot, wait_for_snapshot
from tests.live.verified import LOST_BY_DEBEZIUM, Live
from tests.live.writer import CompiledWriter

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]

SEED = 4
WRITTEN = ("customers", "docs")
"""Tables to verify while they are written to, which takes most of the looks that there are."""
PHASES = ("snapshot", "new columns", "snapshot again")
NOTIFICATIONS = f"{PREFIX}.notifications"
# Every kind of value once more, streamed this time.
COPY_ALL_TYPES = """
begin; create temp table copied on commit drop as table inv.all_types; update copied set id = id + 10;
insert into inv.all_types table copied; commit;
update inv.all_types set id = id + 10, i4 = 7 where id > 12; delete from inv.all_types where id = 11;
"""
NEW_COLUMNS = """
alter table inv.customers add column loyalty numeric(8,3);
alter table inv.order_lines add column channel varchar(10) default 'web';
insert into inv.order_lines select 21, i, 'sku' from generate_series(1, 5) i;
update inv.order_lines set qty = qty;  -- a default reaches a row with the row's next event
update inv.customers set loyalty = id / 8.0 where id % 3 = 0;
create table inv.late (id int primary key, v text);
insert into inv.late values (1, 'one'), (2, 'two');
"""
WIDER = """
alter table inv.customers alter age type bigint;
alter table inv.widepk alter id type bigint;
update inv.customers set age = 9223372036854775807 where id % 5 = 0;
insert into inv.widepk values (9223372036854775807, 'wide') on conflict do nothing;
update inv.widepk set v = 'after' where id < 10;
"""
TRUNCATE = """
begin; truncate inv.scratch; insert into inv.scratch values (1, 'same'), (50, 'new'); commit;
"""


@attrs.frozen
class Pipeline:
    """The end of each phase, and everything that the runs reported."""

    onboarded: frozenset[str]
    reports: tuple[RunReport, ...]
    """Those of runs while the writing went on."""
    last_reports: tuple[RunReport, ...]
    """Those of runs that ended a phase."""
    notifications: tuple[bytes, ...]
    written: Mapping[str, Mapping[str, TableVerification]]
    """By phase and table, the answers of `ingest verify` while the writing went on."""
    endings: Mapping[str, Ending]


@pytest.fixture(scope="module")
def pipeline(
    binaries: Path,
    deployments: Deployments,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Pipeline]:
    """Go through all phases, writing in each, from before the first snapshot on."""
    folder = tmp_path_factory.mktemp("live")
    deployment = deployments.recorded(folder, PREFIX)
    reports: list[RunReport] = []
    last: list[RunReport] = []
    written: dict[str, Mapping[str, TableVerification]] = {}
    endings: dict[str, Ending] = {}
    with serve(binaries) as database:
        database.run(START.read_text())
        with (
            CompiledWriter(database, SEED) as writer,
            stream(database, deployments.servers, folder) as engine,
        ):
            live = Live(deployment, database, engine)
            live.write_settings()
            reports.append(_snapshot(live))
            written["snapshot"] = live.verify_all(*WRITTEN)
            writer.leave()
            endings["snapshot"] = _end(live, last)
            with CompiledWriter(database, SEED + 1):
                reports.append(_change_tables(live))
                written["new columns"] = live.verify_all(*WRITTEN)
                engine.kill()
                with live.source(wait_s=2.0):
                    written["kill"] = live.verify_all(*WRITTEN)
        with stream(database, deployments.servers, folder) as engine:
            live = Live(deployment, database, engine)
            endings["new columns"] = _end(live, last)
            with CompiledWriter(database, SEED + 2):
                reports += _snapshot_again(live)
                wait_for_snapshot(deployments.servers, NOTIFICATIONS)
                written["snapshot again"] = live.verify_all(*WRITTEN)
            endings["snapshot again"] = _end(live, last)
        onboarded = frozenset(table.name for table in deployment.session.tables())
        notifications = read_values(deployments.servers, NOTIFICATIONS)
        yield Pipeline(onboarded, tuple(reports), tuple(last), notifications, written, endings)


def _end(live: Live, reports: list[RunReport]) -> Ending:
    """Read everything, and compare every table in both ways."""
    wait_until_delivered(live.database)
    reports += live.deployment.run_until_idle()
    return live.compare(TABLES, partial(read_source, live.database))


def _snapshot(live: Live) -> RunReport:
    """Read the snapshot."""
    wait_until_delivered(live.database)
    _onboard(live.deployment)
    return live.deployment.run()


def _change_tables(live: Live) -> RunReport:
    """Read every kind of value as a change, new columns and a new table."""
    live.database.run(COPY_ALL_TYPES)
    live.database.run(NEW_COLUMNS)
    wait_until_delivered(live.database)
    _onboard(live.deployment)
    return live.deployment.run()


def _snapshot_again(live: Live) -> list[RunReport]:
    """Read an incremental snapshot, wider types and truncates."""
    reports, database, deployment = [], live.database, live.deployment
    with database.transaction() as opened:  # open across the snapshot, which reads rows that it changes
        opened.run("insert into inv.customers (id, first_name) values (95, 'open')")
        opened.run("update inv.order_lines set note = 'open' where order_id = 21")
        database.run(live.signal_snapshot("customers", "order_lines", signals=SIGNALS))
        reports.append(deployment.run())
    for change in (WIDER, TRUNCATE, TRUNCATE):
        database.run(change)
        reports.append(deployment.run())
    return reports


def _onboard(deployment: Deployment) -> None:
    deployment.session.onboard([f"*{PREFIX}*"], name="{table}")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("phase", PHASES)
def test_table_equals_the_database(phase: str, table: str, pipeline: Pipeline) -> None:
    """Every cell is the database's own, by the referee; `ingest verify` finds only Debezium's own losses."""
    ending = pipeline.endings[phase]
    if table == "late" and phase == "snapshot":
        assert table not in ending.answers
        return
    answer = ending.answers[table]
    assert ending.differences[table] == []
    assert (answer.error, answer.in_flight, answer.note) == (None, 0, "")
    assert set(answer.columns) == set(LOST_BY_DEBEZIUM.get(table, ()))
    assert set(answer.counts) <= {"different"}
    assert answer.source_rows == answer.table_rows > 0


@pytest.mark.parametrize("phase", ["snapshot", "new columns", "kill", "snapshot again"])
def test_verify_accuses_nothing_during_a_phase(phase: str, pipeline: Pipeline) -> None:
    """Writing goes on, a connector is dead: each table gets an answer, and no row is accused."""
    answers = pipeline.written[phase]
    assert set(answers) == set(WRITTEN)
    assert [answer.error for answer in answers.values() if answer.error] == []
    assert {name: answer.counts for name, answer in answers.items()} == {name: {} for name in WRITTEN}


def test_only_tables_are_onboarded(pipeline: Pipeline) -> None:
    """Signals, heartbeats, transactions and notifications are none, though the glob is as wide as it gets."""
    assert pipeline.onboarded == set(TABLES)


def test_every_run_read_something_and_rejected_nothing(pipeline: Pipeline) -> None:
    """Writing went on all the time, and what a report counts adds up."""
    reports = (*pipeline.reports, *pipeline.last_reports)
    tallies = [table.to_json() for report in reports for table in report.tables]
    assert [tally["error"] for tally in tallies if tally["error"]] == []
    assert {tally["rejected"] for tally in tallies} == {0}
    assert all(any(table.outcome == "committed" for table in report.tables) for report in pipeline.reports)


def test_the_stream_has_the_expected_events(pipeline: Pipeline) -> None:
    """Tombstones, truncates and an incremental snapshot came through: without them the rest says little."""
    reports = (*pipeline.reports, *pipeline.last_reports)
    ignored = [table.to_json()["ignored"] for report in reports for table in report.tables]
    assert sum(item.get("tombstone", 0) for item in ignored) > 0
    assert sum(item.get("truncate", 0) for item in ignored) > 0
    assert has_ended_snapshot(pipeline.notifications)
