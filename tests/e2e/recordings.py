"""The recordings of the end-to-end tests: the content of each folder, without its messages."""

from pathlib import Path
from typing import Literal

import attrs

FIXTURES = Path(__file__).parents[2] / "registry_fixtures"


@attrs.frozen
class Recording:
    """One folder of recorded topics; `pattern` is a glob over its data topics, after the prefix."""

    name: str
    source: Literal["sqlserver", "postgres", "oracle", "mongodb", "mysql"]
    prefix: str
    pattern: str
    tables: tuple[str, ...]
    format: Literal["avro", "debezium-json"] = "avro"

    @property
    def folder(self) -> Path:
        """The recording's folder."""
        return FIXTURES / self.name

    def topic(self, table: str) -> str:
        """Return the recorded topic of a table."""
        return f"{self.prefix}.{self.pattern.removesuffix('*')}{table}"


_SQLSERVER_TABLES = ("all_types", "customers", "orders", "widen")
_POSTGRES_TABLES = (
    "Weird_Table", "all_types", "customers", "docs", "late", "nopk", "order_lines", "scratch", "widepk",
)  # fmt: skip

SQLSERVER = Recording("sqlserver", "sqlserver", "sqs", "testDB.dbo.*", _SQLSERVER_TABLES)
POSTGRES = Recording("postgres", "postgres", "pgs", "inv.*", _POSTGRES_TABLES)
ORACLE = Recording(
    "oracle", "oracle", "ors", "DEBEZIUM.*", ("ALL_TYPES", "CUSTOMERS", "ORDERS", "SCRATCH", "WIDEN")
)
ORACLE_RAC = attrs.evolve(ORACLE, name="oracle-rac", prefix="or3s")
MONGODB = Recording("mongodb", "mongodb", "mgs", "inventory.*", ("customers", "mixed", "orders"))
_MYSQL_TABLES = (
    "Weird_Table", "all_types", "customers", "late", "marks", "nopk", "order_lines", "scratch", "texts",
    "widepk",
)  # fmt: skip
MYSQL = Recording("mysql", "mysql", "mys", "inv.*", _MYSQL_TABLES)
POSTGRES_JSON = attrs.evolve(POSTGRES, name="postgres-json", prefix="pgj", format="debezium-json")
SQLSERVER_JSON = attrs.evolve(SQLSERVER, name="sqlserver-json", format="debezium-json")
RECORDINGS = (SQLSERVER, POSTGRES, ORACLE, ORACLE_RAC, MONGODB, MYSQL, POSTGRES_JSON, SQLSERVER_JSON)
