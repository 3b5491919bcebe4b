"""The rows of a table that keeps every change as a separate row, a delete with the values before it."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.table import CompiledTable
from ingest.order.bookkeeping import bookkeeping
from ingest.order.changes import Changes, Stored
from ingest.order.chosen import OUTSIDE, mark_outside
from ingest.order.counts import count
from ingest.order.rows import build_rows, changed_keys, count_marks, planned
from ingest.spark.planned_queries import Plans
from ingest.sql.template import ident

counts = count
marks = count_marks


def rows(changes: Changes, _stored: Stored, plans: Plans | None) -> DataFrame:
    """Return a row for each change."""
    return mark_outside(planned(changes, _build, plans), changes.compiled)


def _build(changes: Changes) -> DataFrame:
    return build_rows(changes, changed_keys(changes), bookkeeping(changes.compiled, ident("newest")))


def chosen(rows: DataFrame, _compiled: CompiledTable) -> DataFrame:
    """Leave out the rows outside the condition."""
    return rows.where(~F.col(OUTSIDE)).drop(OUTSIDE) if OUTSIDE in rows.columns else rows
