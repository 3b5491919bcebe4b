"""`ingest_is_json` against Python's own `json`, for any text."""

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
EVENT = '{"after":{"id":1,"v":"\\u00e4\\ud83e\\udd86 \\" \\\\"},"n":[-0.5e+3,NaN,-Infinity,true,null,[],{}]}'
SIGNS = '{}[]",:\\ \n\t\x00\x0b\x1f/eE+-.0123456789uabtrfnsNaIity\ufeff\u2028\xa0é🦆'
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def is_python_json(text: str) -> bool:
    """Tell whether Python reads a text; one constraint more: an escaped surrogate has its other half."""
    try:
        json.dumps(json.loads(text), ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # an encoding error is a ValueError
        return False
    return True


def mutated(text: str, rng: random.Random) -> str:
    """Cut, double, insert or replace a few characters."""
    for _ in range(rng.randint(1, 3)):
        start = rng.randint(0, len(text))
        end = min(len(text), start + rng.choice((0, 0, 1, 1, 2, 8)))
        insert = rng.choice(("", rng.choice(SIGNS), text[start:end] * 2, rng.choice(SIGNS) * 2))
        text = text[:start] + insert + text[end:]
    return text


def is_json(spark: SparkSession, texts: list[str]) -> list[bool]:
    """Ask the function about texts."""
    frame = spark.createDataFrame([(text.encode(),) for text in texts], "t binary").coalesce(1)
    return [row[0] for row in frame.selectExpr("ingest_is_json(cast(t as string))").collect()]


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(values=st.lists(VALUES, min_size=30, max_size=60), seed=st.integers(0, 2**32))
def test_it_reads_what_python_reads_and_refuses_what_python_refuses(
    spark: SparkSession, values: list[object], seed: int
) -> None:
    """Any values, as written and with characters changed; an event, too."""
    rng = random.Random(seed)  # noqa: S311  no secret
    written = [
        json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1))) for value in values
    ]
    texts = [text for text in written if is_python_json(text)]
    texts += [mutated(text, rng) for text in [*texts, *[EVENT] * 200]]
    texts = [text for text in texts if text <= "\ud7ff" or not any("\ud800" <= c <= "\udfff" for c in text)]
    wrong = [
        text
        for text, found in zip(texts, is_json(spark, texts), strict=True)
        if found is not is_python_json(text)
    ]
    assert wrong == []
