"""The command line of a job: `ingest run …`, or `spark-submit … ingest/__main__.py run …`."""

import shlex
from collections.abc import Sequence

import attrs

from ingest.errors import UsageError
from ingest.settings import MASK, looks_secret, mask_url


@attrs.frozen(kw_only=True)
class RunCommand:
    """A command line: of `spark-submit` if it has an `application`, else of `ingest`."""

    program: str
    application: str | None = None
    submit_args: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    settings: str | None = None
    tables_dir: str | None = None
    max_offsets: str | None = None
    run_args: tuple[str, ...] = ()
    verb: str = "run"

    def line(self, report: str) -> tuple[str, ...]:
        """Return the program and its arguments, with the run report going to the file `report`."""
        submit = (*self.submit_args, self.application) if self.application else ()
        return (self.program, *submit, *self.arguments(report))

    def arguments(self, report: str) -> tuple[str, ...]:
        """Return the arguments of `ingest`."""
        flags = {
            "--settings": self.settings,
            "--tables": self.tables_dir,
            "--max-offsets": self.max_offsets,
            "--report": report,
        }
        arguments = [part for flag, value in flags.items() if value for part in (flag, value)]
        return (self.verb, *self.tables, *arguments, *self.run_args)


def check_arguments(application: str | None, submit_args: Sequence[str]) -> None:
    """Refuse spark-submit arguments without an application.  Raises `UsageError`."""
    if submit_args and not application:
        todo = "Name ingest/__main__.py of the Spark environment with it, and spark-submit as executable"
        raise UsageError("submit_args needs application, which is not set", todo)


def shown(line: Sequence[str]) -> str:
    """Return a command line as typed in a shell, with secrets masked."""
    before = ("", *line)
    return shlex.join(_masked(name, word) for name, word in zip(before, line, strict=False))


def _masked(before: str, word: str) -> str:
    """Mask the value of a `name=value` or flag with a secret-looking name, and credentials in a URL."""
    name, equals, _ = word.partition("=")
    if equals and looks_secret(name):
        return f"{name}={MASK}"
    if before.startswith("--") and "=" not in before and looks_secret(before):
        return MASK
    return mask_url(word)


def names_secret(variable: str) -> bool:
    """Return whether an environment variable of this name holds a secret."""
    return looks_secret(variable.replace("_", ".")) or variable.endswith("BASIC_AUTH")
