"""The databases that `ingest verify` reads, by the dialect of their connector."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ingest.verify.database import Database
from ingest.verify.postgres import POSTGRES

DATABASES: Final[Mapping[str, Database]] = MappingProxyType({POSTGRES.name: POSTGRES})
