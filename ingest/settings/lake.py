"""`[lake]`: the place of the tables."""

import re
from typing import Any, Literal

import attrs

from ingest.config.rules import WrongValueError, not_empty


def _database(_: Any, attribute: "attrs.Attribute[str]", value: str) -> None:
    if not re.fullmatch(r"\w*", value, re.ASCII):
        raise WrongValueError(attribute.name, f"found '{value}'; allowed: letters, digits and _")


@attrs.frozen
class LakeSettings:
    """The root of all tables: a local folder (absolute once loaded) or any Hadoop URI."""

    path: str = attrs.field(
        default="lake",
        validator=not_empty,
        metadata={
            "help": "Root of all tables: a local folder or any Hadoop URI. A table lies at `<path>/<table>`, "
            "its rejects at `<path>/_rejects/<table>`. A relative path starts at the settings file."
        },
    )
    lock: Literal["auto", "none"] = attrs.field(
        default="auto",
        metadata={
            "expert": True,
            "help": "`auto`: one writer per table, by the lock that fits the storage. `none`: only if "
            "something else prevents two runs of one table at a time.",
        },
    )
    database: str = attrs.field(
        default="",
        validator=_database,
        metadata={
            "help": "Database of Spark's metastore (Hive, Glue) that lists the tables by name after each "
            "commit. Empty: no database. [Cluster](../cluster.md) has details."
        },
    )

    def table_path(self, table: str) -> str:
        """Return the path of a table."""
        return f"{self.path.rstrip('/')}/{table}"

    def rejects_path(self, table: str) -> str:
        """Return the path of a table's rejects."""
        return f"{self.path.rstrip('/')}/_rejects/{table}"

    def rebuild_path(self, table: str) -> str:
        """Return the path of the copy in which a table gets other partitions."""
        return f"{self.path.rstrip('/')}/_rebuild/{table}"

    def adopted_path(self, table: str) -> str:
        """Return the path of the table of another writer, once its rows have been taken over."""
        return f"{self.path.rstrip('/')}/_adopted/{table}"

    def lock_path(self, table: str) -> str:
        """Return the folder of a table's lock."""
        return f"{self.path.rstrip('/')}/_locks/{table}"
