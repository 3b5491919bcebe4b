"""The module that makes the rows of each row model."""

from typing import Protocol, assert_never

from pyspark.sql import DataFrame

from ingest.compile.row_model import Append, History, SoftDelete, Upsert
from ingest.compile.table import CompiledTable
from ingest.order import append, history, soft_delete, upsert
from ingest.order.batch_counts import BatchCounts
from ingest.order.changes import Changes, Marks, Stored
from ingest.spark.planned_queries import Plans


class ModelRows(Protocol):
    """Makes the rows of one row model."""

    def counts(
        self, latest: DataFrame, compiled: CompiledTable, plans: Plans | None, truncated_at: str | None, /
    ) -> BatchCounts:
        """Count a batch in small Spark jobs, by `plans` if it was reduced in one task.

        `truncated_at` is the position of an earlier truncate that changes of the batch may be older than.
        """

    def rows(self, changes: Changes, stored: Stored, plans: Plans | None, /) -> DataFrame:
        """Return the rows to write, with marks, which `marks` counts and `chosen` removes.

        The `_cdc_` columns come first, so that the order of columns does not change when some are added.
        Then come the columns of the key and of the row, by their names.
        """

    def marks(self, changes: Changes, rows: DataFrame, stored: Stored, /) -> Marks:
        """Count the rows with each mark.  Takes a job if there may be any."""

    def chosen(self, rows: DataFrame, compiled: CompiledTable, /) -> DataFrame:
        """Return rows as the table takes them by its condition."""


def model_of(compiled: CompiledTable) -> ModelRows:
    """Return the module of a table's row model."""
    match compiled.model:
        case Append():
            return append
        case Upsert():
            return upsert
        case SoftDelete():
            return soft_delete
        case History():
            return history
        case model:
            assert_never(model)


def count_batch(
    latest: DataFrame, compiled: CompiledTable, plans: Plans | None = None, truncated_at: str | None = None
) -> BatchCounts:
    """Count a batch, from the columns of `ingest.order.latest.latest_by_key`."""
    return model_of(compiled).counts(latest, compiled, plans, truncated_at)
