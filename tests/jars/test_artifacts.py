"""Where the JVM artifacts are."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ingest.artifacts import spark_jars as documented_spark_jars
from ingest.errors import LocalServerError, UsageError
from ingest.jars.artifacts import Artifacts, find_artifacts, spark_jars
from ingest.jars.pins import read_pins
from tests.jars.mirror import serve
from tests.programs import programs_without

ROOT = Path(__file__).parents[2]


def test_a_checkouts_jars_are_its_own() -> None:
    """Tests run in a checkout: no cache in anybody's home is touched."""
    artifacts = find_artifacts()
    assert artifacts.pom.name == "pom.xml"
    assert artifacts.pom.parent == artifacts.root


def test_scripts_find_the_jars_under_the_documented_name() -> None:
    """docs/cluster.md and errors name `ingest.artifacts.spark_jars`."""
    assert documented_spark_jars is spark_jars


def test_a_complete_folder_needs_no_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stamp says that it is complete."""
    monkeypatch.setenv("PATH", "")
    (tmp_path / "broker").mkdir()
    (tmp_path / "broker" / ".stamp").touch()
    assert _artifacts(tmp_path).folder("broker", "broker").name == "broker"


def test_missing_maven_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a stack trace of a process that could not start."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LocalServerError, match=r"`mvn` is not on PATH\. Install Maven"):
        _artifacts(tmp_path).folder("broker", "broker")


def test_maven_errors_reach_the_user_and_no_partial_folder_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Maven that fails, as it does without a network."""
    maven = tmp_path / "bin" / "mvn"
    maven.parent.mkdir()
    maven.write_text("#!/bin/sh\necho '[ERROR] no route to host'\nexit 1\n")
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{maven.parent}:/usr/bin:/bin")
    with pytest.raises(LocalServerError, match="package` failed: no route to host"):
        _artifacts(tmp_path, tmp_path / "jars").folder("broker", "broker")
    assert [path.name for path in (tmp_path / "jars").iterdir()] == [".lock"]


def test_an_unwritable_cache_is_named_with_the_remedy(tmp_path: Path) -> None:
    """A file in its path, as good as a read-only disk or another user's home: exit code 2."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=rf"{tmp_path}/file/jars, is not writable: .*XDG_CACHE_HOME"):
        _artifacts(tmp_path, tmp_path / "file" / "jars").folder("broker", "broker")


@pytest.mark.servers
def test_maven_fills_a_cache_from_the_pom_only(tmp_path: Path) -> None:
    """An installed package gets its broker so: the pom in site-packages, the jars in a cache."""
    pom = tmp_path / "site-packages" / "pom.xml"
    pom.parent.mkdir()
    pom.write_text(find_artifacts().pom.read_text())
    lib = Artifacts(pom, tmp_path / "cache", find_artifacts().functions_jar).folder("lib", "spark")
    own = find_artifacts().functions_jar.name
    assert {jar.name for jar in lib.glob("*.jar")} == {jar.name for jar in spark_jars()} - {own}
    assert [path.name for path in pom.parent.iterdir()] == ["pom.xml"]


@pytest.mark.spark
def test_a_job_gets_the_jar_of_our_functions() -> None:
    """Spark jobs get the pinned jars and exactly one jar of our own."""
    jars = [jar for jar in spark_jars() if jar.name.startswith("ingest-functions")]
    assert len(jars) == 1
    assert "io/hudicdc/ingest/avro/PlainDecimal.class" in zipfile.ZipFile(jars[0]).namelist()


def test_a_jar_that_was_not_built_is_named(tmp_path: Path) -> None:
    """The error of a checkout names the command that builds it."""
    with pytest.raises(LocalServerError, match=r"own\.jar does not exist\. Run `make functions`"):
        _artifacts(tmp_path).functions()


def test_a_jar_that_is_older_than_its_sources_is_refused(tmp_path: Path) -> None:
    """A checkout never runs functions that differ from its sources."""
    artifacts = _artifacts(tmp_path)
    artifacts.functions_jar.touch()
    os.utime(artifacts.functions_jar, (1, 1))
    (tmp_path / "PlainDecimal.java").touch()
    with pytest.raises(LocalServerError, match=r"own\.jar is older than its sources"):
        artifacts.functions()


STARTED_FROM_A_WHEEL = """
import ingest
from ingest.jars.artifacts import spark_jars
from ingest.spark.session import session_of, start_session
spark = session_of(start_session("wheel", "local[1]", {}, spark_jars()))
print("package:", ingest.__file__)
print("key:", spark.sql("select ingest_document_key(' 1 ')").collect()[0][0])
spark.stop()
"""


@pytest.mark.spark
def test_an_installed_wheel_needs_neither_a_compiler_nor_maven(tmp_path: Path) -> None:
    """The wheel holds the jar: with `java` only on PATH, a session knows our functions."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "ingest/ingest-functions.jar" in names
    assert not [name for name in names if name.endswith(".java")]
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    start = [sys.executable, "-c", STARTED_FROM_A_WHEEL]
    lib = find_artifacts().folder("lib", "spark")
    with serve({jar.repository_path: lib / jar.file for jar in read_pins()}) as mirror:
        environment = {
            "PYTHONPATH": str(site),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "PATH": str(programs_without(tmp_path / "bin", {"javac", "mvn"})),
            "INGEST_SPARK_REPOSITORY": mirror.url,
        }
        process = subprocess.run(
            start, env=environment, cwd=tmp_path, check=False, capture_output=True, text=True
        )

    assert f"package: {site}" in process.stdout, process.stderr
    assert "key: 1" in process.stdout
    assert f"ingest: note: fetching 6 jars, 86.6 MB, from {mirror.url} into {tmp_path}" in process.stderr


def _artifacts(folder: Path, root: Path | None = None) -> Artifacts:
    """Return artifacts whose pom, jar and sources are in one folder."""
    return Artifacts(folder / "pom.xml", root or folder, folder / "own.jar", folder)
