"""Every login to a real broker and a real registry; the secrets appear nowhere."""

import io
import json
import logging
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import attrs
import pytest
import structlog
from pyspark.sql import SparkSession

from ingest import log
from ingest.api.session import Session
from ingest.errors import BrokerRefusedError, IngestError, RegistryRefusedError
from ingest.kafka.watermarks import fetch_watermarks
from ingest.local.servers import Addresses
from ingest.names import Topic as TopicName
from ingest.testing import nullable
from tests.certificates import Certificates, make_certificates
from tests.e2e.events import Change, make_topics
from tests.e2e.issuer import Issuer, issuer_for
from tests.e2e.secured import (
    USER,
    Gate,
    SecuredBroker,
    by_basic,
    by_token,
    registry_behind,
    secured_broker,
)
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS: Final = {"id": "int", "v": nullable("string")}
TOPIC: Final = "safe.testDB.dbo.customers"
TABLE: Final = TOPIC.replace(".", "_")


@attrs.frozen
class Stage:
    """Servers that require a login, its credentials, and a topic of two rows."""

    root: Path
    broker: SecuredBroker
    issuer: Issuer
    certificates: Certificates
    registries: Mapping[str, str]
    """URLs by login."""
    planted: Mapping[str, str]
    """Secrets by their use."""

    def settings(self, login: str) -> Path:
        """Write the settings of a login in its own folder; return the file."""
        folder = self.root / login
        folder.mkdir()
        sections = {
            "plain": self._plain, "scram": self._scram, "mutual": self._mutual, "oauth": self._oauth,
        }[login](folder)  # fmt: skip
        file = folder / "ingest.toml"
        file.write_text(sections)
        return file

    def _plain(self, folder: Path) -> str:
        """Read the password from a file, and the registry's from a command."""
        (folder / "kafka-password").write_text(self.planted["plain"] + "\n")
        (folder / "login").write_text(self.planted["basic"])
        return f"""
        [registry]
        url = "{self.registries["basic"]}"
        ca = "{self.certificates.ca}"
        basic_auth = {{ command = "cat login" }}
        [kafka]
        bootstrap_servers = "{self.broker.addresses["PLAIN"]}"
        [kafka.properties]
        "security.protocol" = "SASL_SSL"
        "sasl.mechanism" = "PLAIN"
        "sasl.username" = "{USER}"
        "sasl.password" = {{ file = "kafka-password" }}
        "ssl.ca.location" = "{self.certificates.ca}"
        """

    def _scram(self, _: Path) -> str:
        """Put password and token into the environment, and plant storage secrets."""
        return f"""
        [registry]
        url = "{self.registries["token"]}"
        ca = "{self.certificates.ca}"
        [kafka]
        bootstrap_servers = "{self.broker.addresses["SCRAM"]}"
        [kafka.properties]
        "security.protocol" = "SASL_SSL"
        "sasl.mechanism" = "SCRAM-SHA-512"
        "sasl.username" = "{USER}"
        "ssl.ca.location" = "{self.certificates.ca}"
        [run]
        log_level = "info"
        [spark]
        master = "local[2]"
        [spark.conf]
        "spark.hadoop.fs.s3a.secret.key" = "{self.planted["s3a"]}"
        "spark.hadoop.fs.azure.account.key.x" = "{self.planted["azure"]}"
        "spark.eventLog.enabled" = "true"
        "spark.eventLog.dir" = "{self.root / "events"}"
        """

    def _mutual(self, _: Path) -> str:
        """Present a certificate to both; its key has a password."""
        ours = self.certificates
        return f"""
        [registry]
        url = "{self.registries["mutual"]}"
        ca = "{ours.ca}"
        certificate = "{ours.client}"
        key = "{ours.client_key}"
        key_password = "{ours.client_key_password}"
        [kafka]
        bootstrap_servers = "{self.broker.addresses["MUTUAL"]}"
        [kafka.properties]
        "security.protocol" = "SSL"
        "ssl.ca.location" = "{ours.ca}"
        "ssl.certificate.location" = "{ours.client}"
        "ssl.key.location" = "{ours.client_key}"
        "ssl.key.password" = "{ours.client_key_password}"
        """

    def _oauth(self, _: Path) -> str:
        """Log in to the broker with a token, issued for a client's secret."""
        return f"""
        [registry]
        url = "{self.registries["basic"]}"
        ca = "{self.certificates.ca}"
        basic_auth = "{self.planted["basic"]}"
        [kafka]
        bootstrap_servers = "{self.broker.addresses["OAUTH"]}"
        [kafka.properties]
        "security.protocol" = "SASL_SSL"
        "sasl.mechanism" = "OAUTHBEARER"
        "sasl.oauthbearer.method" = "oidc"
        "sasl.oauthbearer.token.endpoint.url" = "{self.issuer.token_url}"
        "sasl.oauthbearer.client.id" = "{USER}"
        "sasl.oauthbearer.client.secret" = "{self.planted["client"]}"
        "sasl.oauthbearer.scope" = "read"
        "ssl.ca.location" = "{self.certificates.ca}"
        """

    def shown_in(self, text: str) -> list[str]:
        """Return the secrets that a text contains."""
        parts = {name: value.rpartition(":")[2] for name, value in self.planted.items()}
        return sorted(name for name, value in parts.items() if value in text)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, servers: Addresses) -> Iterator[Stage]:
    """Start a broker with a listener for each login, and gates in front of the suite's registry."""
    names = ("plain", "scram", "token", "key", "s3a", "azure", "gateway", "client")
    planted = {name: secrets.token_urlsafe(18) for name in names}
    planted["basic"] = f"bob:{secrets.token_urlsafe(18)}"
    root = tmp_path_factory.mktemp("security")
    (root / "events").mkdir()
    certificates = make_certificates(root, planted["key"])
    gates = {
        "basic": by_basic(planted["basic"]),
        "token": by_token(planted["token"]),
        "mutual": Gate(mutual=True),
    }
    with ExitStack() as opened:
        issuer = opened.enter_context(issuer_for(USER, planted["client"]))
        broker = opened.enter_context(
            secured_broker(root, certificates, issuer, planted["plain"], planted["scram"])
        )
        urls = {
            name: opened.enter_context(registry_behind(servers.registry_url, gate, certificates))
            for name, gate in gates.items()
        }
        topics = make_topics(Addresses(broker.open, servers.registry_url), {TOPIC: COLUMNS})
        topics["customers"].send(*(Change("c", {"id": n, "v": "a"}, at=n) for n in (1, 2)))
        yield Stage(root, broker, issuer, certificates, urls, planted)


