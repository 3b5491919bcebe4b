"""A SQL Server and its connector, simulated: changes of rows, and their events."""

import random
from typing import Any

import attrs

LSN = int | None


@attrs.frozen
class Event:
    """One message: a change of a row, a tombstone (op `t`), or junk (op `!`)."""

    row: int
    op: str
    value: int | None = None
    commit: LSN = None
    change: LSN = None
    serial: int | None = None

    @property
    def is_change(self) -> bool:
        """Tell whether it is the change of a row."""
        return self.op in "cudr"

    def source(self) -> dict[str, Any]:
        """Return the position's fields, as the connector writes them."""
        return {
            "commit_lsn": lsn_text(self.commit),
            "change_lsn": lsn_text(self.change),
            "event_serial_no": self.serial,
        }


def lsn_text(lsn: LSN) -> str | None:
    """Write a log sequence number as the connector does."""
    return None if lsn is None else f"{lsn >> 48:08x}:{lsn >> 16 & 0xFFFFFFFF:08x}:{lsn & 0xFFFF:04x}"


@attrs.define
class Source:
    """A table of few rows, its log, and the events sent by the connector."""

    choose: random.Random
    rows: dict[int, int] = attrs.Factory(dict)
    events: list[Event] = attrs.Factory(list)
    lsn: int = 0
    streaming: int = 0
    values: int = 0

    IDS = range(4)

    def live(self) -> None:
        """Go through a snapshot, perhaps, and then some transactions and accidents."""
        if self.choose.random() < 0.6:
            self.snapshot()
        happenings = [self.transaction] * 6 + [self.incremental_snapshot, self.replay, self.junk]
        for _ in range(self.choose.randint(1, 12)):
            self.choose.choice(happenings)()

    def snapshot(self) -> None:
        """Read all rows at the log's end, which a young database does not have yet."""
        commit = self.advance() if self.choose.random() < 0.7 else None
        chosen = [row for row in self.IDS if self.choose.random() < 0.5]
        # before the log begins, a second snapshot of changed rows has no other position than the first
        for _ in range(self.choose.randint(1, 2) if commit is None else 1):
            self.rows = {row: self.fresh() for row in chosen}
            self.events += [Event(row, "r", value, commit) for row, value in self.rows.items()]
        self.streaming = len(self.events)

    def incremental_snapshot(self) -> None:
        """Read rows again, at the position of the watermark that closes the window."""
        commit, serial = self.advance(), self.choose.choice((1, 2))
        chunk = [row for row in self.rows if self.choose.random() < 0.7]
        self.events += [Event(row, "r", self.rows[row], commit, commit - 1, serial) for row in chunk]

    def transaction(self) -> None:
        """Change some rows, and commit; a transaction that began early may have early change LSNs."""
        commit = self.advance()
        change = self.choose.randint(0, commit)
        for _ in range(self.choose.randint(1, 4)):
            change += self.choose.randint(1, 9)
            self.statement(commit, change)

    def statement(self, commit: int, change: int) -> None:
        """Insert, update, delete, or change a key; a same-key change may be logged as a pair as well."""
        row = self.choose.choice(self.IDS)
        if row not in self.rows:
            self.put(row, "c", commit, change, 1)
            return
        free = [item for item in self.IDS if item not in self.rows]
        match self.choose.choice(["update", "update", "delete", "pair", "move"]):
            case "move" if free:
                self.take(row, commit, change)
                self.put(self.choose.choice(free), "c", commit, change, 2)
            case "pair":
                self.take(row, commit, change)
                self.put(row, "c", commit, change, 2)
            case "delete":
                self.take(row, commit, change)
            case _:
                self.put(row, "u", commit, change, 2)

    def put(self, row: int, op: str, commit: int, change: int, serial: int) -> None:
        """Give a row a new value."""
        self.rows[row] = self.fresh()
        self.events.append(Event(row, op, self.rows[row], commit, change, serial))

    def take(self, row: int, commit: int, change: int) -> None:
        """Delete a row; its tombstone follows."""
        del self.rows[row]
        self.events += [Event(row, "d", None, commit, change, 1), Event(row, "t")]

    def replay(self) -> None:
        """Crash, and send again what came after the last offset that was flushed; perhaps crash meanwhile."""
        start = self.choose.randint(self.streaming, len(self.events))
        end = self.choose.choice((len(self.events), self.choose.randint(start, len(self.events))))
        self.events += self.events[start:end]

    def junk(self) -> None:
        """Let someone else write into the topic."""
        self.events.append(Event(self.choose.choice(self.IDS), "!"))

    def advance(self) -> int:
        """Move the log's end, by little or by far."""
        self.lsn += self.choose.choice((1, 7, 1 << 15, 1 << 16, 1 << 33, 1 << 47))
        return self.lsn

    def fresh(self) -> int:
        """Make a value that was never there."""
        self.values += 1
        return self.values


def lived(seed: int) -> Source:
    """Return a source after its life."""
    source = Source(random.Random(seed))  # noqa: S311  no secret
    source.live()
    return source
