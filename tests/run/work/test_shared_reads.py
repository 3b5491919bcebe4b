"""Messages that tables share are freed by the last one, also where their JVM has ended."""

import attrs
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway
from pyspark.sql import DataFrame, SparkSession

from ingest.kafka.ranges import OffsetRange, TopicRanges
from ingest.local.ports import choose_port
from ingest.names import Partition, Topic
from ingest.run.work.shared_reads import SharedReads
from tests.compile.sqlserver import table
from tests.feeds import feed

pytestmark = pytest.mark.spark

TABLE = attrs.evolve(table(), topic=Topic("t"))
ROWS, VERSIONS, OTHER = (feed(attrs.evolve(TABLE, name=name)) for name in ("rows", "versions", "other"))


def ranges(end: int) -> TopicRanges:
    """Return a range of one partition."""
    return TopicRanges(Topic("t"), (OffsetRange(Topic("t"), Partition(0), 0, end),))


def expecting(**ends: int) -> SharedReads:
    """Return the reads of tables with their end offsets."""
    reads = SharedReads()
    for name, end in ends.items():
        reads.expect(feed(attrs.evolve(TABLE, name=name)), ranges(end))
    return reads


def test_the_last_table_frees_the_messages(spark: SparkSession) -> None:
    """A table at other offsets, or with other columns, gets its own."""
    reads = expecting(rows=5, versions=5, other=4)
    first, second = spark.range(5), spark.range(5)
    assert reads.share(OTHER, ranges(4), second) is second
    assert not second.is_cached
    kept = reads.share(ROWS, ranges(5), first)
    assert kept.is_cached
    assert reads.share(VERSIONS, ranges(5), second) is kept
    with_headers = spark.range(5).withColumnRenamed("id", "headers")
    assert reads.share(VERSIONS, ranges(5), with_headers) is with_headers
    reads.done(ROWS)
    reads.done(OTHER)
    assert kept.is_cached
    reads.done(VERSIONS)
    assert not kept.is_cached
    assert reads.share(ROWS, ranges(5), second) is second
    assert not second.is_cached
    with_headers.unpersist()


def test_a_topic_stays_shared_until_the_run_ends() -> None:
    """Its last table reads what the others have read, too."""
    reads = expecting(rows=5, versions=5)
    reads.done(ROWS)
    assert reads.is_shared(Topic("t"))
    assert not reads.is_shared(Topic("other"))
    assert not expecting(rows=5).is_shared(Topic("t"))


def test_a_jvm_that_has_ended_holds_nothing(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its messages are not freed, and not used in the next session."""
    reads = expecting(rows=5, versions=5)
    ended = JavaGateway(gateway_parameters=GatewayParameters(port=choose_port()))
    dead = DataFrame(ended.entry_point, spark.newSession())
    monkeypatch.setattr(DataFrame, "columns", ["id"])
    with monkeypatch.context() as patch:
        patch.setattr(DataFrame, "persist", lambda frame, _: frame)  # the JVM was alive then
        assert reads.share(ROWS, ranges(5), dead) is dead
    reads.done(ROWS)
    fresh = spark.range(5)
    assert reads.share(VERSIONS, ranges(5), fresh) is fresh
    assert not fresh.is_cached
    reads.done(VERSIONS)
