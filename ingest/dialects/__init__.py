"""The connectors that `ingest` knows, by name and by the record that their events' `source` is."""

from collections.abc import Iterable
from types import MappingProxyType

from ingest.dialects.cdl import CDL
from ingest.dialects.dialect import Dialect, Guard, Term
from ingest.dialects.mongodb import MONGODB
from ingest.dialects.mysql import MYSQL
from ingest.dialects.oracle import ORACLE
from ingest.dialects.postgres import POSTGRES
from ingest.dialects.record import RECORD
from ingest.dialects.sqlserver import SQLSERVER

__all__ = ["CDL", "DIALECTS", "RECORD", "Dialect", "Guard", "Term", "dialect_of", "dialect_of_flat"]

DIALECTS = MappingProxyType(
    {dialect.name: dialect for dialect in (SQLSERVER, ORACLE, MONGODB, POSTGRES, MYSQL, CDL, RECORD)}
)
"""Every connector by its name in table files."""


def dialect_of(source_record: str) -> Dialect | None:
    """Return the connector that writes a `source` of that record name."""
    return next((d for d in DIALECTS.values() if source_record in d.source_records), None)


def dialect_of_flat(source_fields: Iterable[str]) -> Dialect | None:
    """Return the connector that writes these source fields into flattened rows."""
    present = set(source_fields)
    return next((d for d in DIALECTS.values() if present.intersection(d.flattened_fields)), None)
