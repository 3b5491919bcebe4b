"""Somebody who writes all the time: small random transactions, some of them rolled back, in a thread."""

import random
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol, Self

PAUSE_S = 0.05
NAMES = ("Ann", "Ölle", "🙂", "")
# No null: in a column with a default it arrives as the default (KIP-581; AvroConverter 7.0 has no option).
NICKS = ("default", "'né'", "''")
Statement = Callable[[random.Random], str]


class Database(Protocol):
    """A database that runs statements."""

    def run(self, sql: str) -> str:
        """Run statements."""
        ...


def put_customer(chance: random.Random) -> str:
    """Insert a row, or change all of it."""
    return (
        "insert into inv.customers (id, first_name, nick, age, balance, touched) values "
        f"({chance.randint(1, 90)}, '{chance.choice(NAMES)}', {chance.choice(NICKS)}, "
        f"{chance.randint(-9, 99)}, "
        f"{chance.randint(-(10**11), 10**11) / 100:.2f}, clock_timestamp()) on conflict (id) do update "
        "set first_name = excluded.first_name, nick = excluded.nick, balance = excluded.balance, "
        "version = customers.version + 1"
    )


def pay(chance: random.Random) -> str:
    """Change a few rows in one statement."""
    low = chance.randint(1, 80)
    change = "balance = balance + 0.01, version = version + 1"
    return f"update inv.customers set {change} where id in ({low}, {low + 7})"


def drop_customer(chance: random.Random) -> str:
    """Delete a row."""
    return f"delete from inv.customers where id = {chance.randint(1, 90)}"


def rename_customer(chance: random.Random) -> str:
    """Give a row another key."""
    old, new = chance.sample(range(1, 91), 2)
    free = f"not exists (select 1 from inv.customers where id = {new})"
    return f"update inv.customers set id = {new} where id = {old} and {free}"


def replace_customer(chance: random.Random) -> str:
    """Delete a row and insert its key again, in one transaction."""
    key = chance.randint(1, 90)
    values = f"{key}, 'again', {chance.randint(1, 99)}"
    return (
        f"delete from inv.customers where id = {key}; "
        f"insert into inv.customers (id, first_name, balance) values ({values})"
    )


def swap_lines(chance: random.Random) -> str:
    """Let two keys change places by a third."""
    order = chance.randint(0, 15)
    at = f"update inv.order_lines set line_no = %s where order_id = {order} and line_no = %s"
    return "; ".join(at % pair for pair in ((-1, 1), (1, 2), (2, -1)))


def put_line(chance: random.Random) -> str:
    """Insert a row, or change some of it."""
    return (
        "insert into inv.order_lines (order_id, line_no, sku, qty, price) values "
        f"({chance.randint(0, 20)}, {chance.randint(0, 3)}, 'sku', {chance.randint(-5, 5)}, "
        f"{chance.randint(-(10**17), 10**17)} / 1e6) on conflict (order_id, line_no) do update set qty = "
        "excluded.qty, note = 'again'"
    )


def drop_lines(chance: random.Random) -> str:
    """Delete several rows in one statement."""
    return f"delete from inv.order_lines where order_id = {chance.randint(0, 20)}"


def touch_doc(chance: random.Random) -> str:
    """Change a row and leave its large columns alone."""
    return (
        f"update inv.docs set n = n + 1, title = 'title {chance.random()}' where id = {chance.randint(1, 14)}"
    )


def put_doc(chance: random.Random) -> str:
    """Insert a row with large columns, or change one of them."""
    key, column = chance.randint(1, 14), chance.choice(("body", "attach", "meta", "tags"))
    text = f"repeat(md5('{chance.random()}'), {chance.choice((1, 150, 200))})"
    return (
        f"insert into inv.docs values ({key}, 'new', {text}, decode({text}, 'hex'), to_jsonb({text}), "
        f"array[{text}, null, '']) on conflict (id) do update set {column} = excluded.{column}"
    )


def drop_doc(chance: random.Random) -> str:
    """Delete a row with large columns."""
    return f"delete from inv.docs where id = {chance.randint(1, 14)}"


def put_nopk(chance: random.Random) -> str:
    """Change a table that has no primary key."""
    key = chance.randint(1, 12)
    same = f"k1 = {key} and k2 = 'k{key % 3}'"
    return (
        f"delete from inv.nopk where {same}; insert into inv.nopk values ({key}, 'k{key % 3}', null, 0.125); "
        f"update inv.nopk set v = 'v {chance.random()}' where {same}"
    )


def put_wide(chance: random.Random) -> str:
    """Change a table whose key's type changes."""
    return (
        f"insert into inv.widepk values ({chance.randint(1, 25)}, 'new') on conflict (id) do update "
        "set n = widepk.n + 1"
    )


def drop_wide(chance: random.Random) -> str:
    """Delete a row of it."""
    return f"delete from inv.widepk where id = {chance.randint(1, 25)}"


def put_scratch(chance: random.Random) -> str:
    """Change a table that is truncated now and then."""
    return (
        f"insert into inv.scratch values ({chance.randint(1, 40)}, 'new') on conflict (id) do update "
        "set v = scratch.v || '.'"
    )


def put_weird(chance: random.Random) -> str:
    """Change columns whose names events cannot have."""
    return (
        f"""update inv."Weird Table" set "weird-name 1" = '{chance.random()}', "1st" = null, "select" = 7"""
    )


STATEMENTS: tuple[Statement, ...] = (
    put_customer, pay, drop_customer, rename_customer, replace_customer, swap_lines, put_line, drop_lines,
    touch_doc, touch_doc, put_doc, drop_doc, put_nopk, put_wide, drop_wide, put_scratch, put_weird,
)  # fmt: skip


class WriterThread(threading.Thread):
    """Writes from entering to leaving."""

    def __init__(self) -> None:
        super().__init__()
        self._leaving = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.set()
        self.join()


class CompiledWriter(WriterThread):
    """Writes random statements; what went wrong is raised on leaving."""

    def __init__(self, database: Database, seed: int, statements: Sequence[Statement] = STATEMENTS) -> None:
        super().__init__()
        self.transactions = 0
        self._statements = statements
        self._database = database
        self._chance = random.Random(seed)  # noqa: S311  no secret
        self._error: Exception | None = None

    def run(self) -> None:
        """Write until stopped."""
        try:
            while not self._leaving.wait(PAUSE_S):
                self._database.run(self._transaction())
                self.transactions += 1
        except Exception as error:  # noqa: BLE001  raised again by the thread that waits
            self._error = error

    def leave(self) -> None:
        """Stop writing, and raise what went wrong."""
        self._leaving.set()
        self.join()
        if self._error is not None:
            raise self._error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if error is None:
            self.leave()

    def _transaction(self) -> str:
        some = self._chance.choices(self._statements, k=self._chance.randint(1, 5))
        end = self._chance.choice(("commit", "commit", "commit", "rollback"))
        return "; ".join(("begin", *(statement(self._chance) for statement in some), end))
