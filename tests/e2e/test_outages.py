"""Unreachable services are temporary, wrong answers permanent; each is one line, and affects one table."""

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest import Session
from ingest.errors import (
    BrokerUnreachableError,
    IngestError,
    NoRegistryError,
    RegistryRefusedError,
    RegistryUnreachableError,
    RetryableError,
    SchemaError,
    WriteError,
)
from ingest.local.servers import down, status, up
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics
from tests.e2e.front import Answer, Play, front_of, only, saying
from tests.e2e.tablefiles import allow_rejects

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}
WIDER = {**COLUMNS, "w": nullable("int")}
NOWHERE = "127.0.0.1:1"
"""A port that nothing listens on."""


def with_settings(deployment: Deployment, **values: str) -> Session:
    """Open the deployment with other addresses."""
    overrides = {key.replace("__", "."): value for key, value in values.items()}
    return Session.open(deployment.root / "ingest.toml", overrides=overrides, spark=deployment.spark)


def half_a_schema(path: str, answer: Answer) -> Answer:
    """Truncate the text of a version's schema in an otherwise valid answer."""
    if "/versions/" not in path:
        return answer
    body = json.loads(answer.body)
    return attrs.evolve(answer, body=json.dumps({**body, "schema": body["schema"][:90]}).encode())


ANSWERS: Final[Mapping[str, tuple[Play, type[IngestError], str]]] = {
    "no login": (saying(401, "who are you?"), RegistryRefusedError, "HTTP 401: who are you?"),
    "in trouble": (saying(500, "no leader"), RegistryUnreachableError, "HTTP 500: no leader"),
    "page": (
        lambda _, __: Answer(200, b"<html><body>Please log in</body></html>"),
        NoRegistryError,
        "the answer is not a schema registry's",
    ),
    "cut off": (
        lambda _, answer: attrs.evolve(answer, is_cut=True),
        RegistryUnreachableError,
        "versions of ",
    ),
    "silent": (lambda _, __: None, RegistryUnreachableError, "no whole answer within 0.3 s"),
    "rubbish": (half_a_schema, SchemaError, "is not JSON"),
    "in trouble meanwhile": (
        only("/schemas/ids/", saying(503, "going down")),
        RegistryUnreachableError,
        "HTTP 503: going down",
    ),
}
"""Answers of a registry, the error class of each, and the error's text; only a refusal is permanent."""


def test_a_failing_registry_writes_nothing_and_the_next_run_continues(
    make_deployment: Callable[[], Deployment],
) -> None:
    """Each failure has its exit code and one line, and writes nothing; a slow registry only takes longer.

    One message names a schema id outside the table's subject: it is requested after the others are decoded,
    and a failing registry does not turn it into a reject.
    """
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": COLUMNS})
    deployment.onboard()
    elsewhere = topics["t"].version(WIDER, subject=f"{deployment.prefix}.elsewhere-value")
    first = next(iter(topics["t"].versions))
    topics["t"].send(Change("c", {"id": 1, "v": "a"}, at=1), schema_id=first)
    topics["t"].send(Change("c", {"id": 2, "v": "b", "w": 1}, at=2), schema_id=elsewhere)

    with front_of(deployment.servers.registry_url) as front:
        quick = {"registry__url": front.url, "registry__timeout_s": "0.3", "registry__retries": "0"}
        for name, (play, kind, message) in ANSWERS.items():
            front.play = play
            report = with_settings(deployment, **quick).run()
            (outcome,) = report.tables
            text = str(outcome.error)
            assert isinstance(outcome.error, kind), f"{name}: {text}"
            assert message in text, name
            assert "\n" not in text, name
            code = 75 if issubclass(kind, RetryableError) else 1
            assert (report.exit_code, outcome.instant) == (code, None), name
            assert not (deployment.root / "lake" / "t").exists(), name
        front.play = slowly
        assert with_settings(deployment, **{**quick, "registry__timeout_s": "5"}).run().exit_code == 0
    assert [row.w for row in deployment.frame("t").orderBy("id").collect()] == [None, 1]


def slowly(_: str, answer: Answer) -> Answer:
    """Answer after a delay."""
    time.sleep(0.4)
    return answer


