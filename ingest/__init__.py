"""Change events from databases become Apache Hudi tables that equal their sources.

registry subjects --onboard--> tables/<table>.toml
                                    |
Kafka topic --read--> bytes --decode--> events --order--> newest row a key --hudi--> one commit
                              (writer's schema, by id)                          (rows + offsets)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ingest import lazy
from ingest.errors import IngestError, PermanentError, RetryableError, UserError

if TYPE_CHECKING:
    from ingest.adopt.plan import Takeover
    from ingest.adopt.request import AdoptRequest, LoadRequest
    from ingest.api.session import Session
    from ingest.compile.describe import Description
    from ingest.onboard.outcome import Onboarded
    from ingest.operations.doctor.doctor import Checkup
    from ingest.operations.doctor.finding import Finding
    from ingest.operations.maintain import Maintained, Maintenance
    from ingest.operations.offsets import OffsetMove
    from ingest.operations.rebuild.rebuild import Rebuilt
    from ingest.operations.rejects.rejects import Reject, Rejects
    from ingest.operations.rejects.replay import Replayed
    from ingest.operations.signal import Signal, SignalRequest
    from ingest.operations.status.history import Commit, TableHistory, TableState
    from ingest.operations.status.overview import LakeOverview, TableOverview
    from ingest.operations.status.status import TableStatus
    from ingest.operations.table_plan import TablePlan
    from ingest.operations.verify_files import FilesCheck
    from ingest.operations.versions import Comparison, CompatibilityReport, PlannedChange, SubjectVersion
    from ingest.order.batch_counts import BatchCounts
    from ingest.registry import Registered
    from ingest.report.lag import Measures
    from ingest.report.outcome import RunReport, TableOutcome
    from ingest.run.work.context import Progress
    from ingest.settings import Settings
    from ingest.stop import Stop
    from ingest.tables import TableConfig
    from ingest.verify.result import TableVerification, Verification
    from ingest.verify.task import VerifyRequest

lazy.declare()

__all__ = [
    "AdoptRequest",
    "BatchCounts",
    "Checkup",
    "Commit",
    "Comparison",
    "CompatibilityReport",
    "Description",
    "FilesCheck",
    "Finding",
    "IngestError",
    "LakeOverview",
    "LoadRequest",
    "Maintained",
    "Maintenance",
    "Measures",
    "OffsetMove",
    "Onboarded",
    "PermanentError",
    "PlannedChange",
    "Progress",
    "Rebuilt",
    "Registered",
    "Reject",
    "Rejects",
    "Replayed",
    "RetryableError",
    "RunReport",
    "Session",
    "Settings",
    "Signal",
    "SignalRequest",
    "Stop",
    "SubjectVersion",
    "TableConfig",
    "TableHistory",
    "TableOutcome",
    "TableOverview",
    "TablePlan",
    "TableState",
    "TableStatus",
    "TableVerification",
    "Takeover",
    "UserError",
    "Verification",
    "VerifyRequest",
    "__version__",
]

_HOMES: Final = {
    "AdoptRequest": "ingest.adopt.request",
    "BatchCounts": "ingest.order.batch_counts",
    "Checkup": "ingest.operations.doctor.doctor",
    "Commit": "ingest.operations.status.history",
    "Comparison": "ingest.operations.versions",
    "CompatibilityReport": "ingest.operations.versions",
    "Description": "ingest.compile.describe",
    "FilesCheck": "ingest.operations.verify_files",
    "Finding": "ingest.operations.doctor.finding",
    "LakeOverview": "ingest.operations.status.overview",
    "LoadRequest": "ingest.adopt.request",
    "Maintained": "ingest.operations.maintain",
    "Maintenance": "ingest.operations.maintain",
    "Measures": "ingest.report.lag",
    "OffsetMove": "ingest.operations.offsets",
    "Onboarded": "ingest.onboard.outcome",
    "PlannedChange": "ingest.operations.versions",
    "Progress": "ingest.run.work.context",
    "Rebuilt": "ingest.operations.rebuild.rebuild",
    "Registered": "ingest.registry",
    "Reject": "ingest.operations.rejects.rejects",
    "Rejects": "ingest.operations.rejects.rejects",
    "Replayed": "ingest.operations.rejects.replay",
    "RunReport": "ingest.report.outcome",
    "Session": "ingest.api.session",
    "Settings": "ingest.settings",
    "Signal": "ingest.operations.signal",
    "SignalRequest": "ingest.operations.signal",
    "Stop": "ingest.stop",
    "SubjectVersion": "ingest.operations.versions",
    "TableConfig": "ingest.tables",
    "TableHistory": "ingest.operations.status.history",
    "TableOutcome": "ingest.report.outcome",
    "TableOverview": "ingest.operations.status.overview",
    "TablePlan": "ingest.operations.table_plan",
    "TableState": "ingest.operations.status.history",
    "TableStatus": "ingest.operations.status.status",
    "TableVerification": "ingest.verify.result",
    "Takeover": "ingest.adopt.plan",
    "Verification": "ingest.verify.result",
    "VerifyRequest": "ingest.verify.task",
}


def __getattr__(name: str) -> Any:
    """Import on first use: `ingest --help` needs neither the session nor the package's metadata."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "__version__":
        return import_module("importlib.metadata").version("hudi-cdc-ingest")
    raise AttributeError(f"module 'ingest' has no attribute '{name}'")
