"""`ingest local`: the real servers on loopback, and recorded messages for them."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import attrs
from cyclopts import App, Parameter

if TYPE_CHECKING:
    from ingest.local.load import Loaded
    from ingest.local.servers import Addresses, ServerStatus

# Rooms are imported inside the commands: `ingest --help` must not load the Kafka client.
DATA: Final = Path(".ingest/local")
TITLES: Final = {"broker": "Kafka broker", "registry": "schema registry"}

Data = Annotated[Path, Parameter(help="Folder of the servers' data, logs and ports.")]
Json = Annotated[bool, Parameter(negative=(), show_default=False, help="Print JSON, not text.")]

app = App(
    name="local",
    sort_key=6,
    help="A real Kafka broker and schema registry on loopback, for development and tests.",
)


@app.command
def up(
    *,
    data: Data = DATA,
    kafka_port: Annotated[int | None, Parameter(help="Port of the broker.")] = None,
    registry_port: Annotated[int | None, Parameter(help="Port of the registry.")] = None,
    json: Json = False,
) -> None:
    """Start the servers that do not run yet, wait until both answer, print their addresses.

    Ports are free ones, chosen at the first start and kept. Servers go on running until
    `ingest local down`.

    Example: `ingest local up --kafka-port 9092 --registry-port 8081`
    """
    from ingest.local import servers  # noqa: PLC0415 - light start

    with _progress("Starting the Kafka broker and the schema registry"):
        addresses = servers.up(data, kafka_port, registry_port)
    if json:
        _print_json(attrs.asdict(addresses))
    else:
        _print_addresses(addresses)


@app.command
def down(*, data: Data = DATA) -> None:
    """Stop the servers; what they hold stays for the next start.

    Example: `ingest local down`
    """
    from ingest.local import servers  # noqa: PLC0415 - light start

    with _progress("Stopping the servers"):
        stopped = servers.down(data)
    names = " and ".join(TITLES[name] for name in stopped)
    _print(f"Stopped: {names}." if names else "Nothing was running.")


@app.command
def status(*, data: Data = DATA, json: Json = False) -> None:
    """Show which servers are up, where they answer, and where their logs are.

    Example: `ingest local status --json`
    """
    from ingest.local import servers  # noqa: PLC0415 - light start

    found = servers.status(data)
    if json:
        _print_json([attrs.asdict(server) for server in found])
        return
    for server in found:
        _print_status(server)


@app.command
def load(
    folder: Annotated[Path, Parameter(help="A fixture folder, or a corpus folder as dumped.")],
    /,
    *,
    topic: Annotated[
        tuple[str, ...],
        Parameter(negative=(), show_default=False, help="Only topics like this glob (repeatable)."),
    ] = (),
    partitions: Annotated[
        int | None, Parameter(help="Spread over so many partitions [default: as recorded].")
    ] = None,
    rename: Annotated[
        tuple[str, str] | None, Parameter(negative=(), help="OLD NEW: another prefix of topics and subjects.")
    ] = None,
    versions: Annotated[
        int | None, Parameter(help="End each topic before its first value of a later version.")
    ] = None,
    limit: Annotated[int | None, Parameter(help="At most so many messages a topic.")] = None,
    data: Data = DATA,
    bootstrap_servers: Annotated[str | None, Parameter(help="Another broker than the local one.")] = None,
    registry_url: Annotated[str | None, Parameter(help="Another registry than the local one.")] = None,
    json: Json = False,
) -> None:
    """Register a folder's schemas, version by version, and produce its recorded messages.

    What a topic already holds is not produced again, so a load can be repeated or continued.

    Example: `ingest local load registry_fixtures/sqlserver --versions 1`
    """
    from ingest.local.load import LoadOptions  # noqa: PLC0415 - light start
    from ingest.local.load import load as load_folder  # noqa: PLC0415 - light start
    from ingest.local.servers import find_addresses  # noqa: PLC0415 - light start

    if bootstrap_servers is None or registry_url is None:
        local = find_addresses(data)
        bootstrap_servers = bootstrap_servers or local.bootstrap_servers
        registry_url = registry_url or local.registry_url
    options = LoadOptions(topic, partitions, rename, versions, limit)
    with _progress(f"Loading {folder}") as show:
        loaded = load_folder(
            folder, bootstrap_servers, registry_url, options, lambda name: show(f"Loading {name}")
        )
    if json:
        _print_json(attrs.asdict(loaded))
    else:
        _print_loaded(loaded)


def _print_addresses(addresses: "Addresses") -> None:
    _print(f"{TITLES['broker']:<17}{addresses.bootstrap_servers}")
    _print(f"{TITLES['registry']:<17}{addresses.registry_url}")


def _print_status(server: "ServerStatus") -> None:
    pid = f"pid {server.pid}" if server.pid else ""
    _print(f"{TITLES[server.name]:<17}{server.state:<9}{pid:<13}{server.address or ''}".rstrip())
    if server.pid:
        _print(f"{'':<17}log: {server.log}")


def _print_loaded(loaded: "Loaded") -> None:
    _print(f"{'produced':>10} {'held before':>12} {'partitions':>11}  topic")
    for topic in loaded.topics:
        counts = f"{topic.produced:>10,} {topic.held_before:>12,} {topic.partitions:>11,}"
        _print(f"{counts}  {topic.topic}")
    _print(f"{loaded.produced:>10,} messages in all; {loaded.schemas} schema versions registered")


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")


def _print_json(value: Any) -> None:
    _print(json.dumps(value))


@contextmanager
def _progress(text: str) -> Iterator[Callable[[str], None]]:
    """Show what goes on, on a terminal only; yields the function that changes the text."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - light start

    with Console(stderr=True).status(text) as spinner:
        yield spinner.update
