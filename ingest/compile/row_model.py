"""How changes become rows, what a row consists of, and the place of its key: closed sets.

A row model answers by its facts.  `ingest.order.models` has the module that makes its rows.
"""

from typing import ClassVar, Final

import attrs

from ingest.tables import Target

REMOVED: Final = "none"
"""The operation by which Hudi removes a row of a table that keeps deletes as rows."""


class _Facts:
    is_log: ClassVar[bool] = False
    """Whether a row is an event: a delete has the values before it, and no older row completes a change."""
    has_versions: ClassVar[bool] = False
    """Whether a key has several rows, which the coordinates of their changes tell apart."""
    marks_deletes: ClassVar[bool] = False
    """Whether a deleted row stays with its values, marked in the column `_cdc_deleted`."""
    removal: ClassVar[str] = REMOVED
    """The operation by which Hudi removes a row."""

    @property
    def keeps_changes(self) -> bool:
        """Whether every change of the topic stays a row."""
        return self.is_log or self.has_versions

    @property
    def keeps_deletes(self) -> bool:
        """Whether a delete is a row, rather than the removal of one."""
        return self.removal == REMOVED


@attrs.frozen
class Append(_Facts):
    """Every change is a separate row."""

    is_log = True


@attrs.frozen
class Upsert(_Facts):
    """A key has one row, which a delete removes."""

    removal = "d"


@attrs.frozen
class SoftDelete(_Facts):
    """A key has one row, which a delete marks: its values stay."""

    marks_deletes = True


@attrs.frozen
class History(_Facts):
    """A key has a row for each of its changes, with the time and the positions for which it was valid."""

    has_versions = True


RowModel = Append | Upsert | SoftDelete | History


@attrs.frozen
class Columns:
    """A row is a record.  A placeholder replaces a large value that the source did not send."""


@attrs.frozen
class Document:
    """A row is one JSON text.  An update may describe its changes in place of the document."""


RowImage = Columns | Document


@attrs.frozen
class Coordinates:
    """The key is the coordinates of the message."""


@attrs.frozen
class MessageKey:
    """The key is the message's key."""


@attrs.frozen
class RowKey:
    """The key is part of the row."""


KeySource = Coordinates | MessageKey | RowKey


def row_model(target: Target) -> RowModel:
    """Return the row model that a table file asks for."""
    if target.mode == "append":
        return Append()
    if target.mode == "history":
        return History()
    return SoftDelete() if target.delete == "soft" else Upsert()
