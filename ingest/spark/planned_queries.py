"""Queries that Spark plans once, for batch after batch: planning costs a small commit more than its rows.

The first batch of a query is interpreted: a process that has no other one would pay more for generated code
than for its rows.
"""

import random
import threading
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

import attrs
from pyspark.sql import DataFrame, SparkSession

from ingest.spark.java import java_rows, jvm_of

Query = Callable[[DataFrame], DataFrame]

MAX_PLANS: Final = 800
"""The plans that stay in memory, four for each table: one of them takes about 0.3 MB."""


@attrs.frozen(eq=False)
class _Planned:
    inputs: object
    query: Any


@attrs.define(eq=False)
class Plans:
    """The planned queries of one Spark session, `most` of them."""

    most: int = MAX_PLANS
    _planned: dict[str, _Planned] = attrs.field(factory=dict, init=False)
    _guard: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def apply(self, name: str, inputs: object, query: Query, rows: DataFrame) -> DataFrame:
        """Apply a query to few rows, in one task, by the plan that it had for the last ones of this name.

        `inputs` are all values that the query depends on: other ones, or other columns, make another plan.
        A query that shuffles or reads anything else is planned every time.
        """
        planned = self._find(name, inputs, rows)
        if planned is None:
            planned = self._plan(inputs, query, rows)
            self._keep(name, planned)
        if planned.query is None:
            return query(rows.coalesce(1))
        return DataFrame(planned.query.over(java_rows(rows)), rows.sparkSession)

    def _find(self, name: str, inputs: object, rows: DataFrame) -> _Planned | None:
        with self._guard:
            planned = self._planned.get(name)
        if planned is None or planned.inputs != inputs:
            return None
        is_same = planned.query is None or planned.query.isOver(java_rows(rows))
        return planned if is_same else None

    def _plan(self, inputs: object, query: Query, rows: DataFrame) -> _Planned:
        planning = jvm_of(rows.sparkSession).io.hudicdc.ingest.spark.PlannedQuery
        nothing = planning.input(java_rows(rows))
        result = query(DataFrame(nothing, rows.sparkSession))
        return _Planned(inputs, planning.of(nothing, java_rows(result)))

    def _keep(self, name: str, planned: _Planned) -> None:
        """Keep a plan, in the place of any other one if there are too many.

        Tables take turns: without the plan that was used the longest time ago, each of them would find its
        plans gone.
        """
        with self._guard:
            if name not in self._planned and len(self._planned) >= self.most:
                del self._planned[random.choice(tuple(self._planned))]  # noqa: S311  no secret
            self._planned[name] = planned


_PLANS: Final = WeakKeyDictionary[SparkSession, Plans]()


def plans_of(spark: SparkSession) -> Plans:
    """Return the planned queries of a session."""
    return _PLANS.setdefault(spark, Plans())
