"""A JVM that ends in the middle: other tables continue in another one, and no command ends in a traceback."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from ingest.testing import nullable
from tests.e2e.deployment import LIGHT_JVM, Deployment
from tests.e2e.events import Change, Topic, make_topics
from tests.hudi.conftest import timeline_of
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}
NAMES: Final = ("a", "b", "c")
WAIT_S: Final = PATIENCE_S


def make_tables(deployment: Deployment, *, memory: str = "") -> dict[str, Topic]:
    """Make tables with a commit each and a message that waits; two are run at a time."""
    with (deployment.root / "ingest.toml").open("a") as settings:
        settings.write(f"[run]\nparallel_tables = 2\n{LIGHT_JVM}{memory}")
    topics = make_topics(
        deployment.servers, {f"{deployment.prefix}.testDB.dbo.{name}": COLUMNS for name in NAMES}
    )
    deployment.onboard()
    for topic in topics.values():
        topic.send(Change("c", {"id": 1, "v": "first"}, at=1))
    assert deployment.run().exit_code == 0
    for topic in topics.values():
        topic.send(Change("c", {"id": 2, "v": "second"}, at=2))
    return topics


def produce_large(deployment: Deployment, topic: Topic, size: int) -> None:
    """Append a message of one large text, which compresses well."""
    limits = {"message.max.bytes": size + 1_000_000, "compression.type": "gzip"}
    producer = Producer({"bootstrap.servers": deployment.servers.bootstrap_servers, **limits})
    change = Change("c", {"id": 3, "v": "x" * size}, at=3)
    producer.produce(topic.name, topic.value_bytes(change), topic.key_bytes({"id": 3}))
    assert producer.flush(60) == 0


@contextmanager
def hanging(deployment: Deployment, tables: Sequence[str]) -> Iterator[Callable[[], None]]:
    """Let tables hang when they are opened: their properties are a pipe; yields the way to repair them."""
    folders = [deployment.root / "lake" / table / ".hoodie" for table in tables]
    for folder in folders:
        (folder / "hoodie.properties").rename(folder / "kept")
        os.mkfifo(folder / "hoodie.properties")

    def repair() -> None:
        for folder in folders:
            if (folder / "kept").exists():
                (folder / "kept").replace(folder / "hoodie.properties")

    try:
        yield repair
    finally:
        repair()


def start(deployment: Deployment, *command: str) -> "subprocess.Popen[str]":
    """Start a command as a process."""
    return subprocess.Popen(
        [sys.executable, "-m", "ingest", *command], cwd=deployment.root, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def jvm_of(process: "subprocess.Popen[str]") -> int | None:
    """Find the process of the JVM that a command started."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return next((int(pid) for pid in children if Path(f"/proc/{pid}/comm").read_text() == "java\n"), None)


