"""Jobs on YARN: the driver in a container, with settings and secrets that `spark-submit` handed over."""

import json
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest.hudi.locks.lock import locked
from ingest.hudi.storage.text_file import text_file
from ingest.jars.artifacts import spark_jars
from ingest.local.servers import Addresses
from ingest.settings import LakeSettings
from ingest.spark.java import hadoop_of, jvm_of
from tests.certificates import Certificates, make_certificates
from tests.e2e.issuer import issuer_for
from tests.e2e.secured import USER, SecuredBroker, by_basic, registry_behind, secured_broker
from tests.places.deployment import Place
from tests.places.yarn import (
    ENVIRONMENT,
    Submitted,
    Yarn,
    command_lines,
    environment_with_ingest,
    pack,
    running_yarn,
    submit,
)

pytestmark = [pytest.mark.places, pytest.mark.spark, pytest.mark.servers]

MISSING: Final = "build/cluster is missing: run `make test-places`"


@attrs.frozen
class Stage:
    """A cluster, servers that require a login, and the secrets."""

    yarn: Yarn
    environment: Path
    broker: SecuredBroker
    registry_url: str
    open_registry_url: str
    certificates: Certificates
    planted: dict[str, str]


@pytest.fixture(scope="module")
def stage(
    tmp_path_factory: pytest.TempPathFactory, servers: Addresses, outer_spark: SparkSession
) -> Iterator[Stage]:
    """Start YARN, a broker and a gate before the registry; store the jars in HDFS."""
    assert ENVIRONMENT.exists(), MISSING
    root = tmp_path_factory.mktemp("yarn")
    planted = {"plain": secrets.token_urlsafe(18), "basic": f"bob:{secrets.token_urlsafe(18)}"}
    certificates = make_certificates(root)
    with ExitStack() as opened:
        yarn = opened.enter_context(running_yarn(root / "cluster"))
        issuer = opened.enter_context(issuer_for(USER, "unused"))
        broker = opened.enter_context(secured_broker(root, certificates, issuer, planted["plain"], "unused"))
        url = opened.enter_context(
            registry_behind(servers.registry_url, by_basic(planted["basic"]), certificates)
        )
        put_jars(outer_spark, f"{yarn.hdfs}/apps/ingest")
        environment = environment_with_ingest(root / "environment")
        yield Stage(yarn, environment, broker, url, servers.registry_url, certificates, planted)


def put_jars(spark: SparkSession, folder: str) -> None:
    """Store the jars of a job in HDFS."""
    path = jvm_of(spark).org.apache.hadoop.fs.Path
    files = path(folder).getFileSystem(hadoop_of(spark))
    for jar in spark_jars():
        files.copyFromLocalFile(path(str(jar)), path(f"{folder}/{jar.name}"))


@attrs.frozen
class Submitter:
    """A table, the files that its user hands over, and the reports in HDFS."""

    stage: Stage
    place: Place
    root: Path

    def submit(
        self, *options: str, conf: dict[str, str], job: tuple[str, ...], variables: Mapping[str, str]
    ) -> Submitted:
        """Submit the application file of the environment; the secrets are in files of the submitter."""
        (self.root / "kafka-password").write_text(self.stage.planted["plain"] + "\n")
        (self.root / "registry-login").write_text(self.stage.planted["basic"] + "\n")
        for name in ("kafka-password", "registry-login"):
            (self.root / name).chmod(0o600)
        application = self.stage.environment.parent / "environment" / "lib"
        (main,) = application.glob("python3*/site-packages/ingest/__main__.py")
        return submit(self.stage.yarn, options, conf, [str(main), *job], variables)

    def in_cluster(self, *job: str) -> Submitted:
        """Submit with the driver on the cluster."""
        secret_files = ",".join(str(self.root / name) for name in ("kafka-password", "registry-login"))
        variables = {
            "PYSPARK_PYTHON": "./environment/bin/python",
            "INGEST_KAFKA_PROPERTIES_SASL_PASSWORD_FILE": "kafka-password",
            "INGEST_REGISTRY_BASIC_AUTH_FILE": "registry-login",
        }
        return self.submit(
            "--deploy-mode", "cluster",
            "--archives", f"{self.stage.environment}#environment,{self.archive()}#deployment",
            "--files", secret_files,
            conf={f"spark.yarn.appMasterEnv.{name}": value for name, value in variables.items()},
            job=("run", "--settings", "deployment/ingest.toml", "--report", self.report_path, *job),
            variables={},
        )  # fmt: skip

    def archive(self) -> Path:
        """Pack settings, table files and the authority's certificate: no secret."""
        folder = self.root / "deployment"
        if not folder.exists():
            folder.mkdir()
            shutil.copytree(self.place.root / "tables", folder / "tables")
            shutil.copy(self.stage.certificates.ca, folder / "ca.pem")
            (folder / "ingest.toml").write_text(self.settings("deployment/ca.pem"))
        return pack(folder, self.root / "deployment.tar.gz")

    def settings(self, ca: str) -> str:
        """Return the settings file; secrets come from elsewhere."""
        return (
            f'[registry]\nurl = "{self.stage.registry_url}"\nca = "ca.pem"\n'
            f'[kafka]\nbootstrap_servers = "{self.stage.broker.addresses["PLAIN"]}"\n[kafka.properties]\n'
            f'"security.protocol" = "SASL_SSL"\n"sasl.mechanism" = "PLAIN"\n"sasl.username" = "{USER}"\n'
            f'"ssl.ca.location" = "{ca}"\n[lake]\npath = "{self.place.lake}"\n'
        )

    @property
    def report_path(self) -> str:
        """The report's path in HDFS."""
        return f"{self.place.lake}-reports/run.json"

    def report(self) -> Any:
        """Read the report of the last run."""
        return json.loads(text_file(self.place.spark, self.report_path).read())

    def outcome(self) -> tuple[str, str | None]:
        """Return the only table's outcome, with its error, of the last run's report."""
        (table,) = self.report()["tables"]
        return table["outcome"], table["error"]


