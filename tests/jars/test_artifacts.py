"""Where the JVM artifacts are."""

import hashlib
import json
import os
import shutil
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
    assert find_artifacts().root == ROOT / "jars"


def test_scripts_find_the_jars_under_the_documented_name() -> None:
    """docs/cluster.md and errors name `ingest.artifacts.spark_jars`."""
    assert documented_spark_jars is spark_jars


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Pin an archive with one file as the registry's, and a small jar as the broker's."""
    (tmp_path / "app" / "lib").mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", tmp_path / "app" / "lib")
    packed = shutil.make_archive(str(tmp_path / "app"), "gztar", tmp_path / "app")
    content = Path(packed).read_bytes()
    pins = {
        "broker": [_pin("org.example:broker:1.0", b"jar")],
        "registry": [_pin("org.example:app:tar.gz:all:1.0", content)],
    }
    (tmp_path / "pins.json").write_text(json.dumps(pins))
    monkeypatch.setattr("ingest.jars.pins.FILE", tmp_path / "pins.json")
    return content


def test_an_installed_package_fetches_broker_and_registry_once(
    tmp_path: Path, archive: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without Maven.  The archive is unpacked as a whole, and then removed."""
    installed = Artifacts(tmp_path / "cache", tmp_path / "own.jar")
    files: dict[str, bytes | Path] = {"broker-1.0.jar": b"jar", "app-1.0-all.tar.gz": archive}
    with serve(files) as mirror:
        monkeypatch.setenv("INGEST_SPARK_REPOSITORY", mirror.url)
        assert (installed.broker() / "broker-1.0.jar").read_bytes() == b"jar"
        license_file = installed.registry() / "lib" / "LICENSE"
        assert license_file.read_bytes() == (ROOT / "LICENSE").read_bytes()
        assert f"fetching app-1.0-all.tar.gz, 0.0 MB, from {mirror.url}" in capsys.readouterr().err
        assert (installed.broker(), installed.registry()) == (
            tmp_path / "cache" / "broker",
            license_file.parents[1],
        )
        assert len(mirror.requests) == 2
    assert sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()) == [
        ".lock", ".lock", ".lock", ".stamp", "LICENSE", "broker-1.0.jar",
    ]  # fmt: skip


@pytest.mark.usefixtures("archive")
def test_a_checkout_lets_make_fetch(tmp_path: Path) -> None:
    """Maven resolves its pom, and an older pin must not come beside a newer jar."""
    checkout = Artifacts(tmp_path / "jars", tmp_path / "own.jar", tmp_path)
    with pytest.raises(LocalServerError, match=r"jars/broker lacks broker-1\.0\.jar\. Run `make jars`"):
        checkout.broker()
    with pytest.raises(LocalServerError, match=r"lacks app-1\.0-all\.tar\.gz\. Run `make jars`"):
        checkout.registry()


def test_an_unwritable_cache_is_named_with_the_remedy(tmp_path: Path) -> None:
    """A file in its path, as good as a read-only disk or another user's home: exit code 2."""
    (tmp_path / "file").touch()
    installed = Artifacts(tmp_path / "file" / "jars", tmp_path / "own.jar")
    with pytest.raises(UsageError, match=rf"{tmp_path}/file/jars/broker, is not writable: .*XDG_CACHE_HOME"):
        installed.broker()


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
    lib = find_artifacts().root / "lib"
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


def _artifacts(folder: Path) -> Artifacts:
    """Return artifacts whose jars and sources are in one folder."""
    return Artifacts(folder, folder / "own.jar", folder)


def _pin(coordinate: str, content: bytes) -> dict[str, object]:
    digest = hashlib.sha256(content).hexdigest()
    return {"coordinate": coordinate, "size": len(content), "sha256": digest}