def hung_threads(pid: int) -> int:
    """Count the threads of a process that wait at a pipe for somebody to write."""
    return [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/wchan")].count("wait_for_partner")


def kill_when_hung(process: "subprocess.Popen[str]", threads: int) -> None:
    """Kill a command's JVM as soon as so many of its threads hang."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        assert process.poll() is None, process.communicate()
        pid = jvm_of(process)
        if pid is not None and hung_threads(pid) == threads:
            os.kill(pid, signal.SIGKILL)
            return
        time.sleep(0.05)
    pytest.fail("the JVM never hung")


def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Wait for a command; return its exit code and its output, never a traceback."""
    out, err = process.communicate(timeout=WAIT_S)
    assert "Traceback" not in err
    assert "report it" not in err
    assert "Connection refused" not in err
    return process.returncode, out, err


def outcomes(out: str) -> dict[str, Any]:
    """Read the outcome of each table from a report."""
    return {load["table"]: load["outcome"] for load in json.loads(out)["tables"]}


def test_tables_of_a_killed_jvm_run_in_another_one(make_deployment: Callable[[], Deployment]) -> None:
    """Two tables were at work and one was waiting: all three commit, each once."""
    deployment = make_deployment()
    make_tables(deployment)

    with hanging(deployment, ["a", "b"]) as repair:
        process = start(deployment, "run", "--json")
        kill_when_hung(process, 2)
        repair()
        code, out, err = ended(process)

    assert (code, outcomes(out)) == (0, dict.fromkeys(NAMES, "committed")), err
    assert "killed by SIGKILL" in err
    for name in NAMES:
        assert sorted(row.v for row in deployment.frame(name).collect()) == ["first", "second"]


@pytest.mark.pairs  # a message beyond the heap, below, ends a JVM with one table at work, too
def test_the_only_table_at_work_is_reported_and_the_others_commit(
    make_deployment: Callable[[], Deployment],
) -> None:
    """Exit code 75, with the table, the JVM's end, and the remedy."""
    deployment = make_deployment()
    make_tables(deployment)

    with hanging(deployment, ["a"]):
        process = start(deployment, "run", "a", "b", "c", "--json")
        until = time.monotonic() + WAIT_S
        while not (list_commits(deployment, "b") > 1 and list_commits(deployment, "c") > 1):
            assert time.monotonic() < until
            time.sleep(0.2)
        time.sleep(2)  # the threads of both end
        kill_when_hung(process, 1)
        code, out, err = ended(process)

    assert (code, outcomes(out)) == (75, {"a": "temporary", "b": "committed", "c": "committed"}), err
    assert "table a: the JVM ended (killed by SIGKILL)" in err


def test_a_message_beyond_the_heap_is_found_and_rejected(make_deployment: Callable[[], Deployment]) -> None:
    """60 MB in a heap of 512 MB, between two others, with the plain command: all tables commit."""
    deployment = make_deployment()
    topics = make_tables(deployment, memory='"spark.driver.memory" = "512m"\n')
    produce_large(deployment, topics["a"], 60_000_000)
    topics["a"].send(Change("c", {"id": 4, "v": "last"}, at=4))

    code, out, err = ended(start(deployment, "run", "--json", "--report", "report.json"))

    assert (code, outcomes(out)) == (0, dict.fromkeys(NAMES, "committed")), err
    assert json.loads((deployment.root / "report.json").read_text()) == json.loads(out)
    (table,) = [one for one in json.loads(out)["tables"] if one["table"] == "a"]
    assert (table["offsets"], table["read"]) == ({"from": {"0": 1}, "to": {"0": 4}}, 3)
    assert (table["applied"]["upserted"], table["rejected"]) == (2, 1)
    assert sorted(row.v for row in deployment.frame("a").collect()) == ["first", "last", "second"]
    (reject,) = deployment.session.rejects("a").records
    assert (reject.offset, reject.reason) == (2, "too-large")
    assert "the JVM runs out of memory over this record alone" in reject.error
    assert not list((deployment.root / ".ingest" / "state" / "memory").iterdir())
    assert deployment.session.replay("a").resolved == 1  # in the heap of this process
    assert max(len(row.v) for row in deployment.frame("a").collect()) == 60_000_000


def list_commits(deployment: Deployment, table: str) -> int:
    """Count a table's completed commits."""
    return len(list(timeline_of(deployment.root / "lake" / table).glob("*.commit")))


@pytest.mark.pairs  # `run` is above
@pytest.mark.parametrize(
    "command",
    [["plan", "a"], ["status", "a", "--offsets"], ["status", "a"], ["schema", "versions", "a"]],
)
def test_a_command_without_its_jvm_can_be_repeated(
    make_deployment: Callable[[], Deployment], command: list[str]
) -> None:
    """For every command: exit code 75, and the JVM's end in a sentence."""
    deployment = make_deployment()
    make_tables(deployment)

    with hanging(deployment, ["a"]):
        process = start(deployment, *command)
        kill_when_hung(process, 1)
        code, out, err = ended(process)

    assert code == 75, err
    assert "the JVM ended (killed by SIGKILL)" in out + err
