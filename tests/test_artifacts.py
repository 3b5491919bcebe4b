"""Where the JVM artifacts are."""

import shutil
import zipfile
from pathlib import Path

import pytest

from ingest.artifacts import Artifacts, find_artifacts, spark_jars
from ingest.errors import LocalServerError


def test_a_checkouts_jars_are_its_own() -> None:
    """Tests run in a checkout: no cache in anybody's home is touched."""
    artifacts = find_artifacts()
    assert artifacts.pom.name == "pom.xml"
    assert artifacts.pom.parent == artifacts.root


def test_a_complete_folder_needs_no_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stamp says that it is complete."""
    monkeypatch.setenv("PATH", "")
    (tmp_path / "broker").mkdir()
    (tmp_path / "broker" / ".stamp").touch()
    assert Artifacts(tmp_path / "pom.xml", tmp_path, tmp_path).folder("broker", "broker").name == "broker"


def test_missing_maven_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a stack trace of a process that could not start."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LocalServerError, match=r"`mvn` is not on PATH\. Install Maven"):
        Artifacts(tmp_path / "pom.xml", tmp_path, tmp_path).folder("broker", "broker")


def test_what_maven_says_reaches_the_user_and_nothing_half_done_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Maven that fails, as it does without a network."""
    maven = tmp_path / "bin" / "mvn"
    maven.parent.mkdir()
    maven.write_text("#!/bin/sh\necho '[ERROR] no route to host'\nexit 1\n")
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{maven.parent}:/usr/bin:/bin")
    with pytest.raises(LocalServerError, match="package` failed: no route to host"):
        Artifacts(tmp_path / "pom.xml", tmp_path / "jars", tmp_path).folder("broker", "broker")
    assert [path.name for path in (tmp_path / "jars").iterdir()] == [".lock"]


@pytest.mark.servers
def test_maven_fills_a_cache_from_the_pom_alone(tmp_path: Path) -> None:
    """As an installed package does on its first start: the pom elsewhere, the jars in a cache."""
    pom = tmp_path / "site-packages" / "pom.xml"
    pom.parent.mkdir()
    pom.write_text(find_artifacts().pom.read_text())
    made = Artifacts(pom, tmp_path / "cache", find_artifacts().sources)
    functions = made.functions()
    assert {jar.name for jar in functions.parent.glob("*.jar")} == {jar.name for jar in spark_jars()}
    assert [path.name for path in pom.parent.iterdir()] == ["pom.xml"]


def test_our_functions_are_among_a_jobs_jars() -> None:
    """Beside what the pom pins, as one jar."""
    jars = [jar for jar in spark_jars() if jar.name.startswith("ingest-functions-")]
    assert len(jars) == 1
    assert "ingest/PlainDecimal.class" in zipfile.ZipFile(jars[0]).namelist()


@pytest.mark.spark
def test_a_changed_source_is_compiled_and_nothing_is_fetched(tmp_path: Path) -> None:
    """The same sources give the same jar, without a compiler; changed ones take its place."""
    artifacts = _with_sources(tmp_path)
    first = artifacts.functions()
    made = first.stat().st_mtime_ns
    assert artifacts.functions() == first
    assert first.stat().st_mtime_ns == made

    source = artifacts.sources / "ingest" / "PlainDecimal.java"
    source.write_text(source.read_text() + "// changed\n")
    second = artifacts.functions()
    assert second != first
    assert sorted(path.name for path in second.parent.iterdir()) == [".stamp", second.name]


@pytest.mark.spark
def test_what_javac_says_reaches_the_user(tmp_path: Path) -> None:
    """And the jar before it stays."""
    artifacts = _with_sources(tmp_path)
    before = artifacts.functions()
    (artifacts.sources / "ingest" / "Broken.java").write_text("package ingest; class Broken {")
    with pytest.raises(LocalServerError, match=r"could not compile our functions: .*reached end of file"):
        artifacts.functions()
    assert before.exists()


def test_a_missing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A JRE runs Spark, but has no `javac`."""
    artifacts = _with_sources(tmp_path)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LocalServerError, match=r"`javac` is not on PATH\. Install a JDK, 11 or newer"):
        artifacts.functions()


def _with_sources(folder: Path) -> Artifacts:
    """Give artifacts whose pom was fetched already, and a copy of our sources."""
    (folder / "lib").mkdir()
    (folder / "lib" / ".stamp").touch()
    shutil.copytree(find_artifacts().sources, folder / "java")
    return Artifacts(folder / "pom.xml", folder, folder / "java")
