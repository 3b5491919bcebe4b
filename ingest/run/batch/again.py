"""Messages read once more, by their coordinates."""

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.kafka.breaks import topic_id_of
from ingest.kafka.ranges import OffsetRange, TopicRanges
from ingest.kafka.read import count_slices, read
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import Topic
from ingest.settings import KafkaSettings


def read_at(
    spark: SparkSession, kafka: KafkaSettings, ranges: TopicRanges, coordinates: DataFrame, most_bytes: int
) -> DataFrame:
    """Read the messages at coordinates, with headers, from the narrowest ranges that hold them all."""
    return _read(spark, kafka, _narrowed(ranges, coordinates), coordinates, most_bytes)


def read_again(
    spark: SparkSession, kafka: KafkaSettings, topic: Topic, coordinates: DataFrame, most_bytes: int
) -> DataFrame:
    """Read the messages at coordinates once more, as far as the topic still has them."""
    marks = fetch_watermarks(kafka, [topic]).of(topic)
    whole = TopicRanges(topic, (), topic_id_of(marks))
    clipped = (
        attrs.evolve(
            part,
            start=max(part.start, marks[part.partition].begin),
            end=min(part.end, marks[part.partition].end),
        )
        for part in _narrowed(whole, coordinates).ranges
        if part.partition in marks
    )
    ranges = tuple(part for part in clipped if part.start < part.end)
    return _read(spark, kafka, attrs.evolve(whole, ranges=ranges), coordinates, most_bytes)


def read_topic(spark: SparkSession, kafka: KafkaSettings, topic: Topic) -> DataFrame:
    """Read all messages that a topic has now."""
    marks = fetch_watermarks(kafka, [topic]).of(topic)
    parts = tuple(OffsetRange(topic, number, mark.begin, mark.end) for number, mark in sorted(marks.items()))
    ranges = TopicRanges(topic, parts, topic_id_of(marks))
    slices = count_slices(ranges, spark.sparkContext.defaultParallelism)
    return read(spark, ranges, kafka, min_partitions=slices)


def _read(
    spark: SparkSession, kafka: KafkaSettings, ranges: TopicRanges, coordinates: DataFrame, most_bytes: int
) -> DataFrame:
    slices = count_slices(ranges, spark.sparkContext.defaultParallelism)
    messages = read(spark, ranges, kafka, min_partitions=slices, headers=True, most_bytes=most_bytes)
    return messages.join(coordinates, ["partition", "offset"], "left_semi")


def _narrowed(ranges: TopicRanges, coordinates: DataFrame) -> TopicRanges:
    bounds = coordinates.groupBy("partition").agg(
        F.min("offset").alias("first"), F.max("offset").alias("last")
    )
    spans = sorted((row["partition"], row["first"], row["last"] + 1) for row in bounds.collect())
    parts = tuple(OffsetRange(ranges.topic, *span) for span in spans)
    return attrs.evolve(ranges, ranges=parts)
