"""Requests to S3 of a commit and of a query, with Hudi's metadata table and without."""

from collections import Counter
from collections.abc import Callable
from http.client import HTTPConnection

import pytest
from pyarrow.fs import FileSelector

from ingest.hudi.table import HudiTable
from tests.places.deployment import Place, outcome
from tests.places.front import Front, Request
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


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_commit_reads_no_file_of_the_timeline_twice(
    kind: str, make_place: Callable[..., Place], counted: S3, front: Front
) -> None:
    """Nor a file that an earlier commit of the session has read, nor unchanged properties."""
    place = make_place(counted)
    place.create(kind)
    reads = []
    for _ in range(4):
        place.change()
        front.requests.clear()
        assert outcome(place.run()) == ("committed", None)
        reads.append(Counter(filter(None, map(timeline_file, front.requests))))
    assert max(reads[-1].values(), default=0) <= 1, reads[-1]
    assert not set(reads[-1]) & set().union(*reads[:-1])
    place.check()


def test_a_session_sees_what_another_program_has_changed(
    make_place: Callable[..., Place], counted: S3
) -> None:
    """Of files that it has read: a damaged commit and other properties, then both as they were."""
    place = make_place(counted)
    place.create("cow")
    for _ in range(2):
        place.change()
        assert outcome(place.run()) == ("committed", None)
    home = f"{place.path.removeprefix('s3a://')}/.hoodie"
    files = counted.client().get_file_info(FileSelector(f"{home}/timeline"))
    commit = max(file.path for file in files if file.path.endswith(".commit"))
    properties = f"{home}/hoodie.properties"
    contents = {path: read(counted, path) for path in (commit, properties)}

    place.change()
    write(counted, commit, contents[commit][:40])
    write(counted, properties, contents[properties].replace(b"recordkey.fields=id", b"recordkey.fields=v"))
    assert HudiTable(place.spark, place.path).key_columns() == ("v",)
    assert outcome(place.run())[0] == "failed"

    for path, content in contents.items():
        write(counted, path, content)
    assert HudiTable(place.spark, place.path).key_columns() == ("id",)
    assert outcome(place.run()) == ("committed", None)
    place.check()


def test_a_file_of_the_users_is_read_each_time(make_place: Callable[..., Place], counted: S3) -> None:
    """Though its name is that of an instant."""
    place, name = make_place(counted), f"{counted.bucket}/own/20260101000000000.txt"
    for text in ("old", "new"):
        write(counted, name, text.encode())
        files = place.spark.read.format("binaryFile").load(f"s3a://{name}")
        assert [bytes(row["content"]) for row in files.collect()] == [text.encode()]


def timeline_file(request: Request) -> str:
    """Return the path of a request that reads a file of a timeline, or nothing."""
    is_read = request.method == "GET" and not request.is_listing and "/.hoodie/" in request.path
    return request.path if is_read else ""


def read(s3: S3, path: str) -> bytes:
    """Read an object."""
    return _ask(s3, "GET", path)


def write(s3: S3, path: str, content: bytes) -> None:
    """Replace an object.  PyArrow leaves an empty one, and S3Mock asks for no signature."""
    _ask(s3, "PUT", path, content)


def _ask(s3: S3, method: str, path: str, content: bytes | None = None) -> bytes:
    connection = HTTPConnection("127.0.0.1", s3.port, timeout=60)
    try:
        connection.request(method, f"/{path}", content)
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read()
    finally:
        connection.close()


def requests(front: Front, work: Callable[[], object]) -> dict[str, int]:
    """Count the requests of some work, by kind."""
    front.requests.clear()
    work()
    return front.counts()
