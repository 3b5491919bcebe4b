"""The databases that `ingest verify` reads, by the dialect of their connector."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ingest.verify.database import Database
from ingest.verify.mysql import MYSQL
from ingest.verify.oracle import ORACLE
from ingest.verify.postgres import POSTGRES
from ingest.verify.sqlserver import SQLSERVER

DATABASES: Final[Mapping[str, Database]] = MappingProxyType(
    {database.name: database for database in (POSTGRES, MYSQL, SQLSERVER, ORACLE)}
)
