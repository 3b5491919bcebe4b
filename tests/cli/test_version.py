"""`ingest --version`."""

import re
import tomllib
from pathlib import Path

import pytest

from ingest.cli.app import call
from ingest.cli.version import version_text

ROOT = Path(__file__).parents[2]


def test_the_version_names_the_parts_that_belong_together(capsys: pytest.CaptureFixture[str]) -> None:
    """Package, Python, Spark, Hudi, Kafka's client, Java; exit code 0."""
    assert call(["--version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [re.split(r" [\d.]+", line)[0] for line in lines] == [
        "ingest", "Python", "Spark", "Hudi", "Kafka client", "Java",
    ]  # fmt: skip
    pom = (ROOT / "jars" / "pom.xml").read_text(encoding="utf-8")
    for name, line in (("spark", lines[2]), ("hudi", lines[3]), ("kafka.clients", lines[4])):
        (pinned,) = re.findall(f"<{name}.version>(.+)</", pom)
        assert pinned in line


def test_a_missing_java_is_named_and_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version is also for those whose installation does not work."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert version_text().splitlines()[-1].startswith("Java not found: JAVA_HOME is ")


def test_the_version_of_java_is_read_from_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No JVM starts: the program would fail."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.9"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert version_text().splitlines()[-1] == f"Java 17 ({tmp_path}/bin/java)"


def test_the_version_is_in_one_place() -> None:
    """`pyproject.toml`; no other file of the package repeats it."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert [
        path for path in (ROOT / "ingest").rglob("*.py") if f'= "{version}"' in path.read_text("utf-8")
    ] == []
