"""The current table as a batch finds it, before its rows are decoded."""

import attrs
from pyspark.sql import DataFrame

from ingest.compile.evolve import Present
from ingest.hudi.timeline.ledger import LedgerEntry, known_ids
from ingest.names import SchemaId
from ingest.run.work.context import Context
from ingest.tables import TableConfig


@attrs.frozen
class Ahead:
    """The rows of other topics that are to be written before.  `creates` says whether the table is new."""

    key_names: tuple[str, ...]
    rows: tuple[DataFrame, ...] = attrs.field(default=(), eq=False)
    creates: bool = False


@attrs.frozen
class TableState:
    """The current table: its columns (None before the first commit) and the schemas of its commits.

    `truncated_at` is the position of the topic's last truncate, as long as older messages may follow it.
    """

    columns: Present
    met_ids: tuple[SchemaId, ...] = ()
    ahead: Ahead | None = None
    """What a plan, or a rebuild, has of other topics, but did not write."""
    truncated_at: str | None = None

    @property
    def exists(self) -> bool:
        """Whether there are rows to read."""
        return self.columns is not None and not (self.ahead and self.ahead.creates)


def table_state(run: Context, table: TableConfig, last: LedgerEntry | None) -> TableState:
    """Return the table's current columns, schemas and last truncate."""
    truncates = last.truncates if last and table.target.truncate == "apply" else ()
    truncated_at = truncates[-1].position if truncates else None
    return TableState(run.lake.table(table).columns(), known_ids(last), truncated_at=truncated_at)
