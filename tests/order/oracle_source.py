"""An Oracle database and Debezium's LogMiner connector, simulated: transactions, redo threads, snapshots.

Written after debezium's AbstractLogMinerEventProcessor and CommitScn, v2.1.4 and v2.7.0: up to 2.4 the
commit SCN of an event is the last that its redo thread recorded, which a transaction's last event does first.
"""

import random
from typing import Any

import attrs

KEYS = range(5)
THREADS = (1, 2)


@attrs.frozen
class Event:
    """One message: a change of a row, with the position that the connector writes."""

    row: int
    op: str
    value: int | None
    scn: int
    commit_scn: int | None


@attrs.define
class Transaction:
    """Changes of an open transaction, each with its SCN; its rows are locked."""

    thread: int
    changes: list[tuple[int, int, str, int | None]] = attrs.Factory(list)


@attrs.define
class Oracle:
    """A table, its open transactions, and the topic; `rows` are those that the topic's reader must have."""

    choose: random.Random
    is_early: bool
    committed: dict[int, int] = attrs.Factory(dict)
    rows: dict[int, int] = attrs.Factory(dict)
    events: list[Event] = attrs.Factory(list)
    open: list[Transaction] = attrs.Factory(list)
    recorded: dict[int, int] = attrs.Factory(dict)
    """The last commit SCN of each redo thread, as the connector knows it."""
    scn: int = 90
    resumes_at: int = 0
    """The first message that a restart may send again."""
    values: int = 0

    def live(self) -> None:
        """Begin, perhaps with transactions that are open at the snapshot, and continue."""
        for _ in range(self.choose.randint(0, 8)):
            self.choose.choice([self.work, self.work, self.commit_silently])()
        self.snapshot()
        happenings = [self.work] * 8 + [self.commit] * 6
        happenings += [self.restart, self.incremental_snapshot, self.outage]
        for _ in range(self.choose.randint(0, 30)):
            self.choose.choice(happenings)()

    def work(self) -> None:
        """Change a row that no other transaction holds, in an open transaction or in a new one."""
        if not self.open or (len(self.open) < len(KEYS) - 1 and self.choose.random() < 0.4):
            self.open.append(Transaction(self.choose.choice(THREADS)))
        transaction = self.choose.choice(self.open)
        rest = {change[1] for item in self.open if item is not transaction for change in item.changes}
        free = [row for row in KEYS if row not in rest]
        if not free:
            return
        row = self.choose.choice(free)
        mine = [change for change in transaction.changes if change[1] == row]
        exists = mine[-1][2] != "d" if mine else row in self.committed
        op = self.choose.choice("uud") if exists else "c"
        self.values += 1
        self.scn += self.choose.choice((0, 1, 1, 5))  # changes of one transaction may share an SCN
        transaction.changes.append((self.scn, row, op, None if op == "d" else self.values))

    def commit(self) -> None:
        """Commit a transaction, and stream it whole, in the order of commits."""
        if self.open:
            transaction = self.open.pop(self.choose.randrange(len(self.open)))
            self.scn += 1
            self._apply(transaction)
            self._stream(transaction, self.scn)

    def commit_silently(self) -> None:
        """Commit a transaction that a later snapshot covers: the connector is not there."""
        if self.open:
            self._apply(self.open.pop(self.choose.randrange(len(self.open))))
            self.scn += 1

    def snapshot(self) -> None:
        """Read all committed rows at one SCN; the connector has recorded no commit since."""
        self.scn += 1
        self.recorded = {}
        self._read(self.committed, self.scn, None)
        self.resumes_at = len(self.events)

    def incremental_snapshot(self) -> None:
        """Read committed rows again, at the position of the watermark that closes the window."""
        thread = self.choose.choice(THREADS)
        self.scn += 2
        self.recorded[thread] = self.scn
        chunk = {row: value for row, value in self.committed.items() if self.choose.random() < 0.7}
        self._read(chunk, self.scn - 1, self.scn)

    def outage(self) -> None:
        """Lose the connector's offsets: what commits meanwhile is in the next snapshot alone."""
        for transaction in [item for item in self.open if all(op != "d" for _, _, op, _ in item.changes)]:
            if self.choose.random() < 0.5:
                self.open.remove(transaction)
                self._apply(transaction)
        self.scn += 1
        self.snapshot()

    def restart(self) -> None:
        """Crash, and send again all that came after the last offset that was flushed."""
        start = self.choose.randint(self.resumes_at, len(self.events))
        self.events += self.events[start:]

    def _apply(self, transaction: Transaction) -> None:
        for _, row, _, value in transaction.changes:
            if value is None:
                self.committed.pop(row, None)
            else:
                self.committed[row] = value

    def _read(self, rows: dict[int, int], scn: int, commit_scn: int | None) -> None:
        self.events += [Event(row, "r", value, scn, commit_scn) for row, value in rows.items()]
        self.rows |= rows

    def _stream(self, transaction: Transaction, commit_scn: int) -> None:
        last = len(transaction.changes) - 1
        for index, (scn, row, op, value) in enumerate(transaction.changes):
            if index == last or not self.is_early:
                self.recorded[transaction.thread] = commit_scn
            self.events.append(Event(row, op, value, scn, self.recorded.get(transaction.thread)))
            if value is None:
                self.rows.pop(row, None)
            else:
                self.rows[row] = value


def lived(seed: int, *, is_early: bool) -> Oracle:
    """Return a source after its life."""
    source = Oracle(random.Random(seed), is_early)  # noqa: S311  no secret
    source.live()
    return source


def block(event: Event, version: str) -> dict[str, Any]:
    """Return the `source` block of an event, as far as its position goes."""
    commit = None if event.commit_scn is None else str(event.commit_scn)
    return {"version": version, "scn": str(event.scn), "commit_scn": commit}
