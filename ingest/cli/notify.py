"""The webhook of a run. A failure to send it is a line on standard error, and does not fail the run."""

from typing import TYPE_CHECKING

from ingest import log
from ingest.cli.output import print_error
from ingest.names import Topic
from ingest.report import notify as webhook
from ingest.verify import notices as verify_notices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ingest.report.notify import Notice
    from ingest.report.outcome import RunReport
    from ingest.settings import Settings
    from ingest.tables import TableConfig
    from ingest.verify.result import Verification


def notify_or_warn(
    settings: "Settings", report: "RunReport", problem: str = "", folder: "Path | None" = None
) -> None:
    """Send the failures and recoveries of a run. `problem` is the error of a run without tables.

    `folder` has the state of another kind of report than the runs'.
    """
    if settings.run.notify is None:
        return
    state = webhook.State(folder or settings.state_dir)
    try:
        notices: list[Notice] = list(webhook.notices(report, state))
        if problem:
            notices = [webhook.Notice("failure", report, (), problem)]
        webhook.notify(settings.run.notify.reveal(), notices, state)
    except Exception as error:  # noqa: BLE001  the run has its own outcome
        text = log.masked(webhook.describe(error), settings.secrets())
        print_error(f"warning: [run] notify: not sent, or its state was not stored in {state.folder}: {text}")


def notify_verification_or_warn(
    settings: "Settings", verification: "Verification", tables: "Sequence[TableConfig]"
) -> None:
    """Send the tables that begin to differ from their sources, and those that are equal again."""
    topics = {table.name: table.topic or Topic(",".join(table.topics)) for table in tables}
    folder = settings.state_dir / "verify" / "failing"
    notify_or_warn(settings, verify_notices.as_report(verification, topics), folder=folder)
