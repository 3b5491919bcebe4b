"""Subject names are taken apart and put together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.names import Subject, Topic
from ingest.registry import split_subject, subject_of
from ingest.registry.subject import Side, literal_prefix


@given(topic=st.text("ab.-key_value", min_size=1, max_size=12), side=st.sampled_from(["key", "value"]))
def test_a_subject_taken_apart_gives_the_topic_and_side_that_made_it(topic: str, side: Side) -> None:
    """Any topic name survives the round trip, one that ends in -key too."""
    assert split_subject(subject_of(Topic(topic), side)) == (topic, side)


@pytest.mark.parametrize("name", ["customers", "-key", "-value", "com.example.Customer", "a-Value"])
def test_other_naming_strategies_are_not_mistaken_for_topics(name: str) -> None:
    """Record names and bare suffixes have no topic."""
    assert split_subject(Subject(name)) is None


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [("a.b.*", "a.b."), ("a?c*", "a"), ("[ab]*", ""), ("exact", "exact"), ("*", "")],
)
def test_the_literal_prefix_ends_before_the_first_wildcard(pattern: str, prefix: str) -> None:
    """A registry may filter by it."""
    assert literal_prefix(pattern) == prefix
