"""The messages that a stage has read from Kafka are counted while it is at work."""

import time
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark import InheritableThread
from pyspark.sql import SparkSession

from ingest.kafka.ranges import OffsetRange, TopicRanges
from ingest.kafka.read import read
from ingest.names import Partition, Topic
from ingest.settings import KafkaSettings
from ingest.spark.stages import read_stages

SLEEP = "reflect('java.lang.Thread', 'sleep', cast(offset * 0 + 200 as bigint))"


@pytest.mark.spark
@pytest.mark.servers
def test_messages_are_counted_with_each_task_that_ends(spark: SparkSession, servers: Any) -> None:
    """Spark's Kafka source counts them in its scan only."""
    topic, kafka = Topic(f"stages.{time.time_ns()}"), KafkaSettings(servers.bootstrap_servers)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(12):
        producer.produce(topic, str(number))
    assert producer.flush(10) == 0
    ranges = TopicRanges(topic, (OffsetRange(topic, Partition(0), 0, 12),))

    def work() -> None:
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", "orders")
        read(spark, ranges, kafka, min_partitions=12).selectExpr(SLEEP).collect()

    thread = InheritableThread(target=work)
    seen: list[int] = []
    thread.start()
    while thread.is_alive():
        seen += [stage.records for stage in read_stages(spark).get("orders", ())]
        time.sleep(0.02)

    assert seen == sorted(seen)
    assert 0 < max(seen) <= 12
