"""The databases that `ingest verify` reads, by the dialect of their connector."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ingest.sources.database import Database
from ingest.sources.mysql import MYSQL
from ingest.sources.oracle import ORACLE
from ingest.sources.postgres import POSTGRES
from ingest.sources.sqlserver import SQLSERVER

DATABASES: Final[Mapping[str, Database]] = MappingProxyType(
    {database.name: database for database in (POSTGRES, MYSQL, SQLSERVER, ORACLE)}
)
