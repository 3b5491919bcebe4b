"""Modules imported at their first use, for rooms that `ingest --help` and the base package do not need.

Under `TYPE_CHECKING` the module is imported as usual, so that mypy and import-linter see it:

    if TYPE_CHECKING:
        from ingest.run.work import fleet
    else:
        fleet = LazyModule("ingest.run.work.fleet")
"""

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for a module, and imports it when its first attribute is read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
