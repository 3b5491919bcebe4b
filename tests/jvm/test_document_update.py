"""An updateDescription gives the document that MongoDB has after it."""

import json
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

RECORDED = Path(__file__).with_name("recorded_updates.jsonl")
FIELDS = "updated:string,removed:array<string>,truncated:array<struct<field:string,size:int>>"
SCHEMA = f"struct<document:string,{FIELDS}>"

Case = tuple[str | None, str | None, list[str] | None, list[tuple[str, int]] | None]


def _update(spark: SparkSession, *cases: Case) -> list[str | None]:
    frame = spark.createDataFrame(list(cases), SCHEMA).coalesce(1)
    call = "ingest_document_update(document, updated, removed, truncated)"
    return [row[0] for row in frame.selectExpr(call).collect()]


def test_recorded_updates_give_the_documents_of_the_source(spark: SparkSession) -> None:
    """Of the recorded streams: one line a document's life, from a full document to the next or to its end.

    A lookup may show a later state, so it has to be that of its event or of a later one of the line.
    """
    lives = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    states = _fold(spark, lives)

    for life, reached in zip(lives, states, strict=True):
        for at, lookup in enumerate(life["lookups"]):
            assert lookup is None or lookup in reached[at:] or life["final"] is None
        if life["final"] is not None:
            assert json.loads(reached[-1]) == json.loads(life["final"])
    pairs = [zip(life["lookups"], reached, strict=True) for life, reached in zip(lives, states, strict=True)]
    assert sum(lookup == state for life in pairs for lookup, state in life) > 100  # byte for byte


def _fold(spark: SparkSession, lives: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Apply each life's changes one after another; all states between."""
    rows = [(life["document"], json.dumps(life["changes"])) for life in lives]
    latest_by_key = (
        "transform(sequence(1, size(changes)), n -> aggregate(slice(changes, 1, n), document, (d, c) -> "
        "ingest_document_update(d, c.updated, c.removed, c.truncated)))"
    )
    frame = spark.createDataFrame(rows, "document string, text string").coalesce(1)
    parsed = frame.selectExpr("document", f"from_json(text, 'array<struct<{FIELDS}>>') changes")
    return [list(row[0]) for row in parsed.selectExpr(latest_by_key).collect()]


NAMES = st.sampled_from(["a", "b", "0", "1"])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-(2**31), 2**31 - 1), st.text(max_size=4))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(".".join)
CASES = st.tuples(
    st.dictionaries(NAMES, VALUES, max_size=4),
    st.dictionaries(PATHS, VALUES, max_size=2),
    st.lists(PATHS, max_size=2),
    st.lists(st.tuples(PATHS, st.integers(0, 3)), max_size=1),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CASES, min_size=10, max_size=25))
def test_equals_a_referee(spark: SparkSession, cases: list[tuple[Any, ...]]) -> None:
    """Another implementation, recursive over Python's own values, for whatever document and change."""
    result = _update(spark, *((json.dumps(d), json.dumps(u), removed, cut) for d, u, removed, cut in cases))

    for (document, updated, removed, truncated), text in zip(cases, result, strict=True):
        expected = deepcopy(document)
        for path, size in truncated:
            expected = _at(expected, path.split("."), lambda old, size=size: _cut(old, size))
        for path in removed:
            expected = _without(expected, path.split("."))
        for path, value in updated.items():
            expected = _with(expected, path.split("."), value)
        assert text is not None
        assert json.dumps(json.loads(text)) == json.dumps(expected)  # the order of names, too


def _cut(old: Any, size: int) -> Any:
    return old[:size] if isinstance(old, list) else old


def _at(node: Any, steps: list[str], change: Any) -> Any:
    if not steps:
        return change(node)
    if isinstance(node, dict):
        return {name: _at(v, steps[1:], change) if name == steps[0] else v for name, v in node.items()}
    if isinstance(node, list):
        return [_at(v, steps[1:], change) if str(at) == steps[0] else v for at, v in enumerate(node)]
    return node


def _without(node: Any, steps: list[str]) -> Any:
    if len(steps) > 1:
        return _at(node, steps[:1], lambda child: _without(child, steps[1:]))
    if isinstance(node, dict):
        return {name: value for name, value in node.items() if name != steps[0]}
    return _at(node, steps, lambda _: None)


def _with(node: Any, steps: list[str], value: Any) -> Any:
    if not steps:
        return value
    if isinstance(node, list):
        if not steps[0].isdigit():
            return node
        size = max(len(node), int(steps[0]) + 1)
        padded = node + [None] * (size - len(node))
        return [_with(v, steps[1:], value) if at == int(steps[0]) else v for at, v in enumerate(padded)]
    fields = node if isinstance(node, dict) else {}
    return {**fields, steps[0]: _with(fields.get(steps[0]), steps[1:], value)}
