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
    from ingest.operations.show import TableView
    from ingest.operations.signal import Signal, SignalRequest
    from ingest.operations.status.history import Commit, TableHistory, TableState
    from ingest.operations.status.overview import LakeOverview, TableOverview
    from ingest.operations.status.status import TableStatus
    from ingest.operations.table_plan import TablePlan
    from ingest.operations.verify_files import FilesCheck
    from ingest.operations.versions import Comparison, CompatibilityReport, PlannedChange, SubjectVersion
    from ingest.order.batch_counts import BatchCounts
    from ingest.registry import Registered
    from ingest.report.contract import Report
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
    "Report",
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
    "TableView",
    "Takeover",
    "UserError",
    "Verification",
    "VerifyRequest",
    "__version__",
]

_HOMES: Final = {
    "adopt.plan": "Takeover",
    "adopt.request": "AdoptRequest LoadRequest",
    "api.session": "Session",
    "compile.describe": "Description",
    "onboard.outcome": "Onboarded",
    "operations.doctor.doctor": "Checkup",
    "operations.doctor.finding": "Finding",
    "operations.maintain": "Maintained Maintenance",
    "operations.offsets": "OffsetMove",
    "operations.rebuild.rebuild": "Rebuilt",
    "operations.rejects.rejects": "Reject Rejects",
    "operations.rejects.replay": "Replayed",
    "operations.show": "TableView",
    "operations.signal": "Signal SignalRequest",
    "operations.status.history": "Commit TableHistory TableState",
    "operations.status.overview": "LakeOverview TableOverview",
    "operations.status.status": "TableStatus",
    "operations.table_plan": "TablePlan",
    "operations.verify_files": "FilesCheck",
    "operations.versions": "Comparison CompatibilityReport PlannedChange SubjectVersion",
    "order.batch_counts": "BatchCounts",
    "registry": "Registered",
    "report.contract": "Report",
    "report.lag": "Measures",
    "report.outcome": "RunReport TableOutcome",
    "run.work.context": "Progress",
    "settings": "Settings",
    "stop": "Stop",
    "tables": "TableConfig",
    "verify.result": "TableVerification Verification",
    "verify.task": "VerifyRequest",
}
"""The public names by their modules."""


def __getattr__(name: str) -> Any:
    """Import on first use: `ingest --help` needs neither the session nor the package's metadata."""
    for module, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"ingest.{module}"), name)
    if name == "__version__":
        return import_module("importlib.metadata").version("hudi-cdc-ingest")
    raise AttributeError(f"module 'ingest' has no attribute '{name}'")
