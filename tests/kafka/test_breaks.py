"""A topic that does not continue from the table's offsets stops the run, with the reason and a remedy."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.cli.app import app
from ingest.errors import OffsetError
from ingest.kafka.breaks import Consumed, Watermark, check_continues
from ingest.names import Partition, Topic
from ingest.operations.offsets import parse_move

TOPIC = Topic("server1.dbo.customers")
P0, P1, P2 = (Partition(number) for number in range(3))

Ends = Mapping[Partition, Watermark]


def refused(consumed: Consumed, watermarks: Ends) -> OffsetError:
    """Return the error of a topic that does not continue."""
    with pytest.raises(OffsetError) as caught:
        check_continues(TOPIC, consumed, watermarks)
    assert caught.value.exit_code == 1
    return caught.value


def command(error: OffsetError) -> tuple[str, str]:
    """Read the command that an error names with the program's own parser: its table, and `--to`."""
    result = re.search(r"`ingest (offsets set [^`]*)`", str(error))
    assert result, str(error)
    called, bound, *_ = app.parse_args(result[1], print_error=False, exit_on_error=False)
    assert called.__name__ == "set_"
    return bound.arguments["table"], bound.arguments["to"]


def test_offsets_deleted_by_retention_are_counted_by_partition() -> None:
    """All broken partitions are reported at once, and the command moves these alone."""
    seen = {P0: Watermark(40, 50), P1: Watermark(0, 9), P2: Watermark(7, 7)}

    error = refused(Consumed("customers", {P0: 10, P1: 3, P2: 5}), seen)

    text = str(error)
    assert text.startswith("server1.dbo.customers-0: 30 offsets (10 to 39) were deleted from the topic")
    assert "it now holds offsets 40 to 49; server1.dbo.customers-2: 2 offsets (5 to 6) were deleted" in text
    assert "it now holds nothing; 32 offsets are gone in all" in text
    assert command(error) == ("customers", "0=earliest,2=earliest")
    assert parse_move("0=earliest,2=earliest", {P0: 10, P1: 3, P2: 5}, seen) == {P0: 40, P1: 3, P2: 7}


def test_a_partition_that_was_added_and_lost_its_beginning_is_a_loss() -> None:
    """A first run takes what there is; a table that follows its topic must see all of a new partition."""
    seen = {P0: Watermark(0, 5), P1: Watermark(2, 4)}

    error = refused(Consumed("customers", {P0: 5}), seen)

    assert "-1: the partition was added, and 2 offsets (0 to 1) were deleted" in str(error)
    assert command(error) == ("customers", "1=earliest")
    check_continues(TOPIC, Consumed("customers"), seen)
    check_continues(TOPIC, Consumed("customers", {P0: 5}), {P0: Watermark(0, 5), P1: Watermark(0, 4)})


def test_a_recreated_topic_is_recognised_by_its_id() -> None:
    """Its offsets may look as if it went on; those of the old one mean nothing in it."""
    seen = {P0: Watermark(0, 80, "new"), P1: Watermark(0, 0, "new")}
    consumed = Consumed("customers", {P0: 50}, topic_id="old")

    error = refused(consumed, seen)

    assert "created again: its id was old, and is new" in str(error)
    assert "up to 0=50; unread messages of the old topic are lost" in str(error)
    assert "The new one holds 0: offsets 0 to 79, 1: nothing" in str(error)
    assert command(error) == ("customers", "earliest")
    assert parse_move("earliest", {}, seen, is_anew=True) == {P0: 0, P1: 0}


def test_unknown_ids_are_not_a_difference() -> None:
    """Commits of older versions know none, and old brokers give none."""
    for existing, explained in (("", "new"), ("old", ""), ("", "")):
        check_continues(TOPIC, Consumed("t", {P0: 5}, topic_id=existing), {P0: Watermark(0, 9, explained)})


def test_a_table_file_that_names_another_topic_is_refused_by_name() -> None:
    """Whatever the ids say, no command moves the table to another topic: it would mix two sources."""
    for topic_id in ("", "old", "new"):
        error = refused(
            Consumed("customers", {P0: 50}, topic_id=topic_id, topic="server1.dbo.orders"),
            {P0: Watermark(0, 80, "new")},
        )

        text = str(error)
        assert "table customers holds the rows of topic server1.dbo.orders, read up to 0=50" in text
        assert "its table file now names topic server1.dbo.customers" in text
        assert 'Set topic = "server1.dbo.orders" in customers.toml again' in text
        assert "`ingest onboard server1.dbo.customers`" in text
        assert "offsets set" not in text
    check_continues(TOPIC, Consumed("t", {P0: 5}, topic=TOPIC), {P0: Watermark(0, 9)})
    check_continues(TOPIC, Consumed("t", topic="before the first commit"), {P0: Watermark(0, 9)})


@pytest.mark.parametrize(
    ("topic_id", "says", "to"),
    [("", "created again, or truncated", "earliest"), ("same", "it was truncated", "0=earliest")],
)
def test_a_table_with_offsets_behind_the_end_is_not_idle(topic_id: str, says: str, to: str) -> None:
    """With a known id the topic is the same one, and only lost its end."""
    error = refused(Consumed("t", {P0: 60}, topic_id=topic_id), {P0: Watermark(0, 50, topic_id)})

    assert says in str(error)
    assert "10 offsets (50 to 59) are not in it any more" in str(error)
    assert command(error) == ("t", to)


def test_a_missing_partition_means_a_recreated_topic() -> None:
    """Kafka never takes a partition away."""
    error = refused(Consumed("t", {P0: 10, P1: 20}), {P0: Watermark(0, 50)})

    assert "-1: the table has read up to offset 20, but the topic has only 1 partitions" in str(error)
    assert command(error) == ("t", "earliest")


def test_a_table_of_all_messages_cannot_take_another_topic() -> None:
    """Its rows are named by offsets: those of the new topic would replace the old ones."""
    consumed = Consumed("t", {P0: 5}, topic_id="old", keeps_all=True)

    error = refused(consumed, {P0: Watermark(0, 9, "new")})

    assert "read this topic into another table" in str(error)
    assert "offsets set" not in str(error)


marks = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda t: Watermark(t[0], t[0] + t[1]))
topics = st.dictionaries(st.integers(0, 4).map(Partition), marks, min_size=1)
read = st.dictionaries(st.integers(0, 4).map(Partition), st.integers(0, 70), min_size=1)


@given(read, topics, st.sampled_from(["", "a", "b"]))
def test_the_command_of_an_error_always_lets_the_table_go_on(
    offsets: dict[Partition, int], ends: dict[Partition, Watermark], topic_id: str
) -> None:
    """Whatever is wrong with whichever partitions: one command, and the next plan has no complaint."""
    seen = {p: Watermark(mark.begin, mark.end, "a") for p, mark in ends.items()}
    try:
        check_continues(TOPIC, Consumed("t", offsets, topic_id=topic_id), seen)
    except OffsetError as error:
        is_anew = topic_id == "b"
        _, to = command(error)
        moved = parse_move(to, {} if is_anew else offsets, seen, is_anew=is_anew)
        check_continues(TOPIC, Consumed("t", moved, topic_id="a"), seen)
    else:
        assert all(mark.begin <= offsets.get(p, 0) <= mark.end for p, mark in seen.items())
