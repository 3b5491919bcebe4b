"""What the database holds, in the referee's form."""

from pathlib import Path

from tests.e2e.referee import Expected, Rows
from tests.e2e.referee.postgres import field_name, key_kind_of, kind_of
from tests.live.database import Database

START = Path(__file__).with_name("source.sql")
KEYS = {"order_lines": ("order_id", "line_no"), "nopk": ("k1", "k2"), "Weird_Table": ("the_key",)}
TABLES = (
    "Weird_Table", "all_types", "customers", "docs", "late", "nopk", "order_lines", "scratch", "widepk",
)  # fmt: skip


def read_source(database: Database, table: str, keys: tuple[str, ...] = ()) -> Expected:
    """Read a table of the database: rows by key, columns under the names that the events have."""
    keys = keys or KEYS.get(table, ("id",))
    name = f'inv."{table.replace("_T", " T")}"'
    columns = database.rows(
        "select attname::text, format_type(atttypid, atttypmod) from pg_attribute "
        f"where attrelid = '{name}'::regclass and attnum > 0 and not attisdropped order by attnum"
    )
    selected = ", ".join(f'"{column}"::text as c{at}' for at, (column, _) in enumerate(columns))
    kinds = {
        name: (key_kind_of if name in keys else kind_of)(str(kind))
        for name, kind in ((field_name(str(column)), kind) for column, kind in columns)
    }
    rows: Rows = {}
    for texts in database.rows(f"select {selected} from {name}"):
        row = {
            field: None if text is None else kind.expected(text)
            for (field, kind), text in zip(kinds.items(), texts, strict=True)
        }
        rows[tuple(row[key] for key in keys)] = row
    return Expected(rows, keys, kinds)
