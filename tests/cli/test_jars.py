"""`ingest jars`, with the real jars from a server on loopback."""

import json
from pathlib import Path

import pytest

from ingest.cli.app import call
from ingest.jars.artifacts import find_artifacts
from ingest.jars.pins import read_pins
from tests.jars.mirror import serve


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder without settings."""
    monkeypatch.chdir(tmp_path)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_a_fetched_folder_has_all_that_a_spark_job_needs(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--to`: six verified jars and our own, from the repository of the settings; then nothing is missing."""
    lib = find_artifacts().root / "lib"
    with serve({jar.repository_path: lib / jar.file for jar in read_pins()}) as mirror:
        Path("ingest.toml").write_text(f'[spark]\nrepository = "{mirror.url}"\n')
        assert call(["jars", "fetch", "--to", "jars", "--json"]) == 0
    folder = elsewhere / "jars"
    fetched = json.loads(capsys.readouterr().out)
    assert fetched == {"folder": str(folder), "fetched": [jar.file for jar in read_pins()]}
    assert {path.name for path in folder.glob("*.jar")} == {path.name for path in lib.glob("*.jar")}

    assert call(["jars", "fetch", "--to", "jars"]) == 0
    assert "6 jars are present and verified, 0 of them new" in " ".join(capsys.readouterr().out.split())


def test_a_folder_that_cannot_take_our_own_jar_is_named(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All else is there, and a folder has the jar's name: exit code 2."""
    lib = find_artifacts().root / "lib"
    (elsewhere / "jars" / "ingest-functions.jar" / "ingest-functions.jar").mkdir(parents=True)
    for jar in read_pins():
        (elsewhere / "jars" / jar.file).symlink_to(lib / jar.file)
    assert call(["jars", "fetch", "--to", "jars"]) == 2
    assert "ingest-functions.jar cannot be written to" in capsys.readouterr().err


def test_the_list_says_where_to_place_each_missing_file(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For a machine without a network: path, checksum and path in a repository; also as JSON."""
    monkeypatch.setenv("INGEST_SPARK_JARS", str(elsewhere / "empty"))
    assert call(["jars", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    jar = read_pins()[0]
    assert rows[0] == {
        "file": jar.file,
        "coordinate": jar.coordinate,
        "bytes": jar.size,
        "sha256": jar.sha256,
        "path": str(elsewhere / "empty" / jar.file),
        "repository_path": jar.repository_path,
        "state": "missing",
    }
    assert call(["jars", "list"]) == 0
    text = capsys.readouterr().out
    assert "To fetch 6 files, 86.6 MB: `ingest jars fetch`." in text
    assert all(jar.sha256 in text and f"  {jar.repository_path}\n" in text for jar in read_pins())


def test_the_list_of_a_complete_folder_has_no_advice(capsys: pytest.CaptureFixture[str]) -> None:
    """As in this checkout."""
    assert call(["jars", "list"]) == 0
    text = capsys.readouterr().out
    assert text.count("present") == 6
    assert "To fetch" not in text


def test_nothing_is_fetched_in_place_of_the_users_own_jars(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`[spark] jars` wins: exit code 2, and the remedy."""
    monkeypatch.setenv("INGEST_SPARK_JARS", str(elsewhere))
    assert call(["jars", "fetch"]) == 2
    assert "which replaces the jars that `ingest` fetches. Remove the setting" in capsys.readouterr().err
