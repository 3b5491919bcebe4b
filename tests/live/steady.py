"""Small changes at a steady rate, over as many rows as a table has."""

import random
import subprocess
import time
from types import TracebackType

import attrs

from tests.live.database import Database
from tests.live.writer import WriterThread

COLUMNS = """
id bigint primary key, a int not null, b bigint, c numeric(12,2), d text, e varchar(40), f timestamp,
g timestamptz, h date, i boolean, j double precision, k uuid
"""
VALUES = """
n, n % 1000, n * 7, n / 100.0, 'text ' || md5(n::text), 'v' || n, timestamp '2024-01-01' + n * interval '1 s',
timestamptz '2024-01-01 00:00:00+00' + n * interval '1 s', date '2024-01-01' + (n % 3000)::int, n % 2 = 0,
n::float8 / 7, md5(n::text)::uuid
"""
TICK_S = 0.1
UPDATES, DELETES = 0.8, 0.9
"""The shares of changes that are updates, or updates and deletes; the others are inserts."""


@attrs.frozen
class Table:
    """A table of 12 columns, and the rows with keys from 1 that it starts with."""

    name: str
    rows: int

    def create(self) -> str:
        """Return the statement that creates it, empty."""
        return f"create table {self.name} ({COLUMNS});"

    def fill(self, start: int = 1, end: int | None = None) -> str:
        """Return the statement that inserts rows, all by default."""
        return f"insert into {self.name} select {VALUES} from generate_series({start}, {end or self.rows}) n;"


class SteadyWriter(WriterThread):
    """Changes random rows from entering to leaving, each change a transaction."""

    def __init__(self, database: Database, table: Table, per_second: int = 200, seed: int = 1) -> None:
        super().__init__()
        self.changes = 0
        self.seconds = 0.0
        self._table = table
        self._tick = round(per_second * TICK_S)
        self._chance = random.Random(seed)  # noqa: S311  no secret
        self._psql = subprocess.Popen(
            database.psql(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )

    @property
    def per_second(self) -> float:
        """The rate that was kept."""
        return self.changes / self.seconds

    def run(self) -> None:
        """Write until stopped; after a delay catch up."""
        started = time.monotonic()
        assert self._psql.stdin is not None
        while not self._leaving.wait(max(0.0, started + self.seconds - time.monotonic())):
            statements = [self._change(self.changes + i) for i in range(self._tick)]
            self._psql.stdin.write("\n".join(statements) + "\n")
            self._psql.stdin.flush()
            self.changes += self._tick
            self.seconds += TICK_S
        self.seconds = time.monotonic() - started

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._psql.communicate()
        assert error is not None or self._psql.returncode == 0

    def _change(self, number: int) -> str:
        name, chance = self._table.name, self._chance.random()
        key = self._chance.randint(1, self._table.rows)
        if chance < UPDATES:
            return f"update {name} set a = a + 1, d = d || '.' where id = {key};"
        if chance < DELETES:
            return f"delete from {name} where id = {key};"
        inserted = self._table.rows + 1 + number
        values = f"select {VALUES} from generate_series({inserted}, {inserted}) n"
        return f"insert into {name} {values} on conflict do nothing;"
