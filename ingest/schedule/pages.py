"""Links from a task to the pages of its tables, as `ingest pages --to FOLDER` writes them."""

from collections.abc import Sequence
from typing import Final

try:
    from airflow.sdk.configuration import conf
except ImportError:  # before Airflow 3.2
    from airflow.configuration import conf

from ingest.names import TABLE_PAGES, page_name
from ingest.schedule.report import Report

SECTION: Final = "ingest"
OPTION: Final = "pages_url"
INDEX: Final = "index.html"
"""The page of all tables."""


class TableTask:
    """An operator that runs tables.  `ended` is the report of its latest job, once there is one."""

    tables: str | Sequence[str] = ()
    ended: Report | None = None

    def troubled_tables(self) -> tuple[str, ...]:
        """Return the tables that failed, or without a report the task's tables if they are names already."""
        if self.ended is not None:
            return tuple(table.table for table in self.ended.tables if table.error)
        return () if isinstance(self.tables, str) else tuple(map(str, self.tables))


def pages_url() -> str:
    """Return the address of the folder of pages, from `[ingest] pages_url` of Airflow.  Empty if not set."""
    return str(conf.get(SECTION, OPTION, fallback="")).strip().rstrip("/")


def page_links(tables: Sequence[str], base_url: str) -> tuple[str, ...]:
    """Return the link of each table's page, or without tables the link of the page of all tables."""
    return tuple(f"{base_url}/{TABLE_PAGES}/{page_name(name)}" for name in tables) or (f"{base_url}/{INDEX}",)
