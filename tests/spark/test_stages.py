"""The stages at work are reported by table, from any thread."""

import time

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from ingest.spark.stages import Stage, read_stages

SLEEP = "reflect('java.lang.Thread', 'sleep', cast(id * 0 + 400 as bigint))"


def test_a_job_shows_under_its_pool_while_it_is_at_work(spark: SparkSession) -> None:
    """With its tasks, and those that are done."""

    def work() -> None:
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", "orders")
        spark.range(0, 4, 1, 4).selectExpr(SLEEP).collect()

    thread = InheritableThread(target=work)
    seen: list[Stage] = []
    thread.start()
    while thread.is_alive():
        seen += read_stages(spark).get("orders", ())
        time.sleep(0.02)

    assert {stage.tasks for stage in seen} >= {4}
    assert {stage.done for stage in seen if stage.tasks == 4} >= {0, 2}
    assert "orders" not in read_stages(spark)
