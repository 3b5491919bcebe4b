"""The pieces of every command's help: its page, and the option `--json`."""

from typing import Annotated

from cyclopts import App, Parameter

Json = Annotated[bool, Parameter(negative=(), show_default=False, help="Print JSON, not text.")]


class CommandPage(App):
    """A command with its function's docstring as its page.

    When cyclopts imports a command, it replaces the command's help by the line that lists it (5.4,
    `CommandSpec.resolve`).  Here that line is only for the list.
    """

    @property
    def help(self) -> str:
        """Return the docstring of the command."""
        return (self.default_command and self.default_command.__doc__) or ""

    @help.setter  # noqa: A003  cyclopts names it so
    def help(self, _: str) -> None:
        """Leave the page as it is."""
