"""Where the JVM artifacts are."""

from pathlib import Path

import pytest

from ingest.artifacts import Artifacts, find_artifacts
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
    assert Artifacts(tmp_path / "pom.xml", tmp_path).folder("broker", "broker").name == "broker"


def test_missing_maven_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a stack trace of a process that could not start."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LocalServerError, match=r"`mvn` is not on PATH\. Install Maven"):
        Artifacts(tmp_path / "pom.xml", tmp_path).folder("broker", "broker")


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
        Artifacts(tmp_path / "pom.xml", tmp_path / "jars").folder("broker", "broker")
    assert [path.name for path in (tmp_path / "jars").iterdir()] == [".lock"]


@pytest.mark.servers
def test_maven_fills_a_cache_from_the_pom_alone(tmp_path: Path) -> None:
    """As an installed package does on its first start: the pom elsewhere, the jars in a cache."""
    pom = tmp_path / "site-packages" / "pom.xml"
    pom.parent.mkdir()
    pom.write_text(find_artifacts().pom.read_text())
    filled = Artifacts(pom, tmp_path / "cache").folder("lib", "spark")
    ours = find_artifacts().folder("lib", "spark")
    assert {jar.name for jar in filled.iterdir()} == {jar.name for jar in ours.iterdir()}
    assert [path.name for path in pom.parent.iterdir()] == ["pom.xml"]
