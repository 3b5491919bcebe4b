"""How changes become rows, what a row consists of, and where its key is: closed sets, to `match` on."""

import attrs

from ingest.tables import Target


@attrs.frozen
class Append:
    """Every change is a row of its own."""


@attrs.frozen
class Upsert:
    """A key has one row; a delete removes it."""


@attrs.frozen
class SoftDelete:
    """A key has one row; a delete marks it and keeps its values."""


@attrs.frozen
class History:
    """A key has a row for each of its changes, with the time and the positions for which it was valid."""


RowModel = Append | Upsert | SoftDelete | History


@attrs.frozen
class Columns:
    """A row is a record; a placeholder stands for a large value that the source did not send."""


@attrs.frozen
class Document:
    """A row is one JSON text; an update may describe its changes in place of the document."""


RowImage = Columns | Document


@attrs.frozen
class Coordinates:
    """The key is the coordinates of the message."""


@attrs.frozen
class MessageKey:
    """The key is that of the message."""


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