@pytest.mark.parametrize("login", ["plain", "mutual", "oauth"])
def test_a_table_is_read_through_each_login(stage: Stage, login: str, outer_spark: SparkSession) -> None:
    """Both Kafka clients, librdkafka and Java's, and the registry's log in; no log or plan has a secret."""
    handlers, heard = logging.getLogger().handlers[:], io.StringIO()
    with Session.open(stage.settings(login), spark=outer_spark) as session:
        log.configure("debug", secrets=session.settings.secrets(), stream=heard)
        try:
            session.onboard([TOPIC])
            plans = session.plan() if login == "plain" else ()  # one login is enough
            report = session.run()
            (status,) = session.status()
        finally:
            logging.getLogger().handlers[:] = handlers
            logging.getLogger("ingest").setLevel(logging.NOTSET)
            structlog.reset_defaults()

    assert [outcome.outcome for outcome in report.tables] == ["committed"], report.tables[0].error
    assert (report.tables[0].counts.upserted, status.lag) == (2, 0)
    outputs = (plans, report, status, report.to_json(), session.settings, heard.getvalue())
    assert stage.shown_in(" ".join(map(repr, outputs))) == []
    files = [stage.root / login / folder for folder in ("tables", "lake")]
    assert {name: stage.shown_in(text) for name, text in texts(*files).items() if stage.shown_in(text)} == {}


