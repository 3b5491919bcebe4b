"""Which repository is asked, and who names it."""

from pathlib import Path

import pytest

from ingest.errors import UsageError
from ingest.jars.repository import find_repository

MIRROR = """<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0"><mirrors>
<mirror><id>a</id><mirrorOf>other</mirrorOf><url>https://other.example.com/</url></mirror>
<mirror><id>b</id><mirrorOf>*,!central</mirrorOf><url>https://not-central.example.com/</url></mirror>
<mirror><id>c</id><mirrorOf>snapshots,central</mirrorOf><url>https://mirror.example.com/maven/</url></mirror>
</mirrors></settings>"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a home without Maven's settings, and an environment without ours."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("INGEST_SPARK_REPOSITORY", raising=False)
    (tmp_path / ".m2").mkdir()
    return tmp_path


def test_the_setting_precedes_the_variable_and_that_mavens_mirror(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each source by itself, from the last to the first."""
    (home / ".m2" / "settings.xml").write_text(MIRROR)
    assert find_repository().url == "https://mirror.example.com/maven/"
    monkeypatch.setenv("INGEST_SPARK_REPOSITORY", "https://variable.example.com")
    assert find_repository().url == "https://variable.example.com"
    assert find_repository("https://setting.example.com").url == "https://setting.example.com"


def test_the_default_is_the_repository_of_sparks_own_resolver() -> None:
    """Its name is in a properties file of Ivy's jar, which pyspark brings: no JVM starts to read it."""
    repository = find_repository()
    assert repository.url.startswith("https://")
    assert repository.url.endswith("/maven2/")
    assert "/pyspark/jars/ivy-" in repository.source
    assert repository.url_of("a/b.jar") == f"{repository.url}a/b.jar"


def test_an_address_that_is_not_a_url_is_refused_with_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder, or a host without scheme."""
    with pytest.raises(UsageError, match=r"\[spark\] repository: /srv/maven is not an http or https address"):
        find_repository("/srv/maven")
    monkeypatch.setenv("INGEST_SPARK_REPOSITORY", "mirror.example.com")
    with pytest.raises(UsageError, match=r"variable INGEST_SPARK_REPOSITORY: mirror\.example\.com is not"):
        find_repository()


def test_settings_of_maven_that_are_not_xml_are_named(home: Path) -> None:
    """Not skipped: another repository than the user's is no silent choice."""
    (home / ".m2" / "settings.xml").write_text("<settings>")
    with pytest.raises(UsageError, match=r"settings\.xml is not XML: .*or set \[spark\] repository"):
        find_repository()


def test_a_password_is_never_shown() -> None:
    """Neither by repr nor in a message."""
    repository = find_repository("https://ann:s3cret@mirror.example.com/maven")
    assert repository.shown == "https://***@mirror.example.com/maven"
    assert "s3cret" not in repr(repository)
