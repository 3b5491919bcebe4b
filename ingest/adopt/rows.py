"""Rows from elsewhere as rows of a table: checked, filtered, and with a position."""

from collections.abc import Iterator, Mapping
from typing import Final

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.adopt.columns import FittedColumns, first_evolution
from ingest.compile.event import DELETED
from ingest.compile.evolve import TargetColumn
from ingest.compile.table import CompiledTable
from ingest.errors import TakeoverError
from ingest.hudi.class_path import check_class_path
from ingest.hudi.keys import unsafe_folders, unsafe_texts
from ingest.hudi.options import OP
from ingest.names import first_few
from ingest.order.batch_counts import BatchCounts
from ingest.order.chosen import computed_rows, mark_outside
from ingest.order.columns import never_null
from ingest.order.models import model_of
from ingest.run.batch.chosen import check_computed, with_row_sql
from ingest.run.batch.keys import check_keys
from ingest.run.batch.prepared_batch import PreparedBatch
from ingest.run.batch.table_state import TableState
from ingest.spark.java import select_expr
from ingest.sql.template import Sql, ident, literal, sql

_SHOWN: Final = 5
"""How many of the problems of columns a message names."""


@attrs.frozen
class ForeignRows:
    """Rows from elsewhere, fitted to a table."""

    compiled: CompiledTable
    rows: DataFrame
    fitted: FittedColumns

    def check_columns(self) -> None:
        """Raise TakeoverError for columns that are missing or do not fit."""
        problems = self.fitted.problems
        if problems:
            todo = "Exclude the column, or give it another type, in the table file; --null leaves one empty"
            raise TakeoverError(self._table, first_few(problems, _SHOWN), todo)
        if not self.fitted.keys:
            raise TakeoverError(self._table, "the table has no key columns to compare")

    def check_values(self) -> int:
        """Count the rows.  Raises TakeoverError for a key that is null or not unique, and for misfits."""
        table, keys = self.compiled.table, self.fitted.keys
        targets = [TargetColumn(column.name, column.spark) for column in self.fitted.all]
        check_keys(table, targets[: len(keys)], targets[len(keys) :], {})
        check_class_path(self.rows.sparkSession, table, {column.name: column.spark for column in targets})
        problems = list(self._problems())
        counts = (
            F.count_if(F.expr(str(sql("coalesce({c}, false)", c=condition)))) for condition, _ in problems
        )
        (row,) = self.rows.agg(F.count(F.lit(1)), *counts).collect()
        total, *wrong = row
        for count, (_, problem) in zip(wrong, problems, strict=True):
            if count:
                raise TakeoverError(self._table, f"{count:,} rows have {problem}")
        self._check_unique()
        return int(total)

    @property
    def _table(self) -> str:
        return self.compiled.table.name

    def _problems(self) -> Iterator[tuple[Sql, str]]:
        """Yield the conditions under which a row cannot be taken, and their texts."""
        target, keys = self.compiled.table.target, self.fitted.keys
        values = {column.name: column.value for column in self.fitted.all}
        types = {column.name: str(column.spark) for column in self.fitted.all}
        for column in keys:
            yield sql("{c} is null", c=column.value), f"null in the key column {column.name}"
        for column in self.fitted.all:
            if column.fault is not None:
                yield column.fault, f"in column {column.origin} {column.fault_reason}"
        key_types = {column.name: types[column.name] for column in keys}
        rules = unsafe_texts(key_types, values.__getitem__, target.partition_by)
        outside = [name for name in target.partition_by if name not in key_types]
        for condition, reason in (*rules, *unsafe_folders(outside, types, values.__getitem__)):
            yield condition, f"a key or partition that Hudi cannot store: {reason}"

    def _check_unique(self) -> None:
        keys = [str(column.value.alias(column.name)) for column in self.fitted.keys]
        names = [str(ident(column.name)) for column in self.fitted.keys]
        doubled = self.rows.selectExpr(*keys).groupBy(*names).count().where("count > 1").count()
        if doubled:
            listed = ", ".join(column.name for column in self.fitted.keys)
            problem = f"{doubled:,} values of the key {listed} have several rows"
            raise TakeoverError(self._table, problem, "Name columns that are unique: [key] columns = [...]")

    def table_rows(self, position: str) -> tuple[PreparedBatch, DataFrame]:
        """Return the rows to write, all at one position, as the rows of a first batch."""
        columns = [
            *_bookkeeping(position),
            *([sql("false").alias(DELETED)] if self.compiled.model.marks_deletes else []),
            *(never_null(column.value, column.spark).alias(column.name) for column in self.fitted.keys),
            *(column.value.alias(column.name) for column in self.fitted.columns),
        ]
        evolution = first_evolution(self.compiled)
        batch = PreparedBatch(self.rows, self.compiled, evolution, BatchCounts(), None, TableState(None))
        batch = with_row_sql(self.rows.sparkSession, batch)
        rows = select_expr(self.rows, *map(str, columns))
        computed = (c.name for c in batch.evolution.columns if c.name in self.compiled.table.computed)
        rows = select_expr(rows, "*", *(str(sql("null").alias(name)) for name in computed))
        rows = computed_rows(rows, batch)
        check_computed(rows, batch)
        chosen = model_of(self.compiled).chosen(mark_outside(rows, self.compiled), self.compiled)
        return batch, chosen.where(F.col(OP) != self.compiled.model.removal)


def _bookkeeping(position: str) -> list[Sql]:
    """Return the `_cdc_` columns of rows that no message brought: read, and without coordinates."""
    values: Mapping[str, Sql] = {
        "_cdc_op": literal("r"),
        "_cdc_position": literal(position),
        "_cdc_source_ts": sql("cast(null as timestamp)"),
        "_cdc_schema_id": sql("cast(null as int)"),
        "_cdc_partition": sql("cast(null as int)"),
        "_cdc_offset": sql("cast(null as bigint)"),
    }
    return [value.alias(name) for name, value in values.items()]
