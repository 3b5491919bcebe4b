"""Read and check the run report of a job."""

import json
from pathlib import Path
from typing import Any, TypeVar

import attrs
import cattrs

from ingest.json_values import structure
from ingest.report import contract

Json = dict[str, Any]


class ReportError(ValueError):
    """A report that is missing or malformed."""


@attrs.frozen
class Report(contract.Report):
    """A run's report.  `content` is the whole JSON."""

    content: Json = attrs.field(factory=dict, repr=False, eq=False)


@attrs.frozen
class MaintenanceReport(contract.MaintenanceReport):
    """The report of `ingest maintain`.  `content` is the whole JSON."""

    content: Json = attrs.field(factory=dict, repr=False, eq=False)


AnyReport = Report | MaintenanceReport
R = TypeVar("R", bound=AnyReport)


def read_content(content: Any, kind: type[R]) -> R:
    """Read a report of a kind from JSON.  Raises `ReportError`."""
    try:
        return attrs.evolve(structure(content, kind), content=content)
    except (ValueError, TypeError, cattrs.BaseValidationError):
        raise ReportError("is not a run report") from None


def read_report(path: Path, kind: type[R]) -> R:
    """Read a report of a kind.  Raises `ReportError`."""
    try:
        return read_content(json.loads(path.read_text(encoding="utf-8")), kind)
    except FileNotFoundError:
        raise ReportError("it wrote no run report") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ReportError(f"its run report {path} cannot be read: {error}") from None
    except ValueError:
        raise ReportError(f"{path} does not hold a run report") from None
