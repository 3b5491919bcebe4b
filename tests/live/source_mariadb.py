"""What MariaDB holds, in the referee's form."""

from pathlib import Path

from tests.e2e.referee import Expected, Rows
from tests.e2e.referee.mysql import kind_of, selected
from tests.e2e.referee.postgres import field_name
from tests.live.mariadb import MariaDb

START = Path(__file__).with_name("source_mariadb.sql")
KEYS = {
    "order_lines": ("order_id", "line_no"), "nopk": ("k1", "k2"), "Weird_Table": ("the_key",),
    "texts": ("k",),
}  # fmt: skip
TABLES = (
    "Weird_Table", "all_types", "customers", "late", "marks", "nopk", "order_lines", "scratch", "texts",
    "widepk",
)  # fmt: skip


def source_name(table: str) -> str:
    """Return the table's name in the source."""
    return table.replace("_T", " T")


def read_columns(database: MariaDb, table: str) -> list[list[str]]:
    """Return the names and types of a table's columns."""
    return database.rows(
        "select column_name, column_type from information_schema.columns where table_schema = 'inv' "
        f"and table_name = '{source_name(table)}' order by ordinal_position"
    )


def read_texts(database: MariaDb, table: str) -> list[list[str | None]]:
    """Return the rows of a table, each value as the referee reads it."""
    columns = [selected(f"`{name}`", declared) for name, declared in read_columns(database, table)]
    return database.texts(f"inv.`{source_name(table)}`", columns)


def read_source(database: MariaDb, table: str, keys: tuple[str, ...] = ()) -> Expected:
    """Read a table of the database: rows by key, columns under the names that the events have."""
    kinds = {field_name(name): kind_of(declared) for name, declared in read_columns(database, table)}
    keys = keys or KEYS.get(table, ("id",))
    rows: Rows = {}
    for texts in read_texts(database, table):
        row = {
            field: None if text is None else kind.expected(text)
            for (field, kind), text in zip(kinds.items(), texts, strict=True)
        }
        rows[tuple(row[key] for key in keys)] = row
    return Expected(rows, keys, kinds)
