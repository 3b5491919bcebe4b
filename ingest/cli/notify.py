"""The webhook of a run; a failure to send it is a line on standard error, and does not fail the run."""

from typing import TYPE_CHECKING

from ingest.cli.output import print_error
from ingest.lazy import LazyModule

if TYPE_CHECKING:
    from ingest import log
    from ingest.run import notify as webhook
    from ingest.run.notify import Notice
    from ingest.run.report import RunReport
    from ingest.settings import Settings
else:
    webhook, log = LazyModule("ingest.run.notify"), LazyModule("ingest.log")


def notify_or_warn(settings: "Settings", report: "RunReport", problem: str = "") -> None:
    """Send the failures and recoveries of a run; `problem` is the error of a run without tables."""
    if settings.run.notify is None:
        return
    state = webhook.State(settings.state_dir)
    try:
        notices: list[Notice] = list(webhook.notices(report, state))
        if problem:
            notices = [webhook.Notice("failure", report, (), problem)]
        webhook.notify(settings.run.notify.reveal(), notices, state)
    except Exception as error:  # noqa: BLE001  the run has its own outcome
        text = log.masked(webhook.describe(error), settings.secrets())
        print_error(f"warning: [run] notify: not sent, or its state was not stored in {state.folder}: {text}")