def test_servers_that_are_down_are_temporary(make_deployment: Callable[[], Deployment]) -> None:
    """Registry and broker at the start of a run: 75, one line with the address, nothing written."""
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": COLUMNS})
    deployment.onboard()
    topics["t"].send(Change("c", {"id": 1, "v": "a"}, at=1))

    report = with_settings(deployment, registry__url=f"http://{NOWHERE}").run()
    (outcome,) = report.tables
    assert isinstance(outcome.error, RegistryUnreachableError), outcome.error
    assert (outcome.outcome, report.outcome, report.exit_code) == ("temporary", "temporary", 75)
    assert f"http://{NOWHERE}" in str(outcome.error)
    assert "\n" not in str(outcome.error)
    session = with_settings(deployment, kafka__bootstrap_servers=NOWHERE)
    with pytest.raises(BrokerUnreachableError, match=NOWHERE) as unreachable:
        session.run()
    assert unreachable.value.exit_code == 75

    assert not (deployment.root / "lake" / "t").exists()
    assert deployment.run().exit_code == 0


def test_a_schema_registered_late_is_applied_by_replay(
    make_deployment: Callable[[], Deployment],
) -> None:
    """Its records are rejected; after registration, runs apply new records and a replay the old ones."""
    deployment = make_deployment()
    topic = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": COLUMNS})["t"]
    deployment.onboard()
    allow_rejects(deployment)
    early = topic.current
    # The registry counts ids: the next registration gets this one.
    late = topic.register(f"{deployment.prefix}.probe-value", probe(deployment.prefix)) + 1
    topic.versions[late] = WIDER
    topic.send(Change("c", {"id": 1, "v": "a"}, at=1), schema_id=early)
    topic.send(Change("c", {"id": 2, "v": "b", "w": 1}, at=2), schema_id=late)

    report = deployment.run()

    (reject,) = deployment.session.rejects("t").records
    assert (report.exit_code, report.tables[0].counts.rejected) == (0, 1)
    assert (reject.offset, reject.reason, reject.schema_id) == (1, "unknown-schema", late)
    assert str(late) in reject.error
    assert topic.version(WIDER) == late
    topic.send(Change("c", {"id": 3, "v": "c", "w": 2}, at=3))
    assert deployment.run().exit_code == 0
    assert deployment.session.replay("t").resolved == 1
    rows = deployment.frame("t").orderBy("id").collect()
    assert [(row.id, row.v, row.w) for row in rows] == [(1, "a", None), (2, "b", 1), (3, "c", 2)]


def probe(name: str) -> dict[str, Any]:
    """Return a schema that is not registered."""
    return {"type": "record", "name": f"Probe_{name}", "fields": []}


def test_an_impossible_lake_path_is_permanent(
    make_deployment: Callable[[], Deployment], tmp_path: Path
) -> None:
    """A folder below a file: a retry would not help; the error names the path."""
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": COLUMNS})
    deployment.onboard()
    topics["t"].send(Change("c", {"id": 1, "v": "a"}, at=1))
    (tmp_path / "file").touch()

    report = with_settings(deployment, lake__path=str(tmp_path / "file" / "lake")).run()

    (outcome,) = report.tables
    assert isinstance(outcome.error, WriteError), outcome.error
    assert str(tmp_path / "file") in str(outcome.error)
    assert report.exit_code == 1


def test_a_broker_killed_during_the_read_is_temporary(tmp_path: Path, outer_spark: SparkSession) -> None:
    """Nothing is committed, and the same run succeeds once the broker is back."""
    data = tmp_path / "servers"
    servers = up(data)
    deployment = Deployment(tmp_path, servers, outer_spark, "dying")
    with (tmp_path / "ingest.toml").open("a") as settings:  # `[kafka]` is its last section
        settings.write(
            'read_timeout_s = 10.0\n[kafka.properties]\n"default.api.timeout.ms" = "4000"\n'
            '"request.timeout.ms" = "3000"\n'
        )
    try:
        topic = make_topics(servers, {"dying.testDB.dbo.t": COLUMNS})["t"]
        deployment.onboard()
        changes = [Change("c", {"id": number, "v": "a"}, at=number) for number in range(50)]
        topic.send(*changes[:10])
        assert deployment.run().exit_code == 0
        topic.send(*changes[10:])  # not before: consumers that stay fetch ahead

        def kill(_: str, step: str) -> None:
            if step.startswith("reading"):
                os.kill(
                    next(server.pid for server in status(data) if server.name == "broker" and server.pid),
                    signal.SIGKILL,
                )

        report = deployment.session.run(progress=kill)

        (outcome,) = report.tables
        assert isinstance(outcome.error, BrokerUnreachableError), outcome.error
        assert "Connection refused" in str(outcome.error)
        assert (report.exit_code, outcome.instant) == (75, None)
        assert deployment.frame("t").count() == 10
        up(data)
        assert deployment.run().tables[0].counts.read == 40
        assert deployment.frame("t").count() == 50
    finally:
        down(data)
