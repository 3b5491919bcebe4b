"""Tables of any columns and keys, and somebody who changes them by chance."""

import random
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Protocol

import attrs

from tests.e2e.referee.postgres import field_name
from tests.live.random_kinds import MARIADB, POSTGRES, Kinds
from tests.live.writer import Database, WriterThread

NAMES: Final = (
    "a", "B", "select", "c c", "1st", "ü", "value", "op", "before", "source", "ts_ms", "d-d", "key", "e$",
    "_x", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "x", "id", "after", "timestamp", "position",
    "deleted", "__op", "hash", "year",
)  # fmt: skip
"""Names that mean something to events, to SQL, or to the SQL that `ingest` writes."""
PAUSE_S: Final = 0.02
_WEIGHTS: Final = {
    "insert": 4, "upsert": 4, "update": 6, "rename": 2, "delete": 2, "replace": 2, "truncate": 0.04,
}  # fmt: skip


class Dialect(Protocol):
    """How a database writes what the others write otherwise."""

    kinds: Kinds
    setup: str
    """The statements before any others of a connection."""

    def name(self, column: str) -> str:
        """Quote a name."""

    def insert(self, table: "RandomTable", names: str, values: str, sets: Sequence[str]) -> str:
        """Return an insert that changes columns of a row that is there, or nothing of it."""

    def change_one(self, table: "RandomTable", change: str, unless: str = "", /) -> str:
        """Return a change of one row, whichever, that does nothing if another row has a key."""

    def widen(self, table: "RandomTable", name: str, kind: str, null: str, /) -> str:
        """Return the statement that gives a column a wider type."""

    def complete(self, table: "RandomTable", /) -> str:
        """Return the statements that complete a new table."""


