"""Topics are found by their subjects, whichever naming strategy made these."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.names import Subject, Topic
from ingest.registry import TopicSubjects, find_topics, key_beside, subject_of
from ingest.registry.naming import spellings

TOPIC = Topic("s-1.dbo.a")
BY_TOPIC = ("s-1.dbo.a-key", "s-1.dbo.a-value")
BY_BOTH = ("s-1.dbo.a-s_1.dbo.a.Key", "s-1.dbo.a-s_1.dbo.a.Envelope")
BY_RECORD = ("s_1.dbo.a.Key", "s_1.dbo.a.Envelope")


def found_in(*subjects: str, held: tuple[str, ...] | None = None) -> tuple[TopicSubjects, ...]:
    """Find the topics of subjects, with what the broker holds."""
    topics = None if held is None else [Topic(name) for name in held]
    return find_topics([Subject(name) for name in subjects], lambda: topics)


@pytest.mark.parametrize("strategy", [BY_TOPIC, BY_BOTH, BY_RECORD])
def test_a_topic_is_found_by_every_strategy(strategy: tuple[str, str]) -> None:
    """With both its subjects; only a record's name needs the broker to tell '-' from '_'."""
    key, value = strategy
    (result,) = found_in(*strategy, held=("other", TOPIC))
    assert result == TopicSubjects(TOPIC, Subject(key), (Subject(value),))
    assert key_beside(Subject(value)) == key


def test_of_several_strategies_the_topics_own_counts_first() -> None:
    """One topic stays one, whatever was registered before its serializer changed."""
    for stored in (None, (TOPIC,)):
        (result,) = found_in(*BY_TOPIC, *BY_BOTH, *BY_RECORD, held=stored)
        assert (result.key, result.values) == (BY_TOPIC[0], (BY_TOPIC[1],))
        (result,) = found_in(*BY_BOTH, *BY_RECORD, held=stored)
        assert (result.key, result.values) == (BY_BOTH[0], (BY_BOTH[1],))


@pytest.mark.parametrize("key", [BY_TOPIC[0], BY_BOTH[0], BY_RECORD[0]])
@pytest.mark.parametrize("value", [BY_TOPIC[1], BY_BOTH[1], BY_RECORD[1]])
def test_keys_and_values_may_follow_different_strategies(key: str, value: str) -> None:
    """Each converter has a setting of its own."""
    assert found_in(key, value, held=(TOPIC,)) == (TopicSubjects(TOPIC, Subject(key), (Subject(value),)),)


def test_without_the_broker_a_records_name_is_taken_and_doubted() -> None:
    """Only where '_' may mean another sign; a topic that the broker lacks is doubted too."""
    (sure,) = found_in("s.dbo.a.Envelope")
    assert (sure.topic, sure.caveat) == ("s.dbo.a", "")
    (doubted,) = found_in(*BY_RECORD)
    assert (doubted.topic, doubted.key) == ("s_1.dbo.a", BY_RECORD[0])
    assert "'_' may replace '-'" in doubted.caveat
    (routed,) = found_in("s.dbo.a.Envelope", held=("elsewhere",))
    assert routed.topic == "s.dbo.a"
    assert "the broker does not have" in routed.caveat


def test_topics_whose_records_have_one_name_share_its_subject() -> None:
    """The strategy's own doing: `a-b` and `a_b` are both `a_b` in Avro's letters."""
    result = found_in("s.a_b.Envelope", held=("s.a-b", "s.a_b"))
    assert result == tuple(
        TopicSubjects(Topic(t), None, (Subject("s.a_b.Envelope"),)) for t in ("s.a-b", "s.a_b")
    )


def test_flattened_rows_are_found_and_envelopes_come_before_them() -> None:
    """ExtractNewRecordState writes the row's own record."""
    for before in ("", "t-"):
        (flat,) = found_in(f"{before}s.dbo.a.Value")
        assert flat.values == (f"{before}s.dbo.a.Value",)
        (both,) = found_in(f"{before}s.dbo.a.Value", f"{before}s.dbo.a.Envelope")
        assert both.values == (f"{before}s.dbo.a.Envelope",)


def test_a_topic_of_several_records_has_all_their_subjects() -> None:
    """As routing several tables into one topic makes it; the topic's name need not be the records'."""
    (result,) = found_in("all-s.dbo.a.Envelope", "all-s.dbo.b.Envelope", "all-s.dbo.a.Key")
    assert result.topic == "all"
    assert result.values == ("all-s.dbo.a.Envelope", "all-s.dbo.b.Envelope")


@pytest.mark.parametrize(
    "name", ["customers", "-key", "com.example.Customer", "s.a.Key", "t-s.a.Key", "a-Value"]
)
def test_a_subject_that_names_no_values_is_not_a_topic(name: str) -> None:
    """Other records, and keys alone."""
    assert found_in(name, held=("s.a", "t", "a", "customers")) == ()


def test_the_broker_is_asked_only_where_a_record_alone_names_a_topic() -> None:
    """A deployment of the topic strategy onboards without one."""

    def refuse() -> None:
        pytest.fail("asked")

    assert len(find_topics([Subject(name) for name in (*BY_TOPIC, *BY_BOTH)], refuse)) == 1


@given(topic=st.from_regex(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,19}", fullmatch=True))
def test_any_topic_is_found_by_the_records_that_it_gives(topic: str) -> None:
    """By topic and record without the broker, by record with it; names are Avro's in every mode."""
    for name in spellings(Topic(topic)):
        by_both, by_record = f"{topic}-{name}.Envelope", f"{name}.Envelope"
        assert [item.topic for item in found_in(by_both)] == [topic]
        assert topic in [item.topic for item in found_in(by_record, held=(topic,))]
    assert [item.topic for item in found_in(subject_of(Topic(topic), "value"))] == [topic]


def test_records_are_spelled_as_debezium_does() -> None:
    """`avro` and `avro_unicode`; of a leading digit both forms that its versions wrote."""
    assert spellings(Topic("a-b_c.1")) == {"a_b_c.1", "a_u002db_u005fc.1"}
    assert spellings(Topic("1-a")) == {"_1_a", "__a", "_u0031_u002da"}
