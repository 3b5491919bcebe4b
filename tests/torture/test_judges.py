"""The judges of the long harnesses are judged first: they find every error."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from ingest.testing.servers import Memory
from torture.corpus import Corpus, corpora
from torture.lake import stage_of
from torture.message_judge import Outcome, judge
from torture.message_reader import read
from torture.mutations import mutate
from torture.position_judge import position
from torture.scene import Scene, build_scene
from torture.table_judge import differences


@pytest.fixture(scope="module")
def scene() -> Scene:
    """Make a topic in memory."""
    return build_scene(Memory(), "torture.db.dbo.judged", 400, seed=1)


def holding(scene: Scene) -> dict[str, Any]:
    """Return a worker's report of a correct table."""
    expected = scene.wanted(scene.ends)
    return {
        "offsets": dict(scene.ends),
        "rows": [dict(row) for row in expected.rows.values()],
        "rejects": sorted(expected.rejects),
    }


def test_a_right_table_is_right(scene: Scene) -> None:
    """And the topic has all that makes it hard."""
    holds = holding(scene)
    assert differences(scene, holds, at_end=True) == []
    assert len(holds["rows"]) > 100
    assert len(holds["rejects"]) > 3
    assert len(scene.schemas) == 5


def test_a_table_that_stops_before_the_end_is_wrong_there(scene: Scene) -> None:
    """Right at its offsets, as a killed run leaves it; not where nobody killed it."""
    half = {partition: end // 2 for partition, end in scene.ends.items()}
    expected = scene.wanted(half)
    rows = [dict(row) for row in expected.rows.values()]
    holds = {
        "offsets": {str(item): end for item, end in half.items()},
        "rows": rows,
        "rejects": expected.rejects,
    }
    assert differences(scene, holds) == []
    (wrong,) = differences(scene, holds, at_end=True)
    assert wrong.startswith("stopped at")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda holds: holds["rows"].pop(), "is missing"),
        (lambda holds: holds["rows"].append(holds["rows"][0]), "is there twice"),
        (lambda holds: holds["rows"].append({"id": "-1"}), "is one too many"),
        (lambda holds: holds["rows"][3].update(name="x"), "expected {"),
        (lambda holds: holds["rejects"].pop(), "rejects at"),
        (lambda holds: holds["rejects"].append(holds["rejects"][0]), "rejects at"),
        (lambda holds: holds["offsets"].update({0: 10}), "is one too many"),
    ],
    ids=["missing", "doubled", "too many", "cell", "reject missing", "reject doubled", "offsets"],
)
def test_a_wrong_table_is_wrong(scene: Scene, harm: Callable[[Any], Any], said: str) -> None:
    """One row, one cell, one reject, or offsets that are not those of the rows."""
    holds = holding(scene)
    harm(holds)
    assert said in "\n".join(differences(scene, holds))


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Load one recorded topic."""
    (result,) = corpora(("sqlserver:sqs.testDB.dbo.customers",))
    return result


def taken(corpus: Corpus) -> Outcome:
    """Return what a right decoder makes of the first message that is not a delete."""
    key, value = corpus.messages[0]
    keyed, event = read(corpus, key).content, read(corpus, value).content
    (name,) = [v.field for v in corpus.compiled.row_variants if v.column == "first_name"]
    row = {v.field: None for v in corpus.compiled.row_variants}
    names = ("p0", "p1", "p2", "p3", "p4")
    return Outcome(
        offset=0,
        kind="change",
        rejected=False,
        op=event["op"],
        sort_key=dict(zip(names, position("sqlserver", event["op"], event["source"], 0), strict=True)),
        source_ms=event["source"]["ts_ms"],
        k=keyed,
        row={**row, name: event["after"]["first_name"]},
        reason=None,
        error=None,
    )


def test_a_wrong_value_is_found(corpus: Corpus) -> None:
    """A column that became null, another key, another operation; and what only one decoder reads."""
    right, message = taken(corpus), corpus.messages[0]
    assert "row.last_name" in judge(corpus, message, right)
    assert "first_name" not in judge(corpus, message, right)
    assert "key.id" in judge(corpus, message, attrs.evolve(right, k={"id": -7}))
    assert "op and time" in judge(corpus, message, attrs.evolve(right, op="u", source_ms=1))
    assert "independent decoder" in judge(corpus, (message[0], message[1][:-1]), right)
    assert "without a reason" in judge(corpus, message, attrs.evolve(right, rejected=True))


def test_another_position_is_found(corpus: Corpus) -> None:
    """And a change that became a message, as one flipped bit makes a truncate of a delete."""
    right, message = taken(corpus), corpus.messages[0]
    moved = attrs.evolve(right, sort_key={**right.sort_key, "p4": 1})
    assert judge(corpus, message, moved).startswith("at (")
    key, value = message
    event = read(corpus, value)
    broken = value.replace(event.content["source"]["commit_lsn"].encode(), b"p0000025:00000d98:0002")
    assert "taken, with commit_lsn" in judge(corpus, (key, broken), right)
    assert "a message of op" in judge(corpus, message, attrs.evolve(right, kind="message"))


def test_a_change_that_is_lost_is_found(corpus: Corpus) -> None:
    """Its schema id became that of a transaction: ignored only where the bytes are one."""
    key, value = corpus.messages[0]
    (schema_id,) = [item for item, kind in corpus.kinds.items() if kind == "transaction"]
    corrupt = b"\0" + schema_id.to_bytes(4, "big") + value[5:]
    ignored = attrs.evolve(taken(corpus), kind="transaction", op=None)
    assert "independent decoder" in judge(corpus, (key, corrupt), ignored)
    rejected = attrs.evolve(ignored, kind="change", rejected=True, reason="unreadable", error="x")
    assert judge(corpus, (key, corrupt), rejected) == ""
    assert any(value[1:5] == corrupt[1:5] for value in _corrupt_values(corpus))


def _corrupt_values(corpus: Corpus) -> list[bytes]:
    import random  # noqa: PLC0415  for this alone

    dice = random.Random(7)  # noqa: S311  damage, no secret
    built = [mutate(dice, corpus)[1][1] for _ in range(2_000)]
    return [item for item in built if item]


def test_a_tombstone_with_an_unreadable_key_is_found(corpus: Corpus) -> None:
    """Unless it is rejected: a delete may be behind it."""
    key, _ = corpus.messages[0]
    tombstone = attrs.evolve(taken(corpus), kind="tombstone", op="tombstone", source_ms=None, row=None)
    assert judge(corpus, (key, None), tombstone) == ""
    assert "of the key" in judge(corpus, (key[:-1], None), tombstone)
    assert "neither key nor value" in judge(corpus, (None, None), tombstone)


def test_the_same_seed_spoils_in_the_same_way(corpus: Corpus) -> None:
    """So that a failure can be repeated."""
    import random  # noqa: PLC0415  for this alone

    item, two = (
        [mutate(dice, corpus) for _ in range(300)]
        for dice in (random.Random(5), random.Random(5))  # noqa: S311
    )
    assert item == two
    assert len({name for name, _ in item}) > 10


@pytest.mark.parametrize(
    ("path", "stage"),
    [
        ("cow/.hoodie/timeline/20260101000000000.inflight", "cow: commit.inflight"),
        ("mor/.hoodie/timeline/20260101000000000.deltacommit.requested", "mor: deltacommit.requested"),
        ("cow/.hoodie/timeline/20260101000000000_20260101000000001.commit", "cow: commit"),
        ("mor/.hoodie/20260101000000000.deltacommit", "mor: deltacommit"),
        ("_rejects/cow/.hoodie/.temp/20260101000000000/MARKERS0", "cow's rejects: marker"),
        ("mor/.f1_1.log.1_0-1-1", "mor: log file"),
        ("cow/f1_0-1-1_20260101000000000.parquet", "cow: data file"),
        ("cow/.hoodie/timeline/.20260101000000000.inflight.crc", ""),
    ],
)
def test_moments_are_taken_from_the_files(path: str, stage: str) -> None:
    """As Hudi 1.x names them, in tables of version 6 too."""
    assert stage_of(path) == stage
