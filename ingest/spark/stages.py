"""The Spark stages at work, by table: for the progress of a run.

A table's jobs run in a scheduler pool of its name, whichever thread of Hudi's starts them.  Spark updates the
numbers of a running task with the heartbeats of its executor.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs
from pyspark.sql import SparkSession

from ingest.java import java_session, status_store

NEWEST: Final = 16
"""Queries to look through for those at work."""


@attrs.frozen
class Stage:
    """A stage at work: its tasks, those that are done, and the messages read from Kafka so far."""

    stage_id: int
    tasks: int
    done: int
    records: int


def read_stages(spark: SparkSession) -> Mapping[str, tuple[Stage, ...]]:
    """Return the stages at work by scheduler pool, in the order of their ids.

    Empty where the JVM does not answer: the run itself reports that.
    """
    stages: dict[str, tuple[Stage, ...]] = {}
    try:
        for pool, stage in sorted(_active(status_store(spark), spark), key=lambda item: item[1].stage_id):
            stages[pool] = (*stages.get(pool, ()), stage)
    except Exception:  # noqa: BLE001  py4j raises errors of its own, OSError, or AttributeError
        return {}
    return stages


def _active(store: Any, spark: SparkSession) -> Iterator[tuple[str, Stage]]:
    stages = store.activeStages()
    messages = _messages_by_stage(spark) if stages.size() else {}
    for index in range(stages.size()):
        data = stages.apply(index)
        tasks, done, stage_id = data.numTasks(), data.numCompleteTasks(), data.stageId()
        yield data.schedulingPool(), Stage(stage_id, tasks, done, messages.get(stage_id, 0))


def _messages_by_stage(spark: SparkSession) -> dict[int, int]:
    """Return the messages read from Kafka by each stage of the queries at work.

    Spark's Kafka source counts them in its scan's own metric, not in the stage's input.
    """
    store = java_session(spark).sharedState().statusStore()
    queries = store.executionsList(max(0, store.executionsCount() - NEWEST), NEWEST)
    messages: dict[int, int] = {}
    for index in range(queries.size()):
        query = queries.apply(index)
        if query.completionTime().isEmpty():
            count = _scanned(store, query.executionId())
            stages = query.stages().toSeq()
            messages |= {stages.apply(number): count for number in range(stages.size())}
    return messages


def _scanned(store: Any, query: int) -> int:
    """Return the rows of a query's first Kafka scan; 0 for a query without one."""
    nodes = store.planGraph(query).allNodes()
    scans = (nodes.apply(index) for index in range(nodes.size()))
    for scan in scans:
        if scan.name().startswith("Scan Kafka"):
            metric = scan.metrics().apply(0)
            text = store.executionMetrics(query).get(metric.accumulatorId())
            return int(str(text.get()).replace(",", "")) if text.isDefined() else 0
    return 0
