"""Up, down, status: a broker and a registry on loopback that share a data folder."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import attrs
import cattrs

from ingest.errors import LocalServerError, UsageError
from ingest.local.broker import broker_problem, prepare_broker
from ingest.local.ports import LOOPBACK, check_number, check_port, choose_port
from ingest.local.process import (
    Process,
    find_pid,
    lock_data,
    log_size,
    read_reason,
    start_process,
    stop_processes,
)
from ingest.local.registry import prepare_registry, registry_problem, registry_url

DEFAULT_DATA: Final = Path(".ingest/local")
START_WAIT_S: Final = 120.0
POLL_S: Final = 0.1


@attrs.frozen
class Addresses:
    """The addresses of the local servers."""

    bootstrap_servers: str
    registry_url: str


@attrs.frozen
class Ports:
    """The ports of a data folder: chosen at its first start, and kept."""

    kafka_port: int
    registry_port: int

    @property
    def addresses(self) -> Addresses:
        """The same as addresses."""
        return Addresses(f"{LOOPBACK}:{self.kafka_port}", registry_url(self.registry_port))


@attrs.frozen
class ServerStatus:
    """One server as it is: `up` answers, `unready` runs without answering (yet)."""

    name: str
    state: Literal["up", "unready", "down"]
    address: str | None
    pid: int | None
    log: str


@attrs.frozen
class _Server:
    """One server of a data folder: the differences between the broker and the registry."""

    process: Process
    port: int
    flag: str
    prepare: Callable[[Path, int], tuple[str, ...]]
    problem: Callable[[int], str]


def up(
    data: Path = DEFAULT_DATA, kafka_port: int | None = None, registry_port: int | None = None
) -> Addresses:
    """Start the servers that are not running, and wait until both answer."""
    check_number(kafka_port, "--kafka-port")
    check_number(registry_port, "--registry-port")
    data = data.absolute()
    with lock_data(data) as lock:
        ports = _decide_ports(data, kafka_port, registry_port)
        servers = _servers(data, ports)
        stopped = [server for server in servers if find_pid(server.process) is None]
        for server in stopped:
            check_port(server.process.name, server.port, server.flag)
        commands = [server.prepare(server.process.folder, server.port) for server in stopped]
        _write_ports(data, ports)
        marks = {server.process.name: log_size(server.process) for server in servers}
        for server, command in zip(stopped, commands, strict=True):
            start_process(server.process, command, lock)
        for server in servers:
            _wait_until_up(server, marks[server.process.name])
    return ports.addresses


def down(data: Path = DEFAULT_DATA) -> tuple[str, ...]:
    """Stop the servers of a data folder.  Return the names of the servers that ran."""
    data = data.absolute()
    if not data.is_dir():
        return ()
    with lock_data(data):
        return stop_processes(_processes(data))


def status(data: Path = DEFAULT_DATA) -> tuple[ServerStatus, ...]:
    """Look at the servers of a data folder, changing nothing."""
    data = data.absolute()
    ports = _read_ports(data)
    if ports is None:
        return tuple(_status_down(process, None) for process in _processes(data))
    addresses = attrs.astuple(ports.addresses)
    return tuple(
        _look_at(server, address) for server, address in zip(_servers(data, ports), addresses, strict=True)
    )


def find_addresses(data: Path = DEFAULT_DATA) -> Addresses:
    """Return the addresses of servers that are up.  Raise if a server is not."""
    addresses = []
    for server in status(data):
        if server.state != "up" or server.address is None:
            raise LocalServerError(
                server.name,
                f"is {server.state} in {data}",
                todo="Start it with `ingest local up`, or name the addresses "
                "with --bootstrap-servers and --registry-url",
            )
        addresses.append(server.address)
    return Addresses(*addresses)


def _processes(data: Path) -> tuple[Process, Process]:
    return Process("broker", data), Process("registry", data)


def _servers(data: Path, ports: Ports) -> tuple[_Server, _Server]:
    broker, registry = _processes(data)
    return (
        _Server(broker, ports.kafka_port, "--kafka-port", prepare_broker, broker_problem),
        _Server(registry, ports.registry_port, "--registry-port", prepare_registry, registry_problem),
    )


def _look_at(server: _Server, address: str) -> ServerStatus:
    pid = find_pid(server.process)
    if pid is None:
        return _status_down(server.process, address)
    state: Literal["up", "unready"] = "unready" if server.problem(server.port) else "up"
    return ServerStatus(server.process.name, state, address, pid, str(server.process.log))


def _status_down(process: Process, address: str | None) -> ServerStatus:
    return ServerStatus(process.name, "down", address, None, str(process.log))


def _wait_until_up(server: _Server, mark: int) -> None:
    """Wait until a server answers.  Raise if it died or takes too long, and leave no half-started server."""
    end = time.monotonic() + START_WAIT_S
    process = server.process
    while problem := server.problem(server.port):
        if find_pid(process) is None:
            reason = read_reason(process, mark)
            raise LocalServerError(process.name, f"stopped while starting: {reason}", str(process.log))
        if time.monotonic() > end:
            stop_processes([process])
            raise LocalServerError(
                process.name, f"{problem}, {START_WAIT_S:.0f} s after its start", str(process.log)
            )
        time.sleep(POLL_S)


def _decide_ports(data: Path, kafka_port: int | None, registry_port: int | None) -> Ports:
    """Choose the ports: the requested ones, else the ports of the last start, else free ones."""
    last = _pair(_read_ports(data))
    for process, requested, used in zip(_processes(data), (kafka_port, registry_port), last, strict=True):
        if requested not in (None, used) and find_pid(process):
            raise LocalServerError(
                process.name,
                f"already runs on port {used}, not on {requested}",
                todo="Stop it first with `ingest local down`",
            )
    kafka = kafka_port or last[0] or choose_port(_chosen(registry_port, last[1]))
    registry = registry_port or last[1] or choose_port(_chosen(kafka))
    if kafka == registry:
        raise UsageError(f"broker and registry cannot both listen on port {kafka}")
    return Ports(kafka, registry)


def _pair(ports: Ports | None) -> tuple[int | None, int | None]:
    return (ports.kafka_port, ports.registry_port) if ports else (None, None)


def _chosen(*ports: int | None) -> frozenset[int]:
    return frozenset(port for port in ports if port)


def _read_ports(data: Path) -> Ports | None:
    path = data / "local.json"
    try:
        return cattrs.structure(json.loads(path.read_text()), Ports)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, cattrs.BaseValidationError) as error:
        raise LocalServerError(
            "servers",
            f"{path} does not hold the two ports",
            todo="Remove it: the next start chooses new ports",
        ) from error


def _write_ports(data: Path, ports: Ports) -> None:
    fresh = data / "local.json.new"
    fresh.write_text(json.dumps(attrs.asdict(ports)) + "\n")
    fresh.rename(data / "local.json")
