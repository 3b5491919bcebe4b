"""A registry that is already running, of any maker with Confluent's API: `REGISTRY=URL make test-places`.

Karapace has no package: start it from its sources, with the suite's broker or any other for its topic.
"""

import json
import os
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from pyspark.sql import SparkSession

from ingest.local.servers import Addresses
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics

URL: Final = os.environ.get("REGISTRY", "")
pytestmark = [
    pytest.mark.places, pytest.mark.spark, pytest.mark.servers,
    pytest.mark.skipif(not URL, reason="REGISTRY names no running registry"),
]  # fmt: skip

FIRST: Final = {"id": "int", "name": nullable("string")}
SECOND: Final = {**FIRST, "phone": nullable("string")}


@pytest.fixture
def addresses(servers: Addresses) -> Addresses:
    """Return the suite's broker with the other registry."""
    return Addresses(servers.bootstrap_servers, URL)


def call(method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    """Send a request to the registry; return status and JSON."""
    data = json.dumps(body).encode() if body is not None else None
    headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
    try:
        with urlopen(Request(URL + path, data, headers, method=method), timeout=30) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def test_a_table_follows_the_versions_of_its_subjects(
    tmp_path: Path, addresses: Addresses, outer_spark: SparkSession
) -> None:
    """Onboarded, run over two versions, planned, and run again."""
    deployment = Deployment(tmp_path, addresses, outer_spark, prefix="reg")
    (topic,) = make_topics(addresses, {"reg.db.dbo.people": FIRST}).values()
    topic.send(Change("c", {"id": 1, "name": "a"}, at=1))
    deployment.onboard([topic.name])
    assert deployment.run().outcome == "done"
    topic.add_version(SECOND)
    topic.send(
        Change("c", {"id": 2, "name": "b", "phone": "1"}, at=2), Change("d", {"id": 1, "name": "a"}, at=3)
    )
    (planned,) = deployment.plan()
    assert [change.kind for change in planned.changes] == ["column-added"]
    assert deployment.run().outcome == "done"
    assert [(row["id"], row["phone"]) for row in deployment.frame("people").collect()] == [(2, "1")]


@pytest.mark.parametrize(
    ("schema_type", "schema"),
    [("JSON", '{"type": "object"}'), ("PROTOBUF", 'syntax = "proto3"; message A { int32 a = 1; }')],
)
def test_subjects_of_another_kind_are_left_out_by_name(
    tmp_path: Path, addresses: Addresses, outer_spark: SparkSession, schema_type: str, schema: str
) -> None:
    """With the subject's version and the type that is allowed."""
    name = f"reg.db.dbo.{schema_type.lower()}"
    status, answer = call(
        "POST", f"/subjects/{name}-value/versions", {"schemaType": schema_type, "schema": schema}
    )
    if status == 422 or status >= 500:
        pytest.skip(f"the registry has no {schema_type}: {answer}")
    deployment = Deployment(tmp_path, addresses, outer_spark, prefix="reg")
    with deployment.session as session:
        (result,) = session.onboard([name])
    assert result.state == "failed"
    assert schema_type in result.reason
    assert "AVRO" in result.reason.upper()
