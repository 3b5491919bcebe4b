"""`ingest local`: the real servers on loopback, and recorded messages for them."""

from pathlib import Path
from typing import Annotated, Final

import attrs
from cyclopts import App, Parameter

from ingest.cli.options import EXPERT
from ingest.cli.output import print_json, print_page, print_table, print_text, spin
from ingest.cli.page import Json
from ingest.local import servers
from ingest.local.load import Loaded, LoadOptions
from ingest.local.load import load as load_folder
from ingest.local.servers import Addresses, ServerStatus, find_addresses

DATA: Final = Path(".ingest/local")
TITLES: Final = {"broker": "Kafka broker", "registry": "schema registry"}

Data = Annotated[Path, Parameter(help="Folder of the servers' data, logs and ports.")]
app = App(
    name="local",
    help_format="markdown",
    help="Run a real Kafka broker and schema registry on loopback, for development and tests.",
)


@app.command
def up(
    *,
    data: Data = DATA,
    kafka_port: Annotated[
        int | None, Parameter(help="Port of the broker. By default the previous one, or a free one.")
    ] = None,
    registry_port: Annotated[
        int | None, Parameter(help="Port of the registry. By default the previous one, or a free one.")
    ] = None,
    json: Json = False,
) -> None:
    """Start the servers that are not running, wait until both answer, print their addresses.

    The first start chooses free ports, and later ones keep them. The servers run until `ingest local down`.

    Example: `ingest local up --kafka-port 9092 --registry-port 8081`
    """
    with spin("Starting the Kafka broker and the schema registry"):
        addresses = servers.up(data, kafka_port, registry_port)
    if json:
        print_json(attrs.asdict(addresses), indent=None)
    else:
        _print_addresses(addresses)


@app.command
def down(*, data: Data = DATA) -> None:
    """Stop the servers, and keep their data for the next start.

    Example: `ingest local down`
    """
    with spin("Stopping the servers"):
        stopped = servers.down(data)
    names = " and ".join(TITLES[name] for name in stopped)
    print_text(f"Stopped: {names}." if names else "Nothing was running.")


@app.command
def status(*, data: Data = DATA, json: Json = False) -> None:
    """Show which servers are up, with their addresses and log files.

    Example: `ingest local status --json`
    """
    statuses = servers.status(data)
    if json:
        print_json([attrs.asdict(server) for server in statuses], indent=None)
        return
    for server in statuses:
        _print_status(server)


@app.command
def produce(
    folder: Annotated[
        Path, Parameter(help="Folder of recorded schemas and messages, such as registry_fixtures/sqlserver.")
    ],
    /,
    *,
    topic: Annotated[
        tuple[str, ...],
        Parameter(negative=(), show_default=False, help="Only topics that match this glob (repeatable)."),
    ] = (),
    partitions: Annotated[
        int | None, Parameter(group=EXPERT, help="Number of partitions, by default as recorded.")
    ] = None,
    rename: Annotated[
        tuple[str, str] | None,
        Parameter(group=EXPERT, negative=(), help="OLD NEW: replace the prefix of topics and subjects."),
    ] = None,
    versions: Annotated[
        int | None,
        Parameter(
            help="Newest schema version to produce: a topic ends before its first value of a later one. By "
            "default all."
        ),
    ] = None,
    limit: Annotated[
        int | None, Parameter(group=EXPERT, help="Messages per topic at most, by default all.")
    ] = None,
    data: Data = DATA,
    bootstrap_servers: Annotated[
        str | None, Parameter(group=EXPERT, help="A broker other than the local one.")
    ] = None,
    registry_url: Annotated[
        str | None, Parameter(group=EXPERT, help="A registry other than the local one.")
    ] = None,
    json: Json = False,
) -> None:
    """Register a folder's schemas, version by version, and produce its recorded messages.

    Messages that a topic already holds are not produced again, so a load can be repeated or continued.

    Example: `ingest local produce registry_fixtures/sqlserver --versions 1`
    """
    if bootstrap_servers is None or registry_url is None:
        local = find_addresses(data)
        bootstrap_servers = bootstrap_servers or local.bootstrap_servers
        registry_url = registry_url or local.registry_url
    options = LoadOptions(topic, partitions, rename, versions, limit)
    with spin(f"Loading {folder}") as show:
        loaded = load_folder(
            folder, bootstrap_servers, registry_url, options, lambda name: show(f"Loading {name}")
        )
    if json:
        print_json(attrs.asdict(loaded), indent=None)
    else:
        _print_loaded(loaded)


def _print_addresses(addresses: Addresses) -> None:
    print_page(f"{TITLES['broker']:<17}{addresses.bootstrap_servers}")
    print_page(f"{TITLES['registry']:<17}{addresses.registry_url}")


def _print_status(server: ServerStatus) -> None:
    pid = f"pid {server.pid}" if server.pid else ""
    print_page(f"{TITLES[server.name]:<17}{server.state:<9}{pid:<13}{server.address or ''}".rstrip())
    if server.pid:
        print_page(f"{'':<17}log: {server.log}")


def _print_loaded(loaded: Loaded) -> None:
    rows = [(topic.topic, topic.produced, topic.held_before, topic.partitions) for topic in loaded.topics]
    numbers = ("produced", "present before", "partitions")
    print_table(("topic", *numbers), rows, right=numbers)
    print_text()
    print_text(f"{loaded.produced:,} messages in all; {loaded.schemas} schema versions registered")
