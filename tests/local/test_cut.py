"""Which messages are due, where they go, and what their bytes become."""

from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import FixtureError, UsageError
from ingest.local.cut import Rewriting, cut, murmur2, partition, read_id, select, skip_present
from ingest.local.fixture import Message, RecordedSchema, RecordedTopic, Recording
from ingest.names import SchemaId, Subject, Topic
from ingest.registry import Reference

V1, V2, SHARED, POINT = SchemaId(7), SchemaId(8), SchemaId(9), SchemaId(10)


def framed(schema_id: int, body: bytes = b"body") -> bytes:
    """Frame a body as Confluent's serializers do."""
    return b"\0" + schema_id.to_bytes(4, "big") + body


def message(offset: int, value: bytes | None, key: bytes | None = b"k", partition: int = 0) -> Message:
    """Build a message."""
    return Message(partition, offset, 1000 + offset, (), key, value)


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """Give a recording of two topics; `a-value` has two versions, and refers to a shared schema."""
    point = (Reference("Point", Subject("point"), 2),)
    return Recording(
        tmp_path,
        tuple(RecordedTopic(Topic(name), 1, tmp_path / name) for name in ("a", "b")),
        (
            RecordedSchema(Subject("a-key"), 1, SHARED),
            RecordedSchema(Subject("a-value"), 1, V1, references=point),
            RecordedSchema(Subject("a-value"), 2, V2),
            RecordedSchema(Subject("b-key"), 1, SHARED),
            RecordedSchema(Subject("point"), 2, POINT),
        ),
    )


def rewriting(recording: Recording, **ids: int) -> Rewriting:
    """Rewrite the recording's ids as given."""
    subjects = frozenset(schema.subject for schema in recording.schemas)
    return Rewriting({SchemaId(int(old[1:])): SchemaId(new) for old, new in ids.items()}, subjects)


def test_without_options_everything_is_selected(recording: Recording) -> None:
    """All topics, all schemas, nothing that ends a topic early."""
    chosen = select(recording, (), None)
    assert (chosen.topics, chosen.schemas) == (recording.topics, recording.schemas)
    assert chosen.later == frozenset()


def test_a_version_limit_leaves_later_versions_out_but_not_their_references(recording: Recording) -> None:
    """`point` has version 2, yet `a-value` 1 could not be registered without it."""
    chosen = select(recording, (), 1)
    assert {schema.id for schema in chosen.schemas} == {V1, SHARED, POINT}
    assert chosen.later == {V2}


def test_a_topic_pattern_leaves_the_other_topics_subjects_out(recording: Recording) -> None:
    """Only `b` is loaded, so nobody should find `a` in the registry."""
    chosen = select(recording, ("b*",), None)
    assert [topic.name for topic in chosen.topics] == ["b"]
    assert [schema.subject for schema in chosen.schemas] == ["b-key", "point"]


def test_a_pattern_without_a_match_is_an_error_even_next_to_one_with_matches(recording: Recording) -> None:
    """The message says what there is."""
    with pytest.raises(UsageError, match=r"no topic c\. It has a, b"):
        select(recording, ("a", "c"), None)


def test_a_topic_ends_before_its_first_message_of_a_later_version() -> None:
    """Also when the version before it returns afterwards: a prefix, not a filter."""
    values = [framed(V1), None, framed(V2), framed(V1)]
    due = cut((message(n, value) for n, value in enumerate(values)), frozenset({V2}), None)
    assert [entry.offset for entry in due] == [0, 1]


def test_a_limit_counts_messages() -> None:
    """Tombstones count too."""
    due = cut((message(n, None) for n in range(9)), frozenset(), 3)
    assert [entry.offset for entry in due] == [0, 1, 2]


@pytest.mark.parametrize("payload", [None, b"", b"\0\0\0\0", b"\1" + b"\0" * 16, b'{"a": 1}'])
def test_only_confluent_framing_has_a_schema_id(payload: bytes | None) -> None:
    """Magic 1 is a GUID; fewer than five bytes are not a frame."""
    assert read_id(payload) is None


def test_key_and_value_get_the_registrys_ids_and_keep_their_bodies(recording: Recording) -> None:
    """Four bytes change, and no others."""
    old = message(0, framed(V1, b"\0\xff"), framed(SHARED, b""))
    new = rewriting(recording, _7=70_000, _9=3).rewrite(recording.topics[0], old)
    assert new == attrs.evolve(old, value=framed(70_000, b"\0\xff"), key=framed(3, b""))


@pytest.mark.parametrize("payload", [None, b"", b"\0\0\0", b"\1" + b"\7" * 16, b"plain"])
def test_unframed_messages_stay_byte_for_byte(recording: Recording, payload: bytes | None) -> None:
    """JSON, GUID framing, truncated payloads, tombstones."""
    old = message(0, payload, payload)
    assert rewriting(recording).rewrite(recording.topics[0], old) == old


def test_an_unknown_id_on_a_side_with_a_subject_names_the_record(recording: Recording) -> None:
    """Left alone, it would mean another schema of the new registry."""
    with pytest.raises(FixtureError, match=r"a-0-5 value: names schema id 99, which the recording"):
        rewriting(recording, _9=1).rewrite(recording.topics[0], message(5, framed(99)))


def test_a_payload_without_a_subject_is_not_avro(recording: Recording) -> None:
    """A long key starts with a zero byte too; topic `b` has no value subject here."""
    old = message(0, (12345).to_bytes(8, "big"), framed(SHARED))
    assert rewriting(recording, _9=9).rewrite(recording.topics[1], old) == old


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_keys_hash_as_kafkas_own_tests_say(key: bytes, hashed: int) -> None:
    """The cases of kafka-clients' UtilsTest.testMurmur2."""
    assert murmur2(key) == hashed % 2**32


def test_the_recorded_number_of_partitions_keeps_each_messages_own() -> None:
    """Even where the default partitioner would choose another."""
    entries = [message(n, None, b"same", partition=n % 3) for n in range(6)]
    assert list(partition(entries, 3, 3)) == entries


def test_another_number_of_partitions_keeps_a_key_together_and_spreads_null_keys() -> None:
    """Both decided by the message alone, so that a second load decides alike."""
    entries = [message(n, None, None if n % 2 else b"same", partition=n % 3) for n in range(12)]
    placed = list(partition(entries, 3, 2))
    assert len({entry.partition for entry in placed if entry.key}) == 1
    assert {entry.partition for entry in placed} <= {0, 1}
    assert placed == list(partition(entries, 3, 2))


@given(
    keys=st.lists(st.one_of(st.none(), st.binary(max_size=3)), max_size=40),
    partitions=st.integers(1, 4),
    stops=st.lists(st.integers(0, 40), max_size=4),
)
def test_any_series_of_slices_gives_the_topic_of_one_load(
    keys: list[bytes | None], partitions: int, stops: list[int]
) -> None:
    """Whatever was loaded before, a load continues where each partition ends."""
    recorded = [message(n, b"v", key, partition=n % 3) for n, key in enumerate(keys)]
    topic: dict[int, list[Message]] = {}
    for stop in [*stops, None]:
        stored = {partition: len(entries) for partition, entries in topic.items()}
        due = cut(recorded, frozenset(), stop)
        for entry in skip_present(partition(due, 3, partitions), stored):
            topic.setdefault(entry.partition, []).append(entry)
    whole = list(partition(recorded, 3, partitions))
    assert sorted((e for part in topic.values() for e in part), key=lambda e: e.offset) == whole
    assert all(part == sorted(part, key=lambda e: e.offset) for part in topic.values())
