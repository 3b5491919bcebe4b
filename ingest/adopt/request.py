"""Requests to begin a table with rows from elsewhere."""

from typing import Literal

import attrs


@attrs.frozen
class AdoptRequest:
    """The table to take over: at `path`, or in the table's own place, from `offsets` on.

    Without offsets HoodieStreamer's checkpoint counts.  `nulls` are columns that its rows lack.
    """

    path: str = ""
    offsets: str = ""
    nulls: tuple[str, ...] = ()
    dry_run: bool = False


ExportKind = Literal["parquet", "jdbc"]


@attrs.frozen
class LoadRequest:
    """The export to load: parquet files at a path, or a source of the settings by JDBC.

    `position` is the source's position at which the export began.  `offsets` are the topic's offsets to start
    from, by default the first retained ones.  `nulls` are columns that the export lacks.
    """

    kind: ExportKind
    origin: str
    position: str = ""
    offsets: str = ""
    nulls: tuple[str, ...] = ()
    dry_run: bool = False

    @property
    def note(self) -> str:
        """The note in the table's history that names the export."""
        at = f" at position {self.position}" if self.position else ""
        return f" of {self.kind} {self.origin}{at}"
