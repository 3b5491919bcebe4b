"""Change events from databases become Apache Hudi tables that equal their sources.

registry subjects --onboard--> tables/<table>.toml
                                    |
Kafka topic --read--> bytes --decode--> events --order--> newest row a key --hudi--> one commit
                              (writer's schema, by id)                          (rows + offsets)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ingest.errors import IngestError, PermanentError, RetryableError, UserError

if TYPE_CHECKING:
    from ingest.session import Session

__all__ = ["IngestError", "PermanentError", "RetryableError", "Session", "UserError", "__version__"]


def __getattr__(name: str) -> Any:
    """Import on first use: `ingest --help` needs neither the session nor the package's metadata."""
    if name == "Session":
        return import_module("ingest.session").Session
    if name == "__version__":
        return import_module("importlib.metadata").version("hudi-cdc-ingest")
    raise AttributeError(f"module 'ingest' has no attribute '{name}'")
