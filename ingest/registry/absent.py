"""The registry of a deployment without a URL: JSON topics need no registry, and any query is an error.

It is a `Registry`, not an error of `open_registry`, because a run opens its registry before it knows whether
a table needs it; a nullable registry would put the same test at each query.
"""

# ruff: noqa: ARG002  every query has the same answer

from typing import NoReturn

from ingest.errors import SettingsError
from ingest.names import SchemaId, Subject
from ingest.registry.subject import FrameId, Reference, Registered, Schema
from ingest.tables import IdKind


class AbsentRegistry:
    """Raises `SettingsError` for the missing setting, from every query."""

    url = ""

    def subjects(self, pattern: str = "*") -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def versions(self, subject: Subject, *, deleted: bool = False) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def latest(self, subject: Subject) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def version(self, subject: Subject, number: int) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def by_id(self, schema_id: SchemaId) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def frame_ids(self, registered: Registered, kinds: frozenset[IdKind]) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def by_frame_id(self, frame_id: FrameId) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def with_references(self, schema: Schema | Registered) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def compatibility(self, subject: Subject) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def compatible(
        self,
        subject: Subject,
        schema_text: str,
        references: tuple[Reference, ...] = (),
        *,
        version: int | None = None,
    ) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def register(
        self, subject: Subject, schema_text: str, references: tuple[Reference, ...] = ()
    ) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def close(self) -> None:
        """Close nothing."""


def _refuse() -> NoReturn:
    todo = "Set [registry] url in the settings file, or INGEST_REGISTRY_URL"
    raise SettingsError("settings", "registry.url", "is not set", todo)
