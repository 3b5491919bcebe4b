"""Airflow's listener: the log of a failed task ends with the links of its tables' pages."""

import logging
from typing import Any, Final

from airflow.listeners import hookimpl

from ingest.schedule.pages import TableTask, page_links, pages_url

MAX_LINKS: Final = 20
"""Links in one log.  The page of all tables has the others."""
_log = logging.getLogger("airflow.task")


@hookimpl
def on_task_instance_failed(task_instance: Any) -> None:
    """Log a link for each table that failed.  Airflow also calls this before a retry.

    A state that a user sets by hand reaches the API server's listener without the operator, so it gets no
    links.
    """
    task = getattr(task_instance, "task", None)
    if not isinstance(task, TableTask) or not (base_url := pages_url()):
        return
    links = page_links(task.troubled_tables(), base_url)
    for link in links[:MAX_LINKS]:
        _log.error("Page of the table: %s", link)
    if len(links) > MAX_LINKS:
        _log.error("… and %d more: %s", len(links) - MAX_LINKS, *page_links((), base_url))
