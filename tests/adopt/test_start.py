"""The offsets of HoodieStreamer's checkpoint, and the positions of exports."""

from collections.abc import Mapping

import attrs
import pytest

from ingest.adopt.position import parse_position
from ingest.adopt.start import start_by_checkpoint
from ingest.errors import TakeoverError, UsageError
from ingest.kafka.breaks import Watermark
from ingest.names import Partition
from tests.compile.sqlserver import ID, TOPIC, compiled, table

V1, V2 = "deltastreamer.checkpoint.key", "streamer.checkpoint.key.v2"
MARKS = {Partition(0): Watermark(10, 90), Partition(1): Watermark(0, 50)}


def offsets(*commits: Mapping[str, str]) -> dict[int, int]:
    """Return the offsets that a table continues from."""
    return dict(start_by_checkpoint(table(), commits, MARKS).next)


def test_the_newest_checkpoint_counts() -> None:
    """Of either form; commits without one are passed over, and new partitions are read whole."""
    assert offsets({}, {V2: f"{TOPIC},0:20,1:5"}, {V1: f"{TOPIC},0:12,1:1"}) == {0: 20, 1: 5}
    assert offsets({V1: f"{TOPIC},0:12"}) == {0: 12, 1: 0}


@pytest.mark.parametrize(
    ("commits", "problem"),
    [
        ((), "its commits have no checkpoint of HoodieStreamer"),
        (({V1: "1700000000000"},), "is '1700000000000', not of the form topic,0:12,1:34"),
        (({V1: "other,0:12"},), f"is of topic other, and the table file names {TOPIC}"),
        (({V1: f"{TOPIC},0:9"},), "has offset 9 of partition 0, and the topic has 10 to 90"),
        (({V1: f"{TOPIC},0:91"},), "has offset 91 of partition 0, and the topic has 10 to 90"),
        (({V1: f"{TOPIC},0:12,7:1"},), "has offset 1 of partition 7, and the topic does not have it"),
        (({V1: f"{TOPIC},1:1"},), "has offset 0 of partition 0, and the topic has 10 to 90"),
    ],
    ids=str,
)
def test_a_checkpoint_that_the_topic_does_not_continue_is_refused(
    commits: tuple[Mapping[str, str], ...], problem: str
) -> None:
    """The remedy is an option."""
    with pytest.raises(TakeoverError) as refused:
        offsets(*commits)
    assert problem in str(refused.value)
    assert "--offsets" in str(refused.value)


def test_positions_are_those_of_the_dialect() -> None:
    """In the form that its tools print."""
    result = compiled([ID])
    fields = parse_position(result, " 0000002A:00000150:0003").fields
    assert fields["commit_lsn"] == "0000002a:00000150:0003"
    with pytest.raises(
        UsageError, match=r"not a position of SQL Server\. Write it such as 0000002a:00000150:0003"
    ):
        parse_position(result, "0x0000002A000001500003")
    record = attrs.evolve(result, dialect=attrs.evolve(result.dialect, name="cdl", title="CDL"))
    with pytest.raises(UsageError, match="the events of CDL have no position to compare it with"):
        parse_position(record, "12")
