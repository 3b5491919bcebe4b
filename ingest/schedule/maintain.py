"""IngestMaintainOperator: run `ingest maintain` in the environment that has Spark."""

from typing import Any

import attrs

from ingest.schedule.command import RunCommand
from ingest.schedule.operator import IngestOperator
from ingest.schedule.report import MaintenanceReport


class IngestMaintainOperator(IngestOperator):
    """Run `ingest maintain` as IngestOperator runs `ingest run`, and return its report.

    It takes the same arguments, except `max_offsets`, and `run_args` are additional arguments of `ingest
    maintain`.  Rows do not change, so its tables' assets have no event.
    """

    report_type = MaintenanceReport

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("outlets", [])
        super().__init__(**kwargs)

    def command(self) -> RunCommand:
        """Return the command to run."""
        return attrs.evolve(super().command(), verb="maintain", max_offsets=None)
