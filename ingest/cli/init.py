"""`ingest init`: write a settings file, and examine it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import attrs
from cyclopts import Parameter

from ingest.cli.doctor import examine, show_checkup
from ingest.cli.options import Deployment, parse_readers
from ingest.cli.output import print_json, print_text, spin
from ingest.cli.page import CommandPage, Json
from ingest.errors import IngestError, UsageError
from ingest.kafka import connection
from ingest.local import servers
from ingest.local.fixture import sample_folder
from ingest.local.load import load
from ingest.settings import write_settings
from ingest.tables import Reader

if TYPE_CHECKING:
    from ingest.local.servers import Addresses

app = CommandPage(name="init", help_format="markdown")
LAKE = "lake"
READERS = "spark"
SETTINGS = Path("ingest.toml")
SAMPLE_TOPICS = "sqs*"
"""The topics of the recording that the package brings."""


@app.default
def init(
    *,
    sample: Annotated[
        bool,
        Parameter(negative=(), help="Start local servers with recorded events, to play with."),
    ] = False,
    readers: Annotated[
        str | None,
        Parameter(
            help="Readers of the tables, comma separated, such as spark,daft, or any. By default spark.",
        ),
    ] = None,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Write a settings file, then examine the deployment as `ingest doctor` does.

    On a terminal, asks for each address that no flag gives. Without a terminal, `--bootstrap-servers` is
    required, unless the servers of `ingest local` run here. Topics of JSON need no registry: leave it empty.

    With `--sample` starts these servers, and produces what Debezium recorded for four SQL Server tables.

    The file holds comments on logins, and only its owner can read it. Relative paths start at the file. An
    existing file is never overwritten. Exit code 1: written, but something needs a remedy.

    Example: `ingest init --registry http://127.0.0.1:8081 --bootstrap-servers 127.0.0.1:9092 --lake lake`

    Example: `ingest init --sample`
    """
    path = (deployment.settings or SETTINGS).absolute()
    if path.exists():
        raise UsageError(f"{path} exists already", "Edit it, or name another file with --settings")
    if sample:
        deployment = _start_sample(deployment)
    registry, bootstrap_servers, lake = _answers(deployment)
    connection.check_addresses(bootstrap_servers)
    question = f"Readers of the tables, comma separated, of {', '.join(get_args(Reader))}"
    write_settings(
        path, registry, bootstrap_servers, lake, parse_readers(_answer(readers, question, READERS))
    )
    in_file = attrs.evolve(deployment, settings=path, registry=None, bootstrap_servers=None, lake=None)
    checkup = examine(in_file)
    if json:
        print_json({"settings": str(path), "checkup": checkup.to_json()})
    else:
        print_text(f"Wrote {path}.")
        print_text()
        show_checkup(checkup)
        print_text()
        pattern = SAMPLE_TOPICS if sample else "PATTERN"
        print_text(f"Next: `ingest onboard '{pattern}'` makes tables of topics, and `ingest run` fills them.")
    return 0 if checkup.is_healthy else 1


def _start_sample(deployment: Deployment) -> Deployment:
    """Start the local servers, load the recording, and return the deployment with their addresses."""
    if deployment.registry is not None or deployment.bootstrap_servers is not None:
        raise UsageError("--sample brings a broker and a registry", "Leave out their addresses")
    with spin("Starting the Kafka broker and the schema registry") as show:
        local = servers.up()
        show("Producing the recorded events")
        load(sample_folder(), local.bootstrap_servers, local.registry_url)
    return attrs.evolve(
        deployment,
        registry=local.registry_url,
        bootstrap_servers=local.bootstrap_servers,
        lake=deployment.lake or LAKE,
    )


def _answers(deployment: Deployment) -> tuple[str, str, str]:
    """Return registry, brokers and lake: of the flags, else as answered."""
    local = _local_servers()
    suggested = (local.registry_url, local.bootstrap_servers) if local else ("", "")
    registry = _answer(deployment.registry, "Schema registry: URL, or a folder of schemas", suggested[0])
    kafka = _answer(deployment.bootstrap_servers, "Kafka brokers: host:port, comma separated", suggested[1])
    if not kafka:
        raise UsageError("the Kafka brokers are not given", "Name them with --bootstrap-servers host:port")
    return registry, kafka, _answer(deployment.lake, "Lake: folder or Hadoop URI of the tables", LAKE)


def _answer(given: str | None, question: str, default: str) -> str:
    """Return a flag's value, else ask on a terminal, else return the default."""
    if given is not None or not sys.stdin.isatty():
        return default if given is None else given
    sys.stderr.write(f"{question} [{default or 'empty'}]: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip() or default


def _local_servers() -> "Addresses | None":
    """Return the addresses of `ingest local`, if it runs here."""
    try:
        return servers.find_addresses(Path(".ingest/local"))
    except (IngestError, ImportError):
        return None