@attrs.define(eq=False)
class RandomTable:
    """A table of the schema `inv`.  Its columns change under its lock."""

    dialect: Dialect
    chance: random.Random
    name: str
    columns: dict[str, str] = attrs.Factory(dict)
    """The type of each column, by its name."""
    keys: list[str] = attrs.Factory(list)
    required: set[str] = attrs.Factory(set)
    sends_all: bool = True
    """Whether events have the values that a change of the key leaves alone."""
    kept: set[str] = attrs.Factory(set)
    """Columns that stay as they are, and hold no empty text."""
    used: set[str] = attrs.Factory(set)
    """The names of all columns that it has had, as events have them."""
    lock: threading.Lock = attrs.Factory(threading.Lock)

    def __attrs_post_init__(self) -> None:
        kinds, chance = self.dialect.kinds, self.chance
        for name in chance.sample(NAMES, chance.randint(4, 12)):
            if self._take(name):
                self.columns[name] = chance.choice([*kinds.columns])
        names = [*self.columns]
        self.keys = sorted(
            chance.sample(names, min(chance.choice((1, 1, 2, 3)), len(names))), key=names.index
        )
        for name in self.keys:
            self.columns[name] = chance.choice([*kinds.keys])
        if len(self.columns) == len(self.keys):
            self.columns["extra"] = next(iter(kinds.columns))
        self.required = {name for name in self.others() if self._may_be_required(name)}
        self.sends_all = chance.random() < 0.4

    @property
    def ref(self) -> str:
        """The table's name in SQL."""
        return f"inv.{self.name}"

    @property
    def key(self) -> str:
        """The key's columns in SQL."""
        return ", ".join(map(self.dialect.name, self.keys))

    def others(self) -> list[str]:
        """Return the columns outside the key."""
        return [name for name in self.columns if name not in self.keys]

    def create(self) -> str:
        """Return the statement that creates it."""
        columns = (
            f"{self.dialect.name(name)} {kind} "
            + ("not null" if name in self.required or name in self.keys else "null")
            for name, kind in self.columns.items()
        )
        return (
            f"create table {self.ref} ({', '.join(columns)}, primary key ({self.key}))"
            + self.dialect.complete(self)
        )

    def value(self, name: str, chance: random.Random) -> str:
        """Return a value of a column.  The whole key is no empty text: Hudi cannot store it."""
        kind = self.columns[name]
        if name in self.keys:
            choose = self.dialect.kinds.keys.get(kind) or self.dialect.kinds.columns[kind]
            value = choose(chance)
            return "'only'" if value == "''" and (name == self.keys[-1] or name in self.kept) else value
        if name not in self.required and chance.random() < 0.2:
            return "null"
        value = self.dialect.kinds.columns[kind](chance)
        return "'only'" if value == "''" and name in self.kept and "bit" not in kind else value

    def statement(self, chance: random.Random, kind: str = "") -> str:
        """Return a change of a row, or of all, of any kind or a certain one."""
        with self.lock:
            values = {name: self.value(name, chance) for name in self.columns}
            picked = chance.sample(self.others(), chance.randint(1, len(self.others())))
            kind = kind or chance.choices(list(_WEIGHTS), [*_WEIGHTS.values()])[0]
            return self._statement(kind, values, picked)

    def _statement(self, kind: str, values: dict[str, str], picked: Sequence[str]) -> str:
        names, listed = ", ".join(map(self.dialect.name, values)), ", ".join(values.values())
        update, same = f"update {self.ref} set ", " and ".join(self._sets(self.keys, values))
        match kind:
            case "insert" | "upsert":
                return self.dialect.insert(self, names, listed, picked if kind == "upsert" else ())
            case "update":
                return self.dialect.change_one(self, update + ", ".join(self._sets(picked, values)))
            case "rename":  # PostgreSQL sends a large value for the old key only
                large = [] if self.sends_all else [n for n in self.others() if self._is_large(n)]
                sets = ", ".join(self._sets([*self.keys, *large], values))
                return self.dialect.change_one(self, update + sets, same)
            case "delete":
                return self.dialect.change_one(self, f"delete from {self.ref}")
            case "replace":
                return (
                    f"delete from {self.ref} where {same}; insert into {self.ref} ({names}) values ({listed})"
                )
            case _:
                return f"truncate {self.ref}"

    def alter(self) -> str:
        """Change the columns; return the statement, or nothing.  Call with the lock."""
        free = [name for name in NAMES if field_name(name).lower() not in self.used]
        kind, table = self.chance.choice(("add", "drop", "widen", "widen key")), f"alter table {self.ref}"
        if kind == "add" and free:
            name = self.chance.choice(free)
            self._take(name)
            self.columns[name] = self.chance.choice([*self.dialect.kinds.columns])
            return f"{table} add column {self.dialect.name(name)} {self.columns[name]}"
        droppable = [name for name in self.others() if name not in self.kept]
        if kind == "drop" and len(self.others()) > 1 and droppable:
            name = self.chance.choice(droppable)
            del self.columns[name]
            self.required.discard(name)
            return f"{table} drop column {self.dialect.name(name)}"
        return self._widen(self.keys if kind == "widen key" else self.others())

    def _widen(self, names: Sequence[str]) -> str:
        wider = self.dialect.kinds.wider
        able = [name for name in names if self.columns[name] in wider and self._may_widen(name)]
        if not able:
            return ""
        name = self.chance.choice(able)
        self.columns[name] = self.chance.choice(wider[self.columns[name]])
        null = "not null" if name in self.required or name in self.keys else "null"
        return self.dialect.widen(self, self.dialect.name(name), self.columns[name], null)

    def _may_widen(self, name: str) -> bool:
        """Whether a column's record keys stay the same."""
        if name in self.kept:
            return False
        return name not in self.keys or self.columns[name] in {"int", "integer"}

    def _sets(self, names: Sequence[str], values: dict[str, str]) -> list[str]:
        return [f"{self.dialect.name(name)} = {values[name]}" for name in names]

    def _is_large(self, name: str) -> bool:
        return self.columns[name] in self.dialect.kinds.large

    def _may_be_required(self, name: str) -> bool:
        kind = self.columns[name]
        has_null = kind in self.dialect.kinds.null_values or kind.startswith(("date", "time"))
        return not has_null and self.chance.random() < 0.2

    def _take(self, name: str) -> bool:
        """Take a name for a column, unless one is like it."""
        is_free = field_name(name).lower() not in self.used
        self.used.add(field_name(name).lower())
        return is_free


