"""Corrupt payloads through the whole decode path: each equals an independent decoder's, or is rejected.

Every message of a topic is decoded, judged and explained in one Spark job, folded and counted in another:
none may fail.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from ingest.decode.events import decode_events, explain_rejects
from ingest.order.latest import latest_by_key
from ingest.order.models import count_batch
from ingest.run.batch.keys import with_key_rules
from torture.corpus import Corpus, Message, corpora
from torture.figures import Figures
from torture.message_judge import Outcome, judge
from torture.message_reader import is_readable
from torture.mutations import mutate

MESSAGE: Final = "partition int, offset bigint, key binary, value binary"
NAMES: Final = tuple(field.name for field in attrs.fields(Outcome))
SHOWN: Final = 10


def fuzz(spark: SparkSession, payloads: int, seed: int, names: tuple[str, ...] = ()) -> Figures:
    """Corrupt a number of payloads, spread over all topics; return the figures."""
    figures, chosen = Figures(), list(corpora(names))
    for corpus in chosen:
        fuzz_topic(spark, corpus, -(-payloads // len(chosen)), seed, figures)
    return figures


def fuzz_topic(spark: SparkSession, corpus: Corpus, count: int, seed: int, figures: Figures) -> None:
    """Corrupt payloads of one topic."""
    dice = random.Random(f"{seed} {corpus.name}")  # noqa: S311  damage, no secret
    built = [mutate(dice, corpus) for _ in range(count)]
    messages = [message for _, message in built]
    before = len(figures.wrong)
    result = outcomes(spark, corpus, messages)
    for (mutation, message), outcome in zip(built, result, strict=True):
        count_one(figures, mutation, outcome)
        if outcome.reason == "unreadable":
            figures.counts["stricter"] += is_readable(corpus, message)
        if wrong := judge(corpus, message, outcome):
            figures.wrong.append(f"{corpus.name}, {mutation}: {wrong}"[:600])
        elif mutation == "unchanged" and outcome.rejected and outcome.reason != "conversion":
            # Infinite dates are recorded too, which a table refuses unless its file says otherwise.
            figures.wrong.append(f"{corpus.name}: as recorded, and rejected: {outcome.error}")
    figures.counts["topics"] += 1
    for item in figures.wrong[before : before + SHOWN]:
        print(f"WRONG {item}", flush=True)
    if len(figures.wrong) > before + SHOWN:
        print(f"WRONG {corpus.name}: {len(figures.wrong) - before} in all", flush=True)


def count_one(figures: Figures, mutation: str, outcome: Outcome) -> None:
    """Count an outcome."""
    figures.counts["payloads"] += 1
    figures.kinds["mutations"][mutation.removeprefix("key: ")] += 1
    if outcome.rejected:
        figures.kinds["reasons"][outcome.reason or "none"] += 1
    fate = "rejected" if outcome.rejected else "taken" if outcome.kind == "change" else "ignored"
    figures.counts[fate] += 1


def outcomes(spark: SparkSession, corpus: Corpus, messages: Sequence[Message]) -> Iterator[Outcome]:
    """Take messages through the decode path, in their order; fold and count them too."""
    compiled = with_key_rules(corpus.compiled)
    rows = [(0, n, _array(key), _array(value)) for n, (key, value) in enumerate(messages)]
    frame = spark.createDataFrame(rows, MESSAGE).repartition(2).persist()
    try:
        events = decode_events(frame, compiled)
        why = explain_rejects(frame, compiled).select("offset", "reason", "error")
        judged = _readable(events).join(why, "offset").orderBy("offset").collect()
        counts = count_batch(latest_by_key(events, compiled), compiled)
        assert counts.read == len(messages)
        assert counts.rejected == sum(item.rejected for item in judged)
        for row in judged:
            item = row.asDict(recursive=True)
            yield Outcome(**{name: item[name] for name in NAMES})
    finally:
        frame.unpersist()


def _array(payload: bytes | None) -> bytearray | None:
    return None if payload is None else bytearray(payload)


def _readable(events: DataFrame) -> DataFrame:
    """Give instants as microseconds, so that no zone of this process touches them; nothing of rejects."""
    kinds = {name: events.schema[name].dataType for name in ("k", "row")}
    return events.selectExpr(
        "offset", "kind", "rejected", "op", "sort_key", "source_ms",
        *(f"if(rejected, null, {_micros(name, kind)}) as {name}" for name, kind in kinds.items()),
    )  # fmt: skip


def _micros(value: str, kind: Any, depth: int = 0) -> str:
    match kind:
        case T.TimestampType():
            return f"unix_micros({value})"
        case T.ArrayType() if "timestamp" in kind.simpleString().replace("timestamp_ntz", ""):
            inner = f"e{depth}"
            return f"transform({value}, {inner} -> {_micros(inner, kind.elementType, depth + 1)})"
        case T.StructType():
            parts = (f"'{f.name}', {_micros(f'{value}.`{f.name}`', f.dataType, depth)}" for f in kind.fields)
            return f"if({value} is null, null, named_struct({', '.join(parts)}))"
        case _:
            return value
