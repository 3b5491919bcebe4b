"""Messages that several tables of a run read, read from Kafka once."""

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import attrs

from ingest.kafka.ranges import TopicRanges
from ingest.lazy import LazyModule
from ingest.names import Topic
from ingest.tables import Feed

if TYPE_CHECKING:
    import pyspark
    from py4j import protocol
    from pyspark.sql import DataFrame
else:  # an idle run does without Spark
    pyspark, protocol = LazyModule("pyspark"), LazyModule("py4j.protocol")


@attrs.define(eq=False)
class SharedReads:
    """The messages of ranges that more than one table reads, until the last of these tables is done.

    Spark keeps them in memory, and on the disks of its executors if memory is short.
    """

    _expected: dict[tuple[str, Topic], TopicRanges] = attrs.field(factory=dict, init=False)
    _readers: dict[Topic, set[str]] = attrs.field(factory=dict, init=False)
    _kept: "dict[TopicRanges, dict[tuple[str, ...], DataFrame]]" = attrs.field(factory=dict, init=False)
    _guard: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def expect(self, feed: Feed, ranges: TopicRanges) -> None:
        """Note the ranges that a table is going to read."""
        with self._guard:
            self._expected[feed.name, feed.topic] = ranges
            self._readers.setdefault(feed.topic, set()).add(feed.name)

    def is_shared(self, topic: Topic) -> bool:
        """Whether several tables of the run read a topic."""
        return len(self._readers.get(topic, ())) > 1

    def share(self, feed: Feed, ranges: TopicRanges, messages: "DataFrame") -> "DataFrame":
        """Return the messages of ranges as another table has read them, or keep them for another one."""
        with self._guard:
            own = (feed.name, feed.topic)
            others = [other for reader, other in self._expected.items() if reader != own]
            kept = self._kept.get(ranges, {}).get(tuple(messages.columns))
            if kept is not None and kept.sparkSession is messages.sparkSession:
                return kept
            if ranges not in others:
                return messages
            shared = messages.persist(pyspark.StorageLevel.MEMORY_AND_DISK)
            self._kept.setdefault(ranges, {})[tuple(messages.columns)] = shared
            return shared

    def done(self, feed: Feed) -> None:
        """Note that a table is done.  The last one of its ranges frees the messages."""
        with self._guard:
            ranges = self._expected.pop((feed.name, feed.topic), None)
            if ranges is None or ranges in self._expected.values():
                return
            freed = self._kept.pop(ranges, {})
        for messages in freed.values():
            with suppress(protocol.Py4JError, OSError):  # a JVM that has ended holds nothing
                messages.unpersist()
