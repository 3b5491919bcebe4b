"""Requests to S3 of a commit and of a query, with Hudi's metadata table and without."""

from collections.abc import Callable

import pytest

from tests.places.deployment import Place, outcome
from tests.places.front import Front
from tests.places.record import record_requests
from tests.places.s3 import S3

pytestmark = [pytest.mark.places, pytest.mark.spark, pytest.mark.servers]

LAYOUTS = {
    "2 buckets": "",
    "50 partitions": 'partition_by = ["v"]\nindex = "global_simple"\n',
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_commit_without_the_metadata_table_asks_less_of_s3(
    layout: str, make_place: Callable[..., Place], counted: S3, front: Front
) -> None:
    """A warm commit of a small change, for each layout; reads are counted, too."""
    results = {}
    for metadata in ("false", "true"):
        place = make_place(counted, f"metadata_{metadata}")
        place.create("cow", target=LAYOUTS[layout], hudi=f'"hoodie.metadata.enable" = "{metadata}"\n')
        for _ in range(25):
            place.change()
        assert outcome(place.run()) == ("committed", None)
        for _ in range(2):
            place.change()
            assert outcome(place.run()) == ("committed", None), metadata
        place.change()
        writes = requests(front, lambda place=place: outcome(place.run()))
        reader = place.spark.read.format("hudi").option("hoodie.metadata.enable", metadata)
        reads = requests(front, lambda place=place, reader=reader: reader.load(place.path).collect())
        place.check()
        results[metadata] = {"commit": writes, "query": reads}
    record_requests(layout, results)
    assert sum(results["false"]["commit"].values()) < sum(results["true"]["commit"].values())


def requests(front: Front, work: Callable[[], object]) -> dict[str, int]:
    """Count the requests of some work, by kind."""
    front.requests.clear()
    work()
    return front.counts()
