"""Tables with a backlog, at work beside the rounds of `--follow`: no other table waits for their end."""

import math
import signal
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from ingest.errors import JvmEndedError
from ingest.lazy import LazyModule
from ingest.stop import Stop, listening
from ingest.tables import TableConfig

if TYPE_CHECKING:
    from ingest.report.outcome import TableOutcome
    from ingest.run.work import fleet
    from ingest.run.work.context import Context, TableTask
else:  # the command line knows `--follow` without Spark
    fleet = LazyModule("ingest.run.work.fleet")

BACKLOG: Final = 100_000
"""Messages that make a backlog: a core reads and writes them in two seconds at least."""


@attrs.define(eq=False)
class Beside:
    """A thread that works on tables with a backlog, a few at a time, while round after round passes.

    Its outcomes belong to the report of the round that finds them.  By default no table has a backlog.
    """

    backlog: float = math.inf
    """The messages beyond which a table has one."""
    _tables: tuple[TableConfig, ...] = attrs.field(default=(), init=False)
    _outcomes: "tuple[TableOutcome, ...]" = attrs.field(default=(), init=False)
    _thread: threading.Thread | None = attrs.field(default=None, init=False)
    _run: "Context | None" = attrs.field(default=None, init=False)
    """The run of the thread, with a stop apart."""
    _round: "Context | None" = attrs.field(default=None, init=False)
    """The present round, whose display shows what the thread does."""
    _suspects: set[str] = attrs.field(factory=set, init=False)
    """Tables at whose work a JVM ended.  They stay in the rounds, which start another one."""

    @property
    def is_at_work(self) -> bool:
        """Whether a table is at work, or has an outcome that no round has found."""
        return bool(self._tables)

    def names(self) -> set[str]:
        """Return the names of the tables at work."""
        return {table.name for table in self._tables}

    def begin(self, run: "Context") -> "dict[str, TableOutcome]":
        """Begin a round, and return the outcomes since the last one, by table."""
        self._round = run
        if self._run and self._thread and self._thread.is_alive():
            for name in self.names():
                run.progress(name, self._run.steps.detail(name))
            return {}
        return self._collect()

    def take(
        self, run: "Context", task: "TableTask[Any]", tables: Sequence[TableConfig]
    ) -> list[TableConfig]:
        """Work on tables with a backlog, a few of many, and return those that a round works on.

        The others with a backlog are left for the next round.
        """
        large = [table for table in tables if run.unread(table) > self.backlog]
        large = [table for table in large if table.name not in self._suspects]
        if not large or not run.driver.process.is_alive():
            return list(tables)
        if not self._tables:
            self._start(run, task, large[: run.settings.run.parallel_tables])
        return [table for table in tables if table not in large]

    def end(self, stop: Stop) -> "dict[str, TableOutcome]":
        """Stop the tables at work as the signal of a stop does, and return their outcomes."""
        if self._thread and self._run:
            self._run.stop.signal = stop.signal or signal.SIGTERM.name
            with listening(stop):
                self._thread.join()
        return self._collect()

    def _start(self, run: "Context", task: "TableTask[Any]", tables: Sequence[TableConfig]) -> None:
        own = attrs.evolve(run, stop=Stop(), progress=self._note, raises_signal=False)
        self._run, self._tables = own, tuple(tables)

        def work() -> None:
            try:
                self._outcomes = fleet.Fleet(own, task, may_restart=False).run_all(tables)
            except Exception as error:  # noqa: BLE001  a thread must leave outcomes
                errors = ((table, fleet.explain(own, table, error)) for table in tables)
                self._outcomes = tuple(task.finish(own, table, problem, 0.0) for table, problem in errors)

        self._thread = threading.Thread(target=work, name="beside", daemon=True)
        self._thread.start()

    def _collect(self) -> "dict[str, TableOutcome]":
        found = {outcome.table: outcome for outcome in self._outcomes}
        ended = (name for name, outcome in found.items() if isinstance(outcome.error, JvmEndedError))
        self._suspects.update(ended)
        self._thread, self._run, self._tables, self._outcomes = None, None, (), ()
        return found

    def _note(self, table: str, step: str) -> None:
        if self._round:
            self._round.progress(table, step)


class RoundStop(Stop):
    """The stop of a round of `--follow`, by which its run finds the tables beside it."""

    def __init__(self, beside: Beside) -> None:
        super().__init__()
        self.beside = beside
