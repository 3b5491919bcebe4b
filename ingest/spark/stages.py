"""The Spark stages at work, by table: for the progress of a run.

A table's jobs run in a scheduler pool of its name, whichever thread of Hudi's starts them.  Spark updates the
numbers of a running task with the heartbeats of its executor, in local mode only when the task ends.
"""

from collections.abc import Iterator, Mapping

import attrs
from pyspark.sql import SparkSession

from ingest.spark.java import jvm_of, status_store


@attrs.frozen
class Stage:
    """A stage at work: its tasks, the finished tasks, and the messages read so far."""

    stage_id: int
    tasks: int
    done: int
    records: int


def read_stages(spark: SparkSession) -> Mapping[str, tuple[Stage, ...]]:
    """Return the stages at work by scheduler pool, in the order of their ids.

    Empty if the JVM does not answer: the run itself reports that.
    """
    stages: dict[str, tuple[Stage, ...]] = {}
    try:
        for pool, stage in sorted(_active(spark), key=lambda item: item[1].stage_id):
            stages[pool] = (*stages.get(pool, ()), stage)
    except Exception:  # noqa: BLE001  py4j raises its own errors, OSError, or AttributeError
        return {}
    return stages


def _active(spark: SparkSession) -> Iterator[tuple[str, Stage]]:
    stages, running = status_store(spark).activeStages(), jvm_of(spark).io.hudicdc.ingest.spark.RunningTasks
    for index in range(stages.size()):
        data = stages.apply(index)
        stage_id, tasks, done = data.stageId(), data.numTasks(), data.numCompleteTasks()
        records = data.inputRecords() + running.recordsRead(stage_id)
        yield data.schedulingPool(), Stage(stage_id, tasks, done, records)