@attrs.frozen
class Postgres:
    """PostgreSQL's SQL."""

    kinds: Kinds = POSTGRES
    setup: str = ""

    def name(self, column: str) -> str:
        """Quote a name."""
        return f'"{column}"'

    def insert(self, table: RandomTable, names: str, values: str, sets: Sequence[str]) -> str:
        """Return an insert with `on conflict`."""
        changes = ", ".join(f"{self.name(name)} = excluded.{self.name(name)}" for name in sets)
        conflict = f"({table.key}) do update set {changes}" if sets else "do nothing"
        return f"insert into {table.ref} ({names}) values ({values}) on conflict {conflict}"

    def change_one(self, table: RandomTable, change: str, unless: str = "") -> str:
        """Return a change of the row at a random place."""
        one = f"ctid = any(array(select ctid from {table.ref} order by random() limit 1))"
        free = f" and not exists (select 1 from {table.ref} where {unless})" if unless else ""
        return f"{change} where {one}{free}"

    def widen(self, table: RandomTable, name: str, kind: str, _null: str) -> str:
        """Return the statement, which leaves the rest of the column alone."""
        return f"alter table {table.ref} alter {name} type {kind}"

    def complete(self, table: RandomTable) -> str:
        """Keep large values apart, and let events have them, or have only the key of the old row."""
        large = [name for name, kind in table.columns.items() if kind in self.kinds.large]
        apart = "".join(f"; alter table {table.ref} alter {self.name(n)} set storage external" for n in large)
        return (
            apart + f"; alter table {table.ref} replica identity {'full' if table.sends_all else 'default'}"
        )


@attrs.frozen
class MariaDbSql:
    """MariaDB's SQL, in a lax mode."""

    kinds: Kinds = MARIADB
    setup: str = "set time_zone = '+00:00'; set sql_mode = ''; "

    def name(self, column: str) -> str:
        """Quote a name."""
        return f"`{column}`"

    def insert(self, table: RandomTable, names: str, values: str, sets: Sequence[str]) -> str:
        """Return an insert that ignores its key, or changes its row."""
        changes = ", ".join(f"{self.name(name)} = values({self.name(name)})" for name in sets)
        insert, end = ("insert", f" on duplicate key update {changes}") if sets else ("insert ignore", "")
        return f"{insert} into {table.ref} ({names}) values ({values}){end}"

    def change_one(self, _table: RandomTable, change: str, unless: str = "") -> str:
        """Return a change of one row."""
        one = change.replace("update ", "update ignore ", 1) if unless else change
        return f"{one} order by rand() limit 1"

    def widen(self, table: RandomTable, name: str, kind: str, null: str) -> str:
        """Return the statement with the column's whole definition."""
        return f"alter table {table.ref} modify {name} {kind} {null}"

    def complete(self, _table: RandomTable) -> str:
        """Return nothing: events have whole rows."""
        return ""


class RandomWriter(WriterThread):
    """Changes tables.  A transaction may fail, by another one's lock or key: then it changed nothing."""

    def __init__(self, database: Database, tables: Sequence[RandomTable], seed: int) -> None:
        super().__init__()
        self._database, self._tables = database, tables
        self._chance = random.Random(seed)  # noqa: S311  no secret
        self._done = self._failed = 0

    def run(self) -> None:
        """Write until stopped."""
        setup = self._tables[0].dialect.setup
        while not self._leaving.wait(PAUSE_S):
            some = self._chance.choices(self._tables, k=self._chance.randint(1, 6))
            end = self._chance.choice(("commit", "commit", "commit", "rollback"))
            statements = (table.statement(self._chance) for table in some)
            try:
                self._database.run(setup + "; ".join(("begin", *statements, end)))
                self._done += 1
            except (RuntimeError, AssertionError):  # of PostgreSQL's client, and of MariaDB's
                self._failed += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        assert error is not None or self._done > self._failed, f"{self._done} done, {self._failed} failed"
