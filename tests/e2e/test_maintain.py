"""`ingest maintain` next to runs: by command, by Python, after a kill, and while a run holds the lock."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from ingest.hudi.clock import seconds_ahead
from ingest.hudi.lock import locked
from ingest.session import Session
from ingest.testing import nullable
from tests.e2e.deployment import LIGHT_JVM, Deployment
from tests.e2e.events import Change, Topic, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}
WAIT_S = 120


def make_table(deployment: Deployment) -> Topic:
    """Make a merge-on-read table whose runs leave the upkeep to `ingest maintain`."""
    with (deployment.root / "ingest.toml").open("a") as settings:
        settings.write(f'[run]\nupkeep = "maintain"\n{LIGHT_JVM}')
    topic = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": COLUMNS})["t"]
    deployment.onboard(type="mor")
    with (deployment.tables / "t.toml").open("a") as table:
        table.write('"hoodie.compact.inline.max.delta.commits" = "2"\n')  # at the end of [hudi]
    return topic


def fill(deployment: Deployment, topic: Topic, runs: int) -> None:
    """Run the table several times, with changes of the same rows."""
    with deployment.session as session:
        for number in range(runs):
            topic.send(*(Change("c", {"id": n, "v": f"{number}"}, at=number) for n in range(9)))
            assert session.run().exit_code == 0


def timeline(deployment: Deployment) -> list[str]:
    """List the actions of the table."""
    return sorted(path.name for path in (deployment.root / "lake" / "t" / ".hoodie" / "timeline").iterdir())


def test_runs_leave_the_upkeep_to_maintain_which_survives_a_kill(
    make_deployment: Callable[[], Deployment],
) -> None:
    """Runs do not compact, though it is due; a command killed in its compaction is finished by the next."""
    deployment = make_deployment()
    topic = make_table(deployment)
    fill(deployment, topic, 4)
    rows = sorted(deployment.frame("t").select("id", "v", "_cdc_offset").collect())
    (before,) = deployment.session.status()
    assert not [name for name in timeline(deployment) if name.endswith((".commit", ".clean"))]

    kill_in_compaction(deployment)
    (killed,) = deployment.session.status()
    assert (killed.last, killed.lag) == (before.last, 0)
    assert sorted(deployment.frame("t").select("id", "v", "_cdc_offset").collect()) == rows
    with deployment.session as session:
        result = session.maintain().to_json()
        idle = session.maintain().to_json()
        (after,) = session.status()
        topic.send(Change("u", {"id": 0, "v": "last"}, at=99))
        assert session.run().tables[0].counts.read == 1

    (table,) = result["tables"]
    assert (result["outcome"], table["outcome"], table["error"]) == ("done", "maintained", None)
    assert table["compacted_log_files"] > 0
    assert table["compacted_bytes"] > 0
    assert idle["tables"][0]["outcome"] == "idle"
    assert after.last == before.last
    assert sum(row["v"] == "last" for row in deployment.frame("t").collect()) == 1
    instants = [name[:17] for name in timeline(deployment) if name[0].isdigit()]
    assert max(map(seconds_ahead, instants)) <= 0  # in UTC, whatever the zone of the process


def kill_in_compaction(deployment: Deployment) -> None:
    """Start the command, and kill it with its JVM as soon as the compaction has begun."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ingest", "maintain", "t"], cwd=deployment.root, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + WAIT_S
    while not any(name.endswith("compaction.inflight") for name in timeline(deployment)):
        assert process.poll() is None, process.stdout and process.stdout.read()
        assert time.monotonic() < until
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert [name for name in timeline(deployment) if name.endswith("compaction.inflight")]


def test_maintenance_of_a_locked_table_is_tried_again(make_deployment: Callable[[], Deployment]) -> None:
    """Exit code 75, and the holder's name; a dry run takes no lock; without commits nothing is to do."""
    deployment = make_deployment()
    topic = make_table(deployment)
    with Session.open(
        deployment.root / "ingest.toml", spark=deployment.spark, overrides={"run.lock_wait_s": 0.0}
    ) as session:
        assert session.maintain().to_json()["tables"][0]["outcome"] == "idle"
        fill(deployment, topic, 2)
        with locked(deployment.spark, session.settings.lake, "t", "another-run", 0):
            busy = session.maintain()
            planned = session.maintain(dry_run=True).to_json()

    assert busy.exit_code == 75
    content = json.loads(json.dumps(busy.to_json()))
    assert content["outcome"] == content["tables"][0]["outcome"] == "temporary"
    assert "another-run" in content["tables"][0]["error"]
    assert planned["dry_run"] is True
    assert planned["tables"][0]["compacted_log_files"] > 0
