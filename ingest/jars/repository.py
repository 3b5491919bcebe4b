"""The Maven repository to fetch jars from."""

import os
import re
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import attrs

from ingest.errors import UsageError

VARIABLE: Final = "INGEST_SPARK_REPOSITORY"
MIRRORED: Final = frozenset({"*", "central", "external:*"})
"""The values of Maven's `mirrorOf` that include its central repository."""
_DEFAULTS: Final = "org/apache/ivy/core/settings/repository.properties"
_ROOT: Final = re.compile(r"^ivy\.ibiblio\.default\.artifact\.root\s*=\s*(\S+)", re.MULTILINE)
_LOGIN: Final = re.compile(r"//[^/@]*@")


@attrs.frozen
class Repository:
    """The base address of a repository, and the source of that address."""

    url: str = attrs.field(repr=False)
    source: str

    @property
    def shown(self) -> str:
        """The address without user and password."""
        return _LOGIN.sub("//***@", self.url)

    def url_of(self, path: str) -> str:
        """Return the address of a file."""
        return f"{self.url.rstrip('/')}/{path}"


def find_repository(setting: str = "") -> Repository:
    """Choose the repository: the setting, the variable, Maven's mirror, or the default of Spark's resolver.

    Spark resolves `--packages` with Ivy.  Its jar in `pyspark/jars` names the central repository.  Raises
    `UsageError` if no source names an address, or if the address is not http or https.
    """
    for repository in _candidates(setting):
        if not repository.url.startswith(("https://", "http://")):
            raise UsageError(
                f"{repository.source}: {repository.shown} is not an http or https address",
                "Set [spark] repository to the base address of a Maven repository",
            )
        return repository
    raise UsageError(
        "the address of a Maven repository is not set, and pyspark, which names one, is not installed",
        f"Set [spark] repository or {VARIABLE}, or pip install 'hudi-cdc-ingest[spark]'",
    )


def _candidates(setting: str) -> Iterator[Repository]:
    if setting:
        yield Repository(setting, "[spark] repository")
    if variable := os.environ.get(VARIABLE):
        yield Repository(variable, f"environment variable {VARIABLE}")
    settings = Path.home() / ".m2" / "settings.xml"
    yield from (Repository(url, str(settings)) for url in _mirrors(settings))
    for jar in _ivy_jars():
        with zipfile.ZipFile(jar) as archive:
            defaults = archive.read(_DEFAULTS).decode() if _DEFAULTS in archive.namelist() else ""
        if match := _ROOT.search(defaults):
            yield Repository(match[1], str(jar))


def _mirrors(settings: Path) -> Iterator[str]:
    """Find Maven's mirrors of the central repository.  Logins of `<servers>` are not used."""
    if not settings.is_file():
        return
    try:
        root = ET.parse(settings).getroot()  # noqa: S314  the user's own file
    except ET.ParseError as error:
        raise UsageError(f"{settings} is not XML: {error}", "Correct it, or set [spark] repository") from None
    for mirror in root.iterfind("{*}mirrors/{*}mirror"):
        covered = {name.strip() for name in mirror.findtext("{*}mirrorOf", "").split(",")}
        url = mirror.findtext("{*}url", "").strip()
        if url and covered & MIRRORED and "!central" not in covered:
            yield url


def _ivy_jars() -> Iterator[Path]:
    spec = find_spec("pyspark")
    homes = [Path(os.environ["SPARK_HOME"])] if os.environ.get("SPARK_HOME") else []
    homes += [Path(spec.origin).parent] if spec and spec.origin else []
    for home in homes:
        yield from sorted((home / "jars").glob("ivy-*.jar"))
