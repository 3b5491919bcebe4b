"""The connectors that `ingest` knows, by name and by the record that their events' `source` is."""

from types import MappingProxyType

from ingest.dialects.dialect import Dialect, Term
from ingest.dialects.sqlserver import SQLSERVER

__all__ = ["DIALECTS", "Dialect", "Term", "dialect_of"]

DIALECTS = MappingProxyType({dialect.name: dialect for dialect in (SQLSERVER,)})
"""Every connector by its name in table files."""


def dialect_of(source_record: str) -> Dialect | None:
    """Return the connector whose events have a `source` of that record name."""
    return next((d for d in DIALECTS.values() if d.source_record == source_record), None)
