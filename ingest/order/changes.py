"""A batch on its way to the rows of its table, as values."""

from collections.abc import Iterable
from typing import Final, Self

import attrs
from pyspark.sql import DataFrame

from ingest.compile.evolve import Evolution, TargetColumn
from ingest.compile.table import CompiledTable
from ingest.names import Truncate
from ingest.order.batch_counts import BatchCounts
from ingest.order.columns import types_of
from ingest.sql.template import Sql, ident
from ingest.sql.types import cast

OURS: Final = ("_cdc_", "_hoodie_")
"""How the names of columns begin that are not the row's."""


@attrs.frozen
class Changes:
    """The newest change of each key, counted and with the columns to write: a row model makes rows of it."""

    rows: DataFrame
    """The columns that `ingest.order.latest.latest_by_key` returns."""
    compiled: CompiledTable
    evolution: Evolution
    counts: BatchCounts

    def typed_keys(self) -> list[Sql]:
        """Return the columns of the key, in the types of the table."""
        return [cast(ident(f"k_{i}"), c.spark).alias(c.name) for i, c in enumerate(self.evolution.keys)]

    def with_columns_of(self, stored: DataFrame) -> Self:
        """Add the columns of the table that the batch lacks."""
        evolution = self.evolution
        names = {column.name for column in (*evolution.keys, *evolution.columns)}
        missing = (
            TargetColumn(name, spark_type)
            for name, spark_type in types_of(stored).items()
            if name not in names and not name.startswith(OURS)
        )
        return self.with_columns(missing)

    def with_columns(self, columns: Iterable[TargetColumn]) -> Self:
        """Add columns to write."""
        columns = (*self.evolution.columns, *columns)
        return attrs.evolve(self, evolution=attrs.evolve(self.evolution, columns=columns))


@attrs.frozen
class Stored:
    """A table before a batch."""

    rows: DataFrame | None = None
    """None if the rows to write do not depend on stored ones."""
    truncates: tuple[Truncate, ...] = ()
    """The truncates that a history has applied."""
    may_repeat: bool = True
    """Whether a history may have changes of the batch."""
    has_tombstones: bool = True
    """Whether versions of a history may end by tombstones."""


@attrs.frozen
class Marks:
    """The rows of a batch that its marks count."""

    outside: int = 0
    """Rows that the condition of the table file leaves out."""
    lost: int = 0
    """Rows with values that no older row has: they become null."""
