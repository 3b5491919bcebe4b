"""Feeds of tables without a deployment."""

from typing import Final

from ingest.masking import Masking
from ingest.tables import Feed, TableConfig, feeds

_NO_MASKS: Final = Masking()


def feed(table: TableConfig, masking: Masking = _NO_MASKS) -> Feed:
    """Return the feed of a table by its first topic."""
    return feeds(table, masking)[0]
