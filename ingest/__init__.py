"""Change events from databases become Apache Hudi tables that equal their sources.

registry subjects --onboard--> tables/<table>.toml
                                    |
Kafka topic --read--> bytes --decode--> events --order--> newest row a key --hudi--> one commit
                              (writer's schema, by id)                          (rows + offsets)
"""

from typing import TYPE_CHECKING, Any

from ingest.errors import IngestError, PermanentError, RetryableError, UserError

if TYPE_CHECKING:
    from ingest.session import Session

__all__ = ["IngestError", "PermanentError", "RetryableError", "Session", "UserError", "__version__"]


def __getattr__(name: str) -> Any:
    """Import on first use what `ingest --help` has no time for."""
    if name == "Session":
        from ingest.session import Session  # noqa: PLC0415

        return Session
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("hudi-cdc-ingest")
    raise AttributeError(f"module 'ingest' has no attribute '{name}'")
