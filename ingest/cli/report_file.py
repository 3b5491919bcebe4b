"""The file of `--report`: on a local disk, or at a Hadoop path for a driver on a cluster."""

import re
from collections.abc import Mapping
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ingest.errors import UsageError
from ingest.report import outcome as reports
from ingest.report import stored_report

if TYPE_CHECKING:
    from ingest import Session

_URI: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")


def prepare_report(report: str | None) -> None:
    """Make the folder of a local report before the run.  Raises `UsageError`."""
    if report is None or _URI.match(report):
        return
    path = Path(report)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--report {path}: {error.strerror}: {error.filename}") from None
    if path.is_dir():
        raise UsageError(f"--report {path}: is a folder", "Name a file")


def write_report(report: str | None, content: Mapping[str, Any], session: "Session") -> None:
    """Write a report as JSON. At a Hadoop path, the session's Spark writes it."""
    if report is None:
        return
    text = dumps(content, indent=2, ensure_ascii=False) + "\n"
    if _URI.match(report):
        stored_report.store_report(session.spark, report, text)
    else:
        reports.write_whole(Path(report), text)
