"""Tables at work beside the rounds of `--follow`, so that no other table waits for their end.

They have a backlog, or a storage that hangs.
"""

import math
import signal
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from ingest.errors import JvmEndedError
from ingest.lazy import LazyModule
from ingest.log import logger
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
class _Work:
    """A table at work, in a thread and with a stop apart."""

    table: TableConfig
    run: "Context"
    thread: threading.Thread = attrs.field(init=False)
    outcomes: "tuple[TableOutcome, ...]" = attrs.field(default=(), init=False)

    def start(self, task: "TableTask[Any]") -> None:
        """Start the thread."""

        def work() -> None:
            run, table = self.run, self.table
            try:
                self.outcomes = fleet.Fleet(run, task, may_restart=False).run_all([table])
            except Exception as error:  # noqa: BLE001  a thread must leave an outcome
                self.outcomes = (task.finish(run, table, fleet.explain(run, table, error), 0.0),)

        self.thread = threading.Thread(target=work, name=f"beside-{self.table.name}", daemon=True)
        self.thread.start()


@attrs.define(eq=False)
class Beside:
    """Threads that work on tables with a backlog, a few at a time, while round after round passes.

    That of a table whose storage hangs counts as infinite.  The outcomes belong to the report of the round
    that finds them.  By default no table has a backlog.
    """

    backlog: float = math.inf
    """The messages beyond which a table has one."""
    _work: dict[str, _Work] = attrs.field(factory=dict, init=False)
    _round: "Context | None" = attrs.field(default=None, init=False)
    """The present round, whose display shows what the threads do."""
    _suspects: set[str] = attrs.field(factory=set, init=False)
    """Tables at whose work a JVM ended.  They stay in the rounds, which start another one."""

    @property
    def is_at_work(self) -> bool:
        """Whether a table is at work, or has an outcome that no round has found."""
        return bool(self._work)

    def names(self) -> set[str]:
        """Return the names of the tables at work."""
        return set(self._work)

    def begin(self, run: "Context") -> "dict[str, TableOutcome]":
        """Begin a round, and return the outcomes since the last one, by table."""
        self._round = run
        found = self._collect()
        for name, work in self._work.items():
            run.progress(name, work.run.steps.detail(name))
        return found

    def take(
        self, run: "Context", task: "TableTask[Any]", tables: Sequence[TableConfig]
    ) -> list[TableConfig]:
        """Work on tables with a backlog, a few of many, and return those that a round works on.

        The others with a backlog are left for a later round.
        """
        large = [table for table in tables if run.unread(table) > self.backlog]
        large = [table for table in large if table.name not in self._suspects]
        if not large or not run.driver.process.is_alive():
            return list(tables)
        for table in large:
            if table.name in run.hanging:
                logger(__name__).warning("storage does not answer", table=table.name)
        for table in large[: max(0, run.settings.run.parallel_tables - len(self._work))]:
            own = attrs.evolve(run, stop=Stop(), progress=self._note, raises_signal=False)
            self._work[table.name] = _Work(table, own)
            self._work[table.name].start(task)
        return [table for table in tables if table not in large]

    def end(self, stop: Stop) -> "dict[str, TableOutcome]":
        """Stop the tables at work as the signal of a stop does, and return their outcomes."""
        for work in self._work.values():
            work.run.stop.signal = stop.signal or signal.SIGTERM.name
        with listening(stop):
            for work in self._work.values():
                work.thread.join()
        return self._collect()

    def _collect(self) -> "dict[str, TableOutcome]":
        ended = [work for work in self._work.values() if not work.thread.is_alive()]
        found = {outcome.table: outcome for work in ended for outcome in work.outcomes}
        crashed = (name for name, outcome in found.items() if isinstance(outcome.error, JvmEndedError))
        self._suspects.update(crashed)
        self._work = {name: work for name, work in self._work.items() if work not in ended}
        return found

    def _note(self, table: str, step: str) -> None:
        if self._round:
            self._round.progress(table, step)


class RoundStop(Stop):
    """The stop of a round of `--follow`, by which its run finds the tables beside it."""

    def __init__(self, beside: Beside) -> None:
        super().__init__()
        self.beside = beside
