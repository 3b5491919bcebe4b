"""A database's own client with an open transaction."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import attrs


@attrs.frozen
class Transaction:
    """A connection that stays open; `echo` is the client's line that prints `done`."""

    process: subprocess.Popen[str]
    echo: str

    def run(self, sql: str) -> None:
        """Run a statement, and return when the server has."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{sql};\n{self.echo}\n")
        self.process.stdin.flush()
        while (line := self.process.stdout.readline()) != "done\n":
            assert line, f"the client ended at: {sql}"


@contextmanager
def transaction(command: Sequence[str], echo: str) -> Iterator[Transaction]:
    """Keep a connection with an open transaction; it is committed at the end."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        opened = Transaction(process, echo)
        opened.run("begin")
        yield opened
        opened.run("commit")
