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


def _set(spark: SparkSession, *pairs: tuple[str, str]) -> list[str | None]:
    return _update(spark, *((document, updated, None, None) for document, updated in pairs))


def test_names_keep_their_place_and_new_ones_come_last(spark: SparkSession) -> None:
    """As in the server, whose documents are ordered."""
    changed = _update(spark, ('{"_id": 1, "a": 2, "b": 3}', '{"c": 4, "a": 5}', ["b"], None))

    assert changed == ['{"_id": 1,"a": 5,"c": 4}']


def test_dotted_paths_lead_into_documents_and_arrays(spark: SparkSession) -> None:
    """The document tells an index from a name."""
    assert _set(
        spark,
        ('{"addr": {"city": "x", "zip": 1}}', '{"addr.city": "y"}'),
        ('{"tags": ["a", "b"]}', '{"tags.1": "z"}'),
        ('{"tags": {"1": "b"}}', '{"tags.1": "z"}'),
        ('{"tags": ["a"]}', '{"tags.3": "z"}'),
        ('{"l": [{"x": 1}, {"x": 2}]}', '{"l.1.x": {"y": [1]}, "l.0.n.m": 0}'),
        ("{}", '{"a.0.b": 1}'),
        ('{"a": 5, "b": null}', '{"a.x": 1, "b.y": 2}'),
        ('{"a": {"$date": 5}}', '{"a.x": 1}'),
        ('{"l": [1, null]}', '{"l.1.x": 2}'),
    ) == [
        '{"addr": {"city": "y","zip": 1}}',
        '{"tags": ["a","z"]}',
        '{"tags": {"1": "z"}}',
        '{"tags": ["a",null,null,"z"]}',
        '{"l": [{"x": 1,"n": {"m": 0}},{"x": {"y": [1]}}]}',
        '{"a": {"0": {"b": 1}}}',
        '{"a": {"x": 1},"b": {"y": 2}}',
        '{"a": {"x": 1}}',
        '{"l": [1,{"x": 2}]}',
    ]


def test_a_name_with_a_dot_is_found_where_no_nested_path_is(spark: SparkSession) -> None:
    """MongoDB 5 allows such names, and its events do not mark them."""
    assert _set(
        spark,
        ('{"a.b": 1}', '{"a.b": 2}'),
        ('{"a.b": 1, "a": {"b": 1}}', '{"a.b": 2}'),
        ('{"a.b": 1, "a": {"c": 1}}', '{"a.b": 2}'),
        ('{"a": {"b.c": {"d": 1}}}', '{"a.b.c.d": 2}'),
        ('{"a.b": {"c": 1}}', '{"a.b.d": 2}'),
        ('{"a": {}}', '{"a.b": 2}'),
    ) == [
        '{"a.b": 2}',
        '{"a.b": 1,"a": {"b": 2}}',
        '{"a.b": 2,"a": {"c": 1}}',
        '{"a": {"b.c": {"d": 2}}}',
        '{"a.b": {"c": 1,"d": 2}}',
        '{"a": {"b": 2}}',
    ]


def test_a_removed_field_is_dropped_and_a_removed_element_becomes_null(spark: SparkSession) -> None:
    """As $unset leaves an array; a missing element has no effect."""
    removed = ["a.b", "l.1", "l.9", "no.such.path", "a.x.y", "d.e"]

    assert _update(
        spark, ('{"a": {"b": 1, "c": 2}, "l": [1, 2, 3], "d.e": 1, "d": {}}', None, removed, None)
    ) == ['{"a": {"c": 2},"l": [1,null,3],"d": {}}']


def test_arrays_are_cut_before_they_are_written(spark: SparkSession) -> None:
    """An element set beyond the new size makes the array longer again."""
    assert _update(
        spark,
        ('{"a": {"l": [1, 2, 3, 4]}}', '{"a.l.2": 9}', None, [("a.l", 1)]),
        ('{"l": [[1, 2], 3]}', None, None, [("l.0", 0), ("l", 5), ("no", 1)]),
    ) == ['{"a": {"l": [1,null,9]}}', '{"l": [[],3]}']


def test_new_values_take_the_spelling_of_the_document(spark: SparkSession) -> None:
    """`updatedFields` is v2 relaxed, and `after` v1 strict."""
    spelling = {
        "5000001009": '{"$numberLong": "5000001009"}',
        "2147483647": "2147483647",
        "-2147483648": "-2147483648",
        "2147483648": '{"$numberLong": "2147483648"}',
        "1.50": "1.50",
        "1.0E10": "1.0E10",
        '{"$numberDouble": "NaN"}': "NaN",
        '{"$numberDouble": "-Infinity"}': "-Infinity",
        '{"$numberDouble": "1.5"}': "1.5",
        '{"$numberInt": "7"}': "7",
        '{"$numberLong": "7"}': '{"$numberLong": "7"}',
        '{"$numberDecimal": "1.20"}': '{"$numberDecimal": "1.20"}',
        '{"$date": "2025-02-13T14:01:37.97Z"}': '{"$date": 1739455297970}',
        '{"$date": {"$numberLong": "-1"}}': '{"$date": -1}',
        '{"$binary": {"base64": "AQI=", "subType": "04"}}': '{"$binary": "AQI=","$type": "04"}',
        '{"$uuid": "12345678-1234-5678-1234-567812345678"}': (
            '{"$binary": "EjRWeBI0VngSNFZ4EjRWeA==","$type": "04"}'
        ),
        '{"$regularExpression": {"pattern": "^a", "options": "i"}}': '{"$regex": "^a","$options": "i"}',
        '{"$timestamp": {"t": 4000000000, "i": 2}}': '{"$timestamp": {"t": 4000000000,"i": 2}}',
        '{"$oid": "65f0c0de00000000000003e8"}': '{"$oid": "65f0c0de00000000000003e8"}',
        '{"$minKey": 1}': '{"$minKey": 1}',
        '{"$date": true}': '{"$date": true}',
        '[{"x": {"$date": "1970-01-01T00:00:00Z"}}, 5000001009, null, true]': (
            '[{"x": {"$date": 0}},{"$numberLong": "5000001009"},null,true]'
        ),
    }

    result = _set(
        spark, *((f'{{"{number}": 0}}', f'{{"{number}": {new}}}') for number, new in enumerate(spelling))
    )

    assert result == [f'{{"{number}": {old}}}' for number, old in enumerate(spelling.values())]


def test_untouched_values_keep_their_text(spark: SparkSession) -> None:
    """No number is rounded, and the driver's bare NaN is read and written."""
    document = (
        '{"a": 0.1000000000000000055511151231257827,"b": 1.0E10,"c": -0.0,"d": NaN,'
        '"e": [Infinity,-Infinity],"f": 123456789012345678901234567890,"g": {"$numberLong": "5"},'
        '"h": "\\"\\\\\\n\\u0001/é中\\ud83d\\ude42"}'
    )

    assert _set(spark, (document, "{}")) == [document]
    assert _update(spark, (document, None, None, None)) == [document]


def test_an_invalid_document_gives_null(spark: SparkSession) -> None:
    """The caller tests for it; there is no document to invent."""
    broken = ["", "{", "[]", "5", '{"a":1} 2', "null", "{'a': 1}"]

    assert _update(spark, (None, '{"a": 1}', None, None)) == [None]
    assert _set(spark, *((text, "{}") for text in broken)) == [None] * len(broken)
    assert _set(spark, *(("{}", text) for text in broken)) == [None] * len(broken)


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