@pytest.fixture
def submitter(stage: Stage, tmp_path: Path, outer_spark: SparkSession) -> Submitter:
    """Return the submitter of a table whose lake lies in the cluster's HDFS."""
    (tmp_path / "local").mkdir()
    servers = Addresses(stage.broker.open, stage.open_registry_url)
    lake = f"{stage.yarn.hdfs}/lake/{tmp_path.name}"
    return Submitter(stage, Place(tmp_path / "local", servers, outer_spark, lake, {}, lock="auto"), tmp_path)


def test_drivers_on_yarn_build_a_table_and_no_process_or_script_shows_a_secret(
    submitter: Submitter,
) -> None:
    """Cluster mode with a packed environment: two runs, their reports and locks in HDFS."""
    place, stage = submitter.place, submitter.stage
    place.create("cow")
    with command_lines() as lines:
        for _ in range(2):
            place.change()
            done = submitter.in_cluster()
            assert done.code == 0, done.output[-8000:]
            assert submitter.outcome() == ("committed", None)
            place.check()
    assert any("ApplicationMaster" in line for line in lines)
    assert any("./environment/bin/python" in line for line in lines)
    texts = {**stage.yarn.texts(), "ps": "\n".join(lines), "output": done.output}
    shown = [
        (name, secret)
        for name, text in texts.items()
        for secret, value in stage.planted.items()
        if value.rpartition(":")[2] in text
    ]
    assert shown == []


def test_a_run_on_yarn_that_finds_its_table_locked_fails_and_its_report_says_temporary(
    submitter: Submitter,
) -> None:
    """In cluster mode spark-submit exits with 1 for each failure; YARN names the code of the job, 75."""
    place = submitter.place
    place.create("mor")
    place.change()
    with locked(place.spark, LakeSettings(place.lake), "orders", "first", 0):
        done = submitter.in_cluster()
    assert done.code == 1
    assert "exited with" in done.diagnostics
    assert "75" in done.diagnostics
    outcome, error = submitter.outcome()
    assert (outcome, submitter.report()["outcome"]) == ("temporary", "temporary")
    assert "locked by another writer: run first" in str(error)


def test_a_driver_outside_yarn_returns_the_exit_code_of_the_run(submitter: Submitter) -> None:
    """Client mode: 0, and 75 for a locked table; executors have jars in HDFS, and no Python."""
    place, root = submitter.place, submitter.root
    place.create("cow")
    place.change()
    submitter.archive()
    (root / "deployment" / "ingest.toml").write_text(submitter.settings(str(root / "deployment" / "ca.pem")))
    python = submitter.stage.environment.parent / "environment" / "bin" / "python"

    secret_files = {
        "KAFKA_PROPERTIES_SASL_PASSWORD": "kafka-password",
        "REGISTRY_BASIC_AUTH": "registry-login",
    }

    def in_client() -> Submitted:
        return submitter.submit(
            "--deploy-mode", "client", "--driver-class-path", ":".join(map(str, spark_jars())),
            conf={"spark.pyspark.driver.python": str(python), "spark.pyspark.python": "/nowhere/python"},
            job=("run", "--settings", str(root / "deployment" / "ingest.toml")),
            variables={f"INGEST_{name}_FILE": str(root / file) for name, file in secret_files.items()},
        )  # fmt: skip

    with locked(place.spark, LakeSettings(place.lake), "orders", "first", 0):
        done = in_client()
    assert done.code == 75, done.output[-8000:]
    done = in_client()
    assert done.code == 0, done.output[-8000:]
    place.check()
