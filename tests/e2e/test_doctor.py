"""`ingest doctor` on real servers, a real lake and Spark."""

import time
from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from ingest.operations.doctor.doctor import Checkup
from ingest.operations.doctor.finding import Finding
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]

DAY_S = 86_400


def keep_for(bootstrap_servers: str, topic: str, days: int) -> None:
    """Set the retention of a topic."""
    entry = ConfigEntry("retention.ms", str(days * DAY_S * 1000), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.incremental_alter_configs([resource])[resource].result(10)


def problems_of(checkup: Checkup) -> list[Finding]:
    """Return the problems, without those of a machine whose memory others take."""
    problems = [finding for finding in checkup.findings if finding.level == "problem"]
    return [finding for finding in problems if finding.check not in ("memory", "disk")]


def test_a_healthy_deployment_and_one_that_nears_its_retention(
    make_deployment: Callable[[], Deployment],
) -> None:
    """An unread message that is older than half the retention is a warning, a missing topic a problem."""
    deployment = make_deployment()
    names = {f"{deployment.prefix}.testDB.dbo.orders": {"id": "int", "v": nullable("string")}}
    (topic,) = make_topics(deployment.servers, names).values()
    deployment.onboard()
    topic.send(Change("c", {"id": 1, "v": "a"}, at=1))
    deployment.run()

    healthy = deployment.session.doctor(spark=True)

    assert problems_of(healthy) == []
    checks = {finding.check: finding for finding in healthy.findings}
    assert checks["compatibility"].level == "warning"  # the local registry enforces BACKWARD
    assert "BACKWARD for 2 subjects" in checks["compatibility"].text
    assert checks["compatibility"].todo.startswith("Set NONE for them: [evolution]")
    assert checks["broker"].text.endswith("1 of 1 topics can be read")
    assert {checks[name].level for name in ("registry", "clock", "spark", "lock", "retention")} == {"ok"}

    keep_for(deployment.servers.bootstrap_servers, topic.name, days=10)
    producer = Producer({"bootstrap.servers": deployment.servers.bootstrap_servers})
    producer.produce(topic.name, b"x", timestamp=int((time.time() - 8 * DAY_S) * 1000))
    assert producer.flush(10) == 0
    path = deployment.tables / "orders.toml"
    (deployment.tables / "other.toml").write_text(
        path.read_text().replace('"orders"', '"other"').replace(topic.name, f"{topic.name}2", 1)
    )
    result = deployment.session.doctor()

    (warning,) = (finding for finding in result.findings if finding.check == "retention")
    assert warning.level == "warning"
    assert "table orders: its oldest unread message is 8.0 d old" in warning.text
    assert "keeps messages for 10.0 d" in warning.text
    problems = problems_of(result)
    assert [finding.check for finding in problems] == ["broker"]
    assert f"topic {topic.name}2 does not exist" in problems[0].text
