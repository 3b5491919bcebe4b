"""The target of a run's metrics. A failure to write them does not fail the run."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.api.session import Session
from ingest.cli.notify import notify_or_warn
from ingest.cli.output import print_error
from ingest.errors import IngestError, UsageError
from ingest.operations.status import metrics as status_metrics
from ingest.report import openmetrics
from ingest.report import outcome as reports
from ingest.settings import mask_url
from ingest.tables import TableConfig
from ingest.verify import metrics as verify_metrics

if TYPE_CHECKING:
    from ingest.operations.status.health import Health
    from ingest.operations.status.status import TableStatus
    from ingest.report.outcome import RunReport
    from ingest.verify.result import Verification


def check_target(target: str) -> None:
    """Refuse a target that cannot take metrics, before the run.

    A folder must exist, and so must a file's folder.  If a misspelled path were created, no collector would
    read its metrics.
    """
    if not target:
        return
    if openmetrics.is_gateway(target):
        openmetrics.parse_gateway(target)
    elif "://" in target:
        raise UsageError(
            f"metrics {mask_url(target)}: not a path and not an http(s) URL",
            "Name a file, an existing folder, or a Pushgateway's group: http://HOST:9091/metrics/job/NAME",
        )
    else:
        _check_folder(target)


def _check_folder(target: str) -> None:
    folder = Path(target) if target.endswith("/") or Path(target).is_dir() else Path(target).parent
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "does not exist"
        raise UsageError(f"metrics {target}: the folder {folder} {problem}", "Create it, or correct the path")


def publish_or_warn(target: str, run_report: "RunReport") -> None:
    """Write or send a run's metrics, or print one line that says why not."""
    _publish_or_warn(target, lambda: openmetrics.publish(run_report, target))


def verification_target(given: str, configured: str) -> str:
    """Return the target of verifications: the runs' target, unless it is a file, which runs replace."""
    if given or not configured or openmetrics.is_gateway(configured):
        return given or configured
    return configured if configured.endswith("/") or Path(configured).is_dir() else ""


def publish_verification_or_warn(target: str, verification: "Verification") -> None:
    """Write or send the metrics of a verification, or print one line that says why not."""
    _publish_or_warn(target, lambda: verify_metrics.publish(verification, target))


def publish_status_or_warn(target: str, found: "Sequence[tuple[TableStatus, Health]]") -> None:
    """Write or send the state of tables, or print one line that says why not."""
    _publish_or_warn(target, lambda: status_metrics.publish(found, target))


def _publish_or_warn(target: str, publish: Callable[[], None]) -> None:
    if not target:
        return
    try:
        publish()
    except (OSError, IngestError) as error:
        print_error(f"warning: metrics were not written to {mask_url(target)}: {error}")


@contextmanager
def publish_failure(target: str, session: Session, names: Sequence[str]) -> Iterator[None]:
    """Publish a failed outcome for each table of a run that raises, and so has no report, and notify."""
    started = datetime.now(UTC)
    try:
        yield
    except IngestError as error:
        if target or session.settings.run.notify:
            tables = _tables(session, names)
            run_report = reports.all_failed("", started, tables, error)
            publish_or_warn(target, run_report)
            notify_or_warn(session.settings, run_report, "" if tables else str(error))
        raise


def _tables(session: Session, names: Sequence[str]) -> Sequence[TableConfig]:
    """Read the tables of a run that failed, perhaps because their files cannot be read."""
    try:
        return session.valid_tables(names)[0]
    except IngestError:
        return ()
