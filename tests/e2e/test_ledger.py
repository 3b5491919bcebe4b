"""The metadata of a commit, read from Hudi's own files without our reader."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import fastavro
import pytest

from ingest.errors import UsageError
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics
from tests.hudi.conftest import timeline_of

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}


def commits(deployment: Deployment, table: str) -> dict[str, Mapping[str, str]]:
    """Read the extra metadata of a COW table's commits, by instant: Avro, and JSON in version 6."""
    by_instant = {}
    for path in timeline_of(deployment.root / "lake" / table).glob("*.commit"):
        with path.open("rb") as file:
            is_avro = file.read(3) == b"Obj"
            file.seek(0)
            (metadata,) = list(fastavro.reader(file)) if is_avro else (json.load(file),)
        by_instant[path.name[:17]] = metadata["extraMetadata"]
    return dict(sorted(by_instant.items()))


def offsets_in(metadata: Mapping[str, str]) -> Any:
    """Read the offsets that a commit holds."""
    return json.loads(metadata["ingest.next_offsets"])


def test_rows_and_offsets_are_one_commit(make_deployment: Callable[[], Deployment]) -> None:
    """The reported commit holds offsets, schema ids and counters; a move is a commit of its own."""
    deployment = make_deployment()
    topic = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": COLUMNS}, partitions=2)["t"]
    deployment.onboard()
    topic.produce(topic.records([Change("c", {"id": n, "v": "a"}, at=n) for n in (1, 2, 3)]))
    topic.produce(topic.records([Change("c", {"id": 4, "v": "a"}, at=4)]), partition=1)

    (first,) = deployment.run(max_offsets=3).tables
    (second,) = deployment.run().tables

    metadata_by_instant = commits(deployment, "t")
    assert list(metadata_by_instant) == [first.instant, second.instant]
    assert [offsets_in(extra) for extra in metadata_by_instant.values()] == [
        {"0": 2, "1": 1},
        {"0": 3, "1": 1},
    ]
    for outcome, metadata in zip((first, second), metadata_by_instant.values(), strict=True):
        assert json.loads(metadata["ingest.schema_ids"]) == [topic.last_id]
        counters = json.loads(metadata["ingest.counters"])
        assert counters == {"read": outcome.counts.read, "upserted": outcome.counts.upserted,
                            "deleted": 0, "superseded": 0}  # fmt: skip
    assert second.to_json()["offsets"] == {"from": {"0": 2, "1": 1}, "to": {"0": 3, "1": 1}}

    moved = deployment.session.move_offsets("t", "0=1")

    instant, metadata = list(commits(deployment, "t").items())[-1]
    assert moved.last is not None
    assert moved.last.instant == instant
    assert offsets_in(metadata) == {"0": 1, "1": 1}
    assert metadata["ingest.kind"] == "set-offsets"
    assert metadata["ingest.note"] == "moved to 0=1; was 0=3,1=1"
    assert moved.to_json()["note"] == metadata["ingest.note"]
    assert deployment.run().tables[0].counts.read == 2
    assert deployment.frame("t").count() == 4


def test_offsets_that_the_topic_does_not_have_are_refused(make_deployment: Callable[[], Deployment]) -> None:
    """The error lists the allowed offsets, and no commit is made."""
    deployment = make_deployment()
    topic = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": COLUMNS})["t"]
    deployment.onboard()
    topic.send(Change("c", {"id": 1, "v": "a"}, at=1))
    with pytest.raises(UsageError, match="does not have a commit yet"):
        deployment.session.move_offsets("t", "earliest")
    deployment.run()

    for move, words in {
        "0=2": "Allowed: 0 to 1",
        "1=0": "Allowed: partitions 0=0 to 1",
        "0": "Give earliest, latest",
        "0=-1": "Give earliest, latest",
        "yesterday": "Give earliest, latest",
    }.items():
        with pytest.raises(UsageError) as refused:
            deployment.session.move_offsets("t", move)
        assert words in str(refused.value)
    assert len(commits(deployment, "t")) == 1
