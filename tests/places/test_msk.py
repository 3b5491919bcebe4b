"""IAM of Amazon MSK: both clients log in to a broker that validates AWS's signatures as MSK does."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs
import pytest

from ingest.jars.artifacts import broker_classpath
from ingest.local.ports import LOOPBACK, choose_port
from ingest.local.servers import Addresses
from ingest.testing import nullable
from tests.e2e.events import Change, make_topics
from tests.places.brokers import broker_of

pytestmark = [pytest.mark.places, pytest.mark.spark, pytest.mark.servers]

JARS: Final = Path(__file__).parents[2] / "jars" / "msk"
SIGNER: Final = Path(__file__).parents[2] / "build" / "msk"
VALIDATOR: Final = Path(__file__).with_name("Iam.java")
TOPIC: Final = "msk.testDB.dbo.orders"
AWS: Final = {
    "AWS_ACCESS_KEY_ID": "AKIAINGEST",
    "AWS_SECRET_ACCESS_KEY": "planted/secret+key",
    "AWS_REGION": "eu-north-1",
}
MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
LOGIN: Final = """
listeners=PLAINTEXT://{plain},IAM://{iam},CONTROLLER://{{controller}}
advertised.listeners=PLAINTEXT://{plain},IAM://{iam}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,IAM:SASL_PLAINTEXT
listener.name.iam.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.iam.oauthbearer.sasl.server.callback.handler.class=Iam
listener.name.iam.oauthbearer.sasl.jaas.config={module} required;
"""


@attrs.frozen
class SignedCommands:
    """A folder with settings for the listener that requires a login."""

    root: Path
    log: Path
    """The broker's output."""

    def call(self, *arguments: str, aws: Mapping[str, str] = AWS) -> "subprocess.CompletedProcess[str]":
        """Call the command with credentials of AWS in its environment."""
        path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH", ""), str(SIGNER))))
        environment = os.environ | {"PYTHONPATH": path, "INGEST_SPARK_CLASS_ARCHIVE": "false"} | aws
        return subprocess.run(
            [sys.executable, "-m", "ingest", *arguments], cwd=self.root, env=environment,
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    def accepted(self) -> set[str]:
        """Return the signers of the tokens that the broker has accepted."""
        accepted = re.findall(r"Iam: accepted, signed by ([\w-]+)", self.log.read_text())
        return set(accepted)


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory, servers: Addresses) -> Iterator[SignedCommands]:
    """Run a broker with the validator, and create a topic of two rows and its table file."""
    root, classes = tmp_path_factory.mktemp("msk"), tmp_path_factory.mktemp("classes")
    compiler = ["javac", "-d", str(classes), "-cp", f"{broker_classpath()}/*", str(VALIDATOR)]
    subprocess.run(compiler, check=True)
    iam = f"{LOOPBACK}:{choose_port()}"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in AWS.items():
            patch.setenv(name, value)
        broker = broker_of(
            root / "broker", classes=str(classes), more=LOGIN.format(plain="{plain}", iam=iam, module=MODULE)
        )
        with broker as address:
            addresses = Addresses(address, servers.registry_url)
            (topic,) = make_topics(addresses, {TOPIC: {"id": "int", "v": nullable("string")}}).values()
            topic.send(*(Change("c", {"id": n, "v": f"{n}"}, at=n + 1) for n in range(2)))
            jar = next(JARS.glob("aws-msk-iam-auth-*.jar"))
            (root / "ingest.toml").write_text(
                f'[registry]\nurl = "{servers.registry_url}"\n[kafka]\nbootstrap_servers = "{iam}"\n'
                '[kafka.properties]\n"security.protocol" = "SASL_PLAINTEXT"\n'
                '"sasl.mechanism" = "AWS_MSK_IAM"\n'
                f'[spark]\nmaster = "local[2]"\n[spark.conf]\n"spark.jars" = "{jar}"\n'
            )
            yield SignedCommands(root, root / "broker" / "logs" / "broker.log")


def test_both_clients_log_in_by_signed_tokens(signed: SignedCommands) -> None:
    """Onboarding by librdkafka, the rows by Spark's source; the secret is shown nowhere."""
    onboarded = signed.call("onboard", TOPIC)
    assert onboarded.returncode == 0, onboarded.stderr
    run = signed.call("run", "--json")
    assert run.returncode == 0, run.stderr
    (table,) = json.loads(run.stdout)["tables"]
    assert (table["outcome"], table["read"]) == ("committed", 2)
    assert signed.accepted() == {"aws-msk-iam-sasl-signer-python", "aws-msk-iam-auth"}
    assert AWS["AWS_SECRET_ACCESS_KEY"] not in onboarded.stdout + onboarded.stderr + run.stdout + run.stderr


def test_a_wrong_key_is_refused_by_the_broker(signed: SignedCommands) -> None:
    """A permanent error: another try would not help."""
    done = signed.call("onboard", TOPIC, aws=AWS | {"AWS_SECRET_ACCESS_KEY": "another"})
    assert done.returncode == 1, done.stderr
    assert "Check [kafka.properties]" in done.stderr
