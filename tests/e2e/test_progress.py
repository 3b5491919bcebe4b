"""A run shows the messages that it has read, as Spark counts them."""

import re
from collections.abc import Callable

import pytest

from ingest.cli.heartbeat import Steps, ticking
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]


MESSAGES = 200_000


def test_a_run_shows_the_messages_read_and_their_share(make_deployment: Callable[[], Deployment]) -> None:
    """Between none and all, while it reads; afterwards the messages that it orders."""
    deployment = make_deployment()
    name = f"{deployment.prefix}.testDB.dbo.orders"
    (topic,) = make_topics(deployment.servers, {name: {"id": "int", "v": nullable("string")}}).values()
    deployment.onboard()
    (message,) = topic.records([Change("c", {"id": 1, "v": "a"}, at=1)])
    topic.produce([message] * MESSAGES)
    steps, texts = Steps(), set[str]()

    with deployment.session as session:

        def look() -> None:
            steps.measure(session.spark_stages)
            texts.update(work.text() for work in steps.work())

        with ticking(look, 0.05):
            report = session.run(progress=steps.begin)

    assert report.tables[0].counts.read == MESSAGES
    shares = {int(match[1]) for text in texts if (match := re.search(r"of 200,000 \((\d+) %\)", text))}
    assert shares & set(range(1, 100)), texts
