"""Commands and options of the previous release under their present names, each with a warning."""

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from ingest.cli.output import print_error


@attrs.frozen
class Renamed:
    """A command with a new name.  An old command that ends in an option is only meant with that option."""

    old: str
    new: str
    options: Mapping[str, str] = attrs.Factory(dict)
    """The new names of its options."""

    def respell(self, arguments: Sequence[str]) -> list[str] | None:
        """Return the command line in the new spelling, or None if it is another command."""
        command = [word for word in self.old.split() if not word.startswith("--")]
        flags = self.old.split()[len(command) :]
        rest = arguments[len(command) :]
        if list(arguments[: len(command)]) != command or not set(flags) <= set(rest):
            return None
        return [*self.new.split(), *(self._rename(word) for word in rest if word not in flags)]

    def _rename(self, word: str) -> str:
        option, equals, value = word.partition("=")
        return f"{self.options.get(option, option)}{equals}{value}"


RENAMED: Final = (
    Renamed("report", "pages", {"--html": "--to"}),
    Renamed("history", "commits"),
    Renamed("verify --files", "check"),
    Renamed("schema history", "schema versions"),
    Renamed("schema types", "schema show --connector"),
    Renamed("local load", "local produce"),
)


def respell(arguments: Sequence[str]) -> Sequence[str]:
    """Return a command line in its present spelling. Warns if it is an old one."""
    for renamed in RENAMED:
        present = renamed.respell(arguments)
        if present is not None:
            warn_of(
                " ".join((renamed.old, *renamed.options)), " ".join((renamed.new, *renamed.options.values()))
            )
            return present
    return arguments


def warn_of(old: str, new: str) -> None:
    """Name the present spelling on standard error."""
    print_error(f"warning: `ingest {old}` is now `ingest {new}`; a later version refuses the old spelling")
