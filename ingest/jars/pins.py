"""The pinned artifacts.  `make pins` writes `pins.json`: what Maven resolves for `jars/pom.xml`."""

import hashlib
import json
from pathlib import Path
from typing import Final, Literal

import attrs

FILE: Final = Path(__file__).parent / "pins.json"


@attrs.frozen
class PinnedJar:
    """An artifact of a Maven repository: its coordinate, its size in bytes and its SHA-256.

    The coordinate is `group:name:version` of a jar, or `group:name:type:classifier:version`.
    """

    coordinate: str
    size: int
    sha256: str

    @property
    def file(self) -> str:
        """The name of the file, as Maven copies it."""
        match self.coordinate.split(":"):
            case _, name, kind, classifier, version:
                return f"{name}-{version}-{classifier}.{kind}"
            case _, name, version:
                return f"{name}-{version}.jar"
            case _:
                raise ValueError(self.coordinate)

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
        group, name = self.coordinate.split(":")[:2]
        return f"{group.replace('.', '/')}/{name}/{self.version}/{self.file}"

    def has_size_of(self, path: Path) -> bool:
        """Whether a file exists and has the pinned size: cheap enough for every start."""
        return path.is_file() and path.stat().st_size == self.size

    def equals(self, path: Path) -> bool:
        """Whether a file exists and has the pinned content."""
        return self.has_size_of(path) and sha256_of(path) == self.sha256


def read_pins(name: Literal["lib", "broker", "registry"] = "lib") -> tuple[PinnedJar, ...]:
    """Return what a folder needs: `lib` is a Spark job's, without the jar of ingest's functions."""
    return tuple(PinnedJar(**entry) for entry in json.loads(FILE.read_text(encoding="utf-8"))[name])


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
