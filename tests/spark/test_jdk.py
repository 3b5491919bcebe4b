"""The Java that starts Spark is checked before the start: exit code 2, with version, path and remedy."""

from pathlib import Path

import pytest

from ingest.errors import UsageError
from ingest.spark.jdk import check_spark_java, find_java


def install(home: Path, version: str, *, release: bool = False) -> Path:
    """Make a Java that prints a version, and has a file `release` like an installed one."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-09-16' >&2\n")
    program.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\nOS_NAME="Linux"\n')
    return program


@pytest.mark.parametrize("release", [True, False])
@pytest.mark.parametrize("version", ["11.0.2", "17.0.19", "21", "22.0.1"])
def test_a_java_that_spark_runs_on_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, *, release: bool
) -> None:
    """By its release file, or by its own answer."""
    program = install(tmp_path, version, release=release)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check_spark_java()
    assert find_java().program == str(program)
    assert find_java().version == int(version.partition(".")[0])


@pytest.mark.parametrize("release", [True, False])
@pytest.mark.parametrize(("version", "feature"), [("1.8.0_402", "8"), ("23", "23"), ("25.0.1", "25")])
def test_a_java_that_spark_fails_on_is_named_before_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, feature: str, *, release: bool
) -> None:
    """Path, version found, versions allowed, remedy."""
    program = install(tmp_path, version, release=release)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        check_spark_java()
    problem = f"{program} is Java {feature}, and Spark 3.5 runs on Java 11 to 22"
    assert str(caught.value) == f"{problem}. Install Java 17, or set JAVA_HOME to it."
    assert caught.value.exit_code == 2


def test_a_missing_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No JAVA_HOME and no `java` on PATH; a JAVA_HOME without Java; a Java that does not run or answer."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="`java` is not on PATH, and JAVA_HOME is not set"):
        find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=rf"JAVA_HOME is {tmp_path}, which has no program bin/java"):
        find_java()
    program = install(tmp_path, "17")
    program.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(UsageError, match=r"bin/java cannot run: .*exit status 3"):
        find_java()
    program.write_text("#!/bin/sh\necho hello >&2\n")
    with pytest.raises(UsageError, match=r"bin/java does not print a version: 'hello'"):
        find_java()
