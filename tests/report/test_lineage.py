"""OpenLineage events of a run: at a real HTTP server and in a file; a server that fails costs no table."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import attrs
import pytest

from ingest.compile.column_versions import ColumnVersion
from ingest.compile.evolve import Evolution, TargetColumn
from ingest.errors import WriteError
from ingest.names import SchemaId, Subject, Topic
from ingest.order.batch_counts import BatchCounts
from ingest.report.lineage import Lineage, dataset_of
from ingest.report.outcome import TableOutcome, failed
from ingest.settings import KafkaSettings, LakeSettings, LineageSettings, Secret, Settings
from ingest.sql.types import parse_ddl
from ingest.tables import Subjects, TableConfig
from ingest.typemap.mapped import Mapped
from tests.feeds import feed

RUN_ID = "0f9c5a30-2b1e-4a77-9d0a-6c1f6a3f3a11"
FEED = feed(TableConfig("orders", Topic("s.dbo.orders"), "sqlserver", subjects=Subjects(value=Subject("v"))))
DONE = TableOutcome("orders", Topic("s.dbo.orders"), "committed", counts=BatchCounts(upserted=5, deleted=2))


@attrs.define
class Receiver:
    """A server of lineage events, with the requests that it got."""

    url: str
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = attrs.Factory(list)
    status: int = 201


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Start a server on loopback."""
    receiver = Receiver("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.requests.append((self.path, dict(self.headers), json.loads(body)))
            self.send_response(receiver.status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield receiver
        server.shutdown()
        thread.join()


def lineage(**values: Any) -> Lineage:
    """Return the events of a run."""
    settings = Settings(
        kafka=KafkaSettings("broker-1:9092,broker-2:9092"),
        lake=LakeSettings("/data/lake"),
        lineage=LineageSettings(**values),
    )
    return Lineage(settings, RUN_ID)


def evolution() -> Evolution:
    """Return columns as a batch compiles them: a key, and a time of day that is stored as text."""
    time_of_day = Mapped("io.debezium.time.MicroTime", "long", parse_ddl("string"), "long")
    begins = ColumnVersion("begins", "begins_at", "c1", time_of_day, (SchemaId(1),))
    key = ColumnVersion("id", "id", "c0", Mapped("", "int", parse_ddl("int"), "int"), (SchemaId(1),))
    keys = (TargetColumn("id", parse_ddl("int"), (key,)),)
    return Evolution(keys, (TargetColumn("begins", parse_ddl("string"), (begins,)),), ())


def test_a_run_is_reported_with_the_origin_of_each_column(receiver: Receiver) -> None:
    """START and COMPLETE have one id, the run as parent, topic and table; COMPLETE has columns and rows."""
    sent = lineage(url=f"{receiver.url}/behind/proxy", api_key=Secret("s3cret"), namespace="shop")
    sent.start(FEED)
    sent.note_columns(FEED, evolution(), {"_cdc_op": parse_ddl("string"), "id": parse_ddl("int")})
    sent.finish(FEED, DONE)

    (path, headers, start), (_, _, complete) = receiver.requests
    assert (path, headers["Authorization"]) == ("/behind/proxy/api/v1/lineage", "Bearer s3cret")
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert start["run"]["runId"] == complete["run"]["runId"] != RUN_ID
    assert start["run"]["facets"]["parent"]["run"]["runId"] == RUN_ID
    assert (start["job"]["namespace"], start["job"]["name"]) == ("shop", "orders")
    (topic,), (output,) = complete["inputs"], complete["outputs"]
    assert (topic["namespace"], topic["name"]) == ("kafka://broker-1:9092", "s.dbo.orders")
    assert [field["name"] for field in topic["facets"]["schema"]["fields"]] == ["id", "begins_at"]
    assert (output["namespace"], output["name"]) == ("file", "/data/lake/orders")
    columns = {field["name"]: field["type"] for field in output["facets"]["schema"]["fields"]}
    assert columns == {"_cdc_op": "string", "id": "int", "begins": "string"}
    origins = {
        name: [(field["field"], field["transformations"][0]["subtype"]) for field in origin["inputFields"]]
        for name, origin in output["facets"]["columnLineage"]["fields"].items()
    }
    assert origins == {"id": [("id", "IDENTITY")], "begins": [("begins_at", "TRANSFORMATION")]}
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 7


def test_a_failure_is_reported_with_its_error_and_without_secrets(tmp_path: Path) -> None:
    """A table that failed before it began has a START, too; an idle one has no event."""
    file = tmp_path / "lineage.jsonl"
    sent = lineage(file=file, api_key=Secret("s3cret"))
    error = WriteError("orders", "refused by s3cret")
    sent.finish(FEED, failed("orders", FEED.topic, error, 1.0))
    sent.finish(FEED, attrs.evolve(DONE, outcome="idle"))

    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert [event["eventType"] for event in events] == ["START", "FAIL"]
    message = events[1]["run"]["facets"]["errorMessage"]["message"]
    assert message == "table orders: refused by ***. Nothing was committed."


@pytest.mark.parametrize("status", [401, 404])
def test_a_server_that_refuses_is_left_alone(receiver: Receiver, status: int) -> None:
    """One request, and no error."""
    receiver.status = status
    sent = lineage(url=receiver.url)
    sent.start(FEED)
    sent.finish(FEED, DONE)
    assert len(receiver.requests) == 1


def test_a_server_out_of_reach_and_a_wrong_folder_fail_no_table(tmp_path: Path) -> None:
    """No error of either reaches the run."""
    for sent in (
        lineage(url="http://127.0.0.1:1", timeout_s=1.0),
        lineage(url="nonsense"),
        lineage(file=tmp_path / "missing" / "lineage.jsonl"),
    ):
        sent.start(FEED)
        sent.finish(FEED, DONE)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/lake/t", ("file", "/lake/t")),
        ("file:///lake/t", ("file", "/lake/t")),
        ("s3a://bucket/lake/t", ("s3://bucket", "lake/t")),
        ("hdfs://host:8020/lake/t", ("hdfs://host:8020", "/lake/t")),
    ],
)
def test_tables_have_the_names_of_the_specification(path: str, name: tuple[str, str]) -> None:
    """As other integrations name the same files, so that both ends of a table meet."""
    assert dataset_of(path) == name
