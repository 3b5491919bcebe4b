"""The metrics of a run go where the settings say; that they cannot does not fail the run."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ingest.cli.output import print_error
from ingest.errors import IngestError
from ingest.settings import mask_url

if TYPE_CHECKING:
    from ingest.run.report import RunReport
    from ingest.session import Session


def check_target(target: str) -> None:
    """Refuse what is no place for metrics, before anything is done that could not be told."""
    if target:
        from ingest.run.openmetrics import is_gateway, parse_gateway  # noqa: PLC0415  light start

        if is_gateway(target):
            parse_gateway(target)


def publish_or_warn(target: str, report: "RunReport") -> None:
    """Write or send a run's metrics, or say in a line why not."""
    if not target:
        return
    from ingest.run.openmetrics import publish  # noqa: PLC0415  light start

    try:
        publish(report, target)
    except (OSError, IngestError) as error:
        print_error(f"warning: metrics were not written to {mask_url(target)}: {error}")


@contextmanager
def failure_told(target: str, session: "Session", names: Sequence[str]) -> Iterator[None]:
    """Tell of a run that failed as a whole, and so has no report, by the metrics of its tables."""
    started = datetime.now(UTC)
    try:
        yield
    except IngestError as error:
        if target:
            from ingest.run.report import RunReport, failed  # noqa: PLC0415  light start

            seconds = (datetime.now(UTC) - started).total_seconds()
            outcomes = (failed(one.name, one.topic, error, seconds) for one in session.tables(names))
            publish_or_warn(target, RunReport("", started, datetime.now(UTC), tuple(outcomes)))
        raise
