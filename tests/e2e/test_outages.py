"""What is out of reach is temporary and told in a line; what is wrong is final, and stays with its table."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ingest import Session
from ingest.errors import BrokerUnreachableError, RegistryUnreachableError, WriteError
from ingest.local.servers import down, status, up
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}
NOWHERE = "127.0.0.1:1"
"""A port that nothing listens on."""


class Html(BaseHTTPRequestHandler):
    """Answers everything with a page, as a proxy or a portal does."""

    def do_GET(self) -> None:
        """Answer."""
        page = b"<html><body>Please log in</body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@contextmanager
def html_server() -> Iterator[str]:
    """Serve pages on a free port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Html)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def with_settings(deployment: Deployment, **values: str) -> Session:
    """Open the deployment with other addresses."""
    overrides = {key.replace("__", "."): value for key, value in values.items()}
    return Session.open(deployment.root / "ingest.toml", overrides=overrides, spark=deployment.spark)


def test_addresses_that_do_not_answer_are_temporary(make_deployment: Callable[[], Deployment]) -> None:
    """Registry and broker: exit code 75, the address in one line, nothing written, and then it goes on."""
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": COLUMNS})
    deployment.onboard()
    topics["t"].send(Change("c", {"id": 1, "v": "a"}, at=1))

    with html_server() as portal:
        for url in (f"http://{NOWHERE}", portal):
            report = with_settings(deployment, registry__url=url).run()
            (outcome,) = report.tables
            assert isinstance(outcome.error, RegistryUnreachableError), outcome.error
            assert (outcome.outcome, report.outcome, report.exit_code) == ("temporary", "temporary", 75)
            assert url in str(outcome.error)
            assert "\n" not in str(outcome.error)
    session = with_settings(deployment, kafka__bootstrap_servers=NOWHERE)
    with pytest.raises(BrokerUnreachableError, match=NOWHERE) as unreachable:
        session.run()
    assert unreachable.value.exit_code == 75

    assert not (deployment.root / "lake" / "t").exists()
    assert deployment.run().exit_code == 0


def test_a_lake_that_cannot_be_is_final(make_deployment: Callable[[], Deployment], tmp_path: Path) -> None:
    """A folder below a file: trying again would not help; the path is named."""
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


def test_a_broker_that_dies_while_it_is_read_is_temporary(tmp_path: Path, outer_spark: SparkSession) -> None:
    """Nothing is committed, and when it is back the same run goes through."""
    data = tmp_path / "servers"
    servers = up(data)
    deployment = Deployment(tmp_path, servers, outer_spark, "dying")
    with (tmp_path / "ingest.toml").open("a") as settings:
        settings.write(
            '[kafka.properties]\n"default.api.timeout.ms" = "4000"\n"request.timeout.ms" = "3000"\n'
        )
    try:
        topic = make_topics(servers, {"dying.testDB.dbo.t": COLUMNS})["t"]
        deployment.onboard()
        topic.send(*(Change("c", {"id": number, "v": "a"}, at=number) for number in range(50)))
        assert deployment.run(max_offsets=10).exit_code == 0

        def kill(_: str, step: str) -> None:
            if step.startswith("reading"):
                os.kill(
                    next(one.pid for one in status(data) if one.name == "broker" and one.pid), signal.SIGKILL
                )

        report = deployment.session.run(progress=kill)

        (outcome,) = report.tables
        assert isinstance(outcome.error, BrokerUnreachableError), outcome.error
        assert (report.exit_code, outcome.instant) == (75, None)
        assert deployment.frame("t").count() == 10
        up(data)
        assert deployment.run().tables[0].tally.read == 40
        assert deployment.frame("t").count() == 50
    finally:
        down(data)
