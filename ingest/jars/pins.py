"""The pinned jars.  `make pins` writes `pins.json` from `jars/pom.xml` and the files that Maven resolved."""

import hashlib
import json
from pathlib import Path
from typing import Final

import attrs

FILE: Final = Path(__file__).parent / "pins.json"


@attrs.frozen
class PinnedJar:
    """An artifact of a Maven repository: `group:name:version`, its size in bytes and its SHA-256."""

    coordinate: str
    size: int
    sha256: str

    @property
    def file(self) -> str:
        """The name of the file, as Maven copies it."""
        _, name, version = self.coordinate.split(":")
        return f"{name}-{version}.jar"

    @property
    def artifact(self) -> str:
        """The name of the artifact, without the Scala version."""
        return self.coordinate.split(":")[1].partition("_")[0]

    @property
    def version(self) -> str:
        """The version of the artifact."""
        return self.coordinate.rpartition(":")[2]

    @property
    def repository_path(self) -> str:
        """The path in a Maven repository."""
        group, name, version = self.coordinate.split(":")
        return f"{group.replace('.', '/')}/{name}/{version}/{self.file}"

    def has_size_of(self, path: Path) -> bool:
        """Whether a file exists and has the pinned size: cheap enough for every start."""
        return path.is_file() and path.stat().st_size == self.size

    def equals(self, path: Path) -> bool:
        """Whether a file exists and has the pinned content."""
        return self.has_size_of(path) and sha256_of(path) == self.sha256


def read_pins() -> tuple[PinnedJar, ...]:
    """Return the jars that a Spark job needs, apart from the jar of ingest's functions."""
    return tuple(PinnedJar(**entry) for entry in json.loads(FILE.read_text(encoding="utf-8")))


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def megabytes(size: int) -> str:
    """Write a size for people: 80.7 MB."""
    return f"{size / 1e6:,.1f} MB"
