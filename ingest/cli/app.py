"""The root of the command line: the commands, and how errors are printed."""

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from cyclopts import App, CycloptsError, Group, Parameter

from ingest.cli.old_spellings import respell
from ingest.cli.output import adapt_streams, is_reader_gone, print_error
from ingest.errors import IngestError, RetryableError, UnexpectedError, UsageError
from ingest.lazy import missing_extra
from ingest.stop import INTERRUPTED, Terminated

# cyclopts imports the module of a command when that command is called.
COMMANDS: Final = {
    "Daily use": {
        "init": "Write a settings file, and examine it.",
        "onboard": "Write table files for the topics that match a pattern.",
        "plan": "Preview a run, without writing.",
        "run": "Bring tables up to the ends of their topics, or keep following.",
        "status": "Show health, last runs, commits, rows, rejects and lag.",
        "verify": "Compare tables with their sources, cell by cell.",
    },
    "Repair": {
        "rejects": "List, show, replay or purge the records that a table rejected.",
        "rebuild": "Write a table again with other buckets, type, key or policies.",
        "maintain": "Compact, clean and archive tables.",
        "offsets": "Move a table to other Kafka offsets.",
        "signal": "Ask a Debezium connector for a snapshot.",
    },
    "Inspect": {
        "doctor": "Examine settings, Java, jars, lake, registry and broker.",
        "runs": "List the last runs, or print the report of one.",
        "pages": "Write static HTML pages of all tables.",
        "show": "Show the values that hold for a table, or its rows.",
        "commits": "Show the commits of a table, and its state at a time.",
        "check": "Check tables by their own files: files, offsets and keys.",
        "schema": "Show, compare and check the schemas of a registry.",
    },
    "Move in": {
        "adopt": "Take over another writer's Hudi table, and go on from its offsets.",
        "load": "Fill an empty table from an export, and go on from its position.",
    },
    "Tools": {
        "local": "Run a real Kafka broker and schema registry on loopback.",
        "jars": "Fetch or list the pinned jars of a Spark job.",
        "completion": "Print a script that completes commands, options and tables.",
    },
}
"""The commands by group, in the order of the help."""
READER_GONE: Final = 141
"""The exit code after a SIGPIPE, as shells have it."""


def _version() -> str:
    """Import on use: a command does not need the versions of other parts."""
    return str(import_module("ingest.cli.version").version_text())


def _shown_default(value: object) -> str | None:
    """Return the default in the help: nothing for a flag, and for an empty value, which its text explains."""
    return None if value is False or value in (None, "", ()) else str(value)


app = App(
    name="ingest",
    default_parameter=Parameter(show_default=_shown_default),
    version=_version,
    help="Change events from databases become Apache Hudi tables that equal their sources.",
    # Markdown takes rich 0.1 s to import, and the list of commands has none.
    help_format="plaintext",
    # Else cyclopts exits with 130 itself, also after SIGTERM.
    suppress_keyboard_interrupt=False,
)
for _number, (_title, _commands) in enumerate(COMMANDS.items()):
    _group = Group(_title, sort_key=_number)
    for _sort_key, (_name, _help) in enumerate(_commands.items()):
        app.command(f"ingest.cli.{_name}:app", name=_name, help=_help, group=_group, sort_key=_sort_key)
_group = Group("Options", sort_key=len(COMMANDS))
for _flag in ("--help", "--version"):
    app[_flag].group = _group


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line and leave with its exit code."""
    code = call(sys.argv[1:] if arguments is None else arguments)
    is_reader_gone()  # drops buffered output without a reader: the interpreter's last flush would fail
    sys.exit(code)


def call(arguments: Sequence[str]) -> int:
    """Run a command line, and return its exit code.  A traceback is shown only with --debug."""
    adapt_streams()
    arguments = respell(arguments)
    try:
        result = app(arguments, result_action="return_value", exit_on_error=False, print_error=False)
    except Terminated:
        return RetryableError.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  a traceback is for --debug
        if isinstance(error, BrokenPipeError) and is_reader_gone():
            return READER_GONE
        return _report(_known_error(error), arguments)
    return result if isinstance(result, int) else 0


def _known_error(error: Exception) -> IngestError:
    """Turn any exception into one with an exit code and advice."""
    match error:
        case IngestError():
            return error
        case CycloptsError():
            command = " ".join(("ingest", *(error.command_chain or ())))
            return UsageError(str(error), f"See `{command} --help`")
        case ImportError() if missing := missing_extra(error):
            return missing
        case _:
            surprise = UnexpectedError(type(error).__name__, str(error) or "no details")
            surprise.__cause__ = error
            return surprise


def _report(error: IngestError, arguments: Sequence[str]) -> int:
    if "--debug" in arguments:
        traceback.print_exception(error)
    for problem in error.problems():
        print_error(str(problem))
    return error.exit_code
