"""One source database: its address, its login, and the load that `ingest verify` may put on it."""

import re
from pathlib import Path
from typing import Any, Final

import attrs

from ingest.config.convert import Seconds
from ingest.config.rules import AtLeast, WrongValueError, not_empty
from ingest.settings.secret import Secret

DATABASES: Final = {
    "jdbc:postgresql:": "postgres",
    "jdbc:mysql:": "mysql",
    "jdbc:mariadb:": "mysql",
    "jdbc:sqlserver:": "sqlserver",
    "jdbc:oracle:": "oracle",
    "mongodb:": "mongodb",
    "mongodb+srv:": "mongodb",
}
"""The dialect of a database, by the start of its URL."""
_PASSWORD: Final = re.compile(r"(?i)[?&;:](password|pwd)=|//[^/?;]*:[^/?;@]*@|oracle:thin:[^/@]+/[^@]+@")


def _check_url(_: Any, attribute: "attrs.Attribute[str]", value: str) -> None:
    """Refuse a URL of another kind, or with a password: it would show in messages."""
    if _PASSWORD.search(value):
        raise WrongValueError(attribute.name, "holds a password", "Set `password` instead: it is masked")
    if not value.startswith(tuple(DATABASES)):
        raise WrongValueError(attribute.name, f"found '{value}'; allowed: {', '.join(DATABASES)}...")


@attrs.frozen
class SourceSettings:
    """A source database, for `ingest verify`."""

    url: str = attrs.field(
        validator=(not_empty, _check_url),
        metadata={
            "help": "JDBC URL with the database, such as `jdbc:postgresql://db/shop`, or MongoDB's, such as "
            "`mongodb://db-1,db-2/?replicaSet=rs0`, without a password."
        },
    )
    user: str = attrs.field(default="", metadata={"help": "User who may read the tables."})
    password: Secret | None = attrs.field(default=None, metadata={"help": "Password of the user."})
    driver: Path | None = attrs.field(
        default=None,
        metadata={
            "help": "Jar of the JDBC driver, or a folder of jars. `ingest` does not download it: "
            "[Verify](../verify.md) names a version for each database. Empty: Spark's class path has it, or "
            "the source is MongoDB."
        },
    )
    prefix: str = attrs.field(
        default="",
        metadata={
            "help": "The connector's `topic.prefix`, where several sources have databases of one name."
        },
    )
    slot: str = attrs.field(
        default="",
        metadata={
            "expert": True,
            "help": "PostgreSQL: the connector's replication slot, if the database has several of them.",
        },
    )
    signal_table: str = attrs.field(
        default="",
        metadata={"help": "The connector's `signal.data.collection`. `ingest verify --repair` writes there."},
    )
    signal_topic: str = attrs.field(
        default="",
        metadata={
            "help": "The connector's `signal.kafka.topic`: `ingest verify --repair` sends its signals there, "
            "and writes nothing in the source."
        },
    )
    parallel: int = attrs.field(
        default=2, validator=AtLeast(1), metadata={"help": "Queries at a time, in all."}
    )
    chunk_rows: int = attrs.field(
        default=100_000,
        validator=AtLeast(100),
        metadata={
            "expert": True,
            "help": "Rows that one query reads, for tables whose first key column is a whole number.",
        },
    )
    pause_s: Seconds = attrs.field(
        default=0.0, validator=AtLeast(0), metadata={"expert": True, "help": "Seconds between two queries."}
    )
    statement_timeout_s: int = attrs.field(
        default=600,
        validator=AtLeast(1),
        metadata={"expert": True, "help": "Time limit of one query, in seconds."},
    )
    wait_s: Seconds = attrs.field(
        default=60.0,
        validator=AtLeast(0),
        metadata={
            "expert": True,
            "help": "Longest wait, in seconds, until the connector has delivered a position. If the database "
            "does not show that, every recheck waits this long.",
        },
    )

    @property
    def database(self) -> str:
        """The dialect of the database."""
        return next(name for start, name in DATABASES.items() if self.url.startswith(start))
