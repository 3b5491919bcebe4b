"""The built wheel in an environment of its own, outside the checkout: the tour with a Java runtime only."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from ingest.jars.artifacts import find_artifacts
from ingest.jars.pins import read_pins
from ingest.local.load import LoadOptions, load
from ingest.local.servers import Addresses
from tests.jars.mirror import Mirror, serve
from tests.programs import programs_without

pytestmark = [pytest.mark.release, pytest.mark.servers, pytest.mark.spark]

ROOT = Path(__file__).parents[2]
SETTINGS = """
[registry]
url = "{registry}"
[kafka]
bootstrap_servers = "{broker}"
[spark]
master = "local[2]"
repository = "{repository}"
"""


@attrs.frozen
class Installed:
    """A deployment's folder, and the environment of a user who has the wheel, `java`, and no compiler."""

    folder: Path
    program: Path
    environment: dict[str, str]

    def __call__(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run `ingest`, which must succeed."""
        done = subprocess.run(
            [str(self.program), *command], cwd=self.folder, env=self.environment, check=False,
            capture_output=True, text=True, timeout=500,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    def json(self, *command: str) -> Any:
        """Run `ingest` with --json."""
        return json.loads(self(*command, "--json").stdout)


@pytest.fixture
def installed(dist: Path, tmp_path: Path) -> Installed:
    """Install the locked packages of [spark] and the wheel, from the cache of `make setup` if it has them."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    uv = [str(Path(sys.executable).parent / "uv"), "pip"]
    target = ["-q", "--python", str(venv / "bin" / "python")]
    sync = [*uv, "sync", *target, str(ROOT / "docker" / "requirements.lock")]
    if subprocess.run([*sync, "--offline"], check=False, capture_output=True).returncode != 0:
        subprocess.run(sync, check=True)
    (wheel,) = dist.glob("*.whl")
    subprocess.run([*uv, "install", *target, "--offline", "--no-deps", str(wheel)], check=True)
    subprocess.run([*uv, "check", *target], check=True)
    programs = programs_without(tmp_path / "bin", {"mvn", "javac", "ingest", "python", "python3"})
    environment = {
        "PATH": os.pathsep.join((str(venv / "bin"), str(programs))),
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    return Installed(tmp_path, venv / "bin" / "ingest", environment)


def test_a_wheel_and_a_java_runtime_run_the_tour(installed: Installed, servers: Addresses) -> None:
    """Neither Maven, `javac` nor the checkout: the first run fetches the jars, and the second none."""
    load(
        ROOT / "registry_fixtures" / "sqlserver",
        servers.bootstrap_servers,
        servers.registry_url,
        LoadOptions(),
    )
    lib = find_artifacts().root / "lib"
    with serve({jar.repository_path: lib / jar.file for jar in read_pins()}) as mirror:
        write_settings(installed.folder, servers, mirror)
        assert {jar["state"] for jar in installed.json("jars", "list")} == {"missing"}
        installed("onboard", "sqs*")
        first = installed("run", "--report", "first.json")
    cache = f"{installed.folder}/cache"
    assert f"ingest: note: fetching 6 jars, 86.6 MB, from {mirror.url} into {cache}" in first.stderr
    report = json.loads((installed.folder / "first.json").read_text())
    assert {table["outcome"] for table in report["tables"]} == {"committed"}
    assert len(report["tables"]) == 4
    assert all(table["applied"]["upserted"] > 0 for table in report["tables"])

    again = installed("run", "--report", "second.json")
    assert "fetching" not in again.stderr
    report = json.loads((installed.folder / "second.json").read_text())
    assert {table["outcome"] for table in report["tables"]} == {"idle"}
    assert {jar["state"] for jar in installed.json("jars", "list")} == {"present"}
    assert f"{installed.folder}/venv" in where(installed)


def write_settings(folder: Path, servers: Addresses, mirror: Mirror) -> None:
    """Write `ingest.toml`."""
    text = SETTINGS.format(
        registry=servers.registry_url, broker=servers.bootstrap_servers, repository=mirror.url
    )
    (folder / "ingest.toml").write_text(text)


def where(installed: Installed) -> str:
    """Return the path of the package that ran."""
    program = [str(installed.program.parent / "python"), "-c", "import ingest; print(ingest.__file__)"]
    return subprocess.run(
        program, cwd=installed.folder, env=installed.environment, check=True, capture_output=True, text=True
    ).stdout