def texts(*folders: Path) -> dict[str, str]:
    """Read all files by path, of any content."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes().decode("latin-1") for path in files}


def test_a_process_never_shows_a_secret(stage: Stage) -> None:
    """With --debug: output, log, report, unsendable metrics, table files, lake, Spark's event log.

    Spark's web pages show the content of the event log: settings, JVM properties, query plans.
    """
    settings = stage.settings("scram")
    with Session.open(
        settings,
        overrides={
            "kafka.properties.sasl.password": stage.planted["scram"],
            "registry.bearer_token": stage.planted["token"],
        },
    ) as session:
        session.onboard([TOPIC])
    (settings.parent / "token").write_text(stage.planted["token"])
    environment = {
        **{name: text for name, text in os.environ.items() if not name.startswith("INGEST_")},
        "INGEST_KAFKA_PROPERTIES_SASL_PASSWORD": stage.planted["scram"],
        "INGEST_REGISTRY_BEARER_TOKEN_FILE": str(settings.parent / "token"),
        "INGEST_RUN_METRICS": f"http://ops:{stage.planted['gateway']}@127.0.0.1:1/metrics/job/ingest",
    }
    command = [sys.executable, "-m", "ingest", "run", "--settings", str(settings), "--debug", "--json"]
    done = subprocess.run(
        [*command, "--report", str(stage.root / "told" / "report.json")],
        env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tables"][0]["outcome"] == "committed"
    assert "warning: metrics were not written to http://***@127.0.0.1:1/" in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("{")]
    assert {"table.done", "run.done"} <= {json.loads(line)["event"] for line in lines}
    folder = settings.parent
    outputs = {"stdout": done.stdout, "stderr": done.stderr}
    outputs |= texts(folder / "tables", folder / "lake", stage.root / "told", stage.root / "events")
    assert any("SparkListenerEnvironmentUpdate" in text for text in outputs.values())
    assert any("physicalPlanDescription" in text for text in outputs.values())
    assert any(TOPIC in text for path, text in outputs.items() if "/.hoodie/" in path)  # reads Hudi's files
    assert {name: shown for name, text in outputs.items() if (shown := stage.shown_in(text))} == {}


def refusal(settings: Path, name: str, value: object) -> IngestError:
    """Change one setting, and return the error of the run's first request."""
    with Session.open(settings, overrides={name: value}) as session:
        kafka = session.settings.kafka
        try:
            session.registry.subjects()
            fetch_watermarks(kafka, [TopicName(TOPIC)])
        except IngestError as error:
            return error
    pytest.fail(f"{name} was taken")


def test_a_refused_login_is_permanent_and_its_error_has_no_secret(stage: Stage) -> None:
    """A wrong password, no certificate, a wrong token: exit code 1, and the setting to fix."""
    plain, mutual = stage.root / "plain" / "ingest.toml", stage.root / "mutual" / "ingest.toml"
    wrong = "wr0ng-" + secrets.token_urlsafe(9)
    by_broker = refusal(plain, "kafka.properties.sasl.password", wrong)
    by_registry = refusal(plain, "registry.basic_auth", f"bob:{wrong}")
    assert isinstance(by_broker, BrokerRefusedError), by_broker
    assert isinstance(by_registry, RegistryRefusedError), by_registry
    oauth = stage.root / "oauth" / "ingest.toml"
    by_issuer = refusal(oauth, "kafka.properties.sasl.oauthbearer.client.secret", wrong)
    assert isinstance(by_issuer, BrokerRefusedError), by_issuer
    assert by_registry.status == 401
    for error in (by_broker, by_registry, by_issuer, refusal(mutual, "registry.key_password", wrong)):
        assert wrong not in f"{error} {error!r}"
        assert stage.shown_in(f"{error} {error!r}") == []
