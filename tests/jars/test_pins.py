"""The pins in the package, against the pom and the jars that Maven resolved."""

import json
import runpy
from pathlib import Path
from typing import Literal

import pytest

from ingest.jars.artifacts import find_artifacts
from ingest.jars.folder import JarFolder
from ingest.jars.pins import FILE, PinnedJar, read_pins

ROOT = Path(__file__).parents[2]


@pytest.mark.servers
def test_the_pins_are_what_maven_resolves() -> None:
    """`make pins` after a change of jars/pom.xml: an installed package must fetch what the suite ran with."""
    pins = runpy.run_path(str(ROOT / ".ci" / "pins.py"))["pins"]
    assert json.loads(FILE.read_text()) == pins()


@pytest.mark.parametrize("name", ["lib", "broker"])
def test_every_resolved_jar_is_pinned(name: Literal["lib", "broker"]) -> None:
    """No jar of a checkout is missing in an installed package, but our own."""
    folder = find_artifacts().root / name
    pins = read_pins(name)
    assert {path.name for path in folder.glob("*.jar")} - {"ingest-functions.jar"} == {
        jar.file for jar in pins
    }
    assert set(JarFolder(folder, pins).states().values()) == {"present"}


def test_the_pinned_registry_is_the_one_of_the_pom() -> None:
    """Its archive has the version that the checkout's tests run."""
    (archive,) = read_pins("registry")
    pom = (ROOT / "jars" / "pom.xml").read_text(encoding="utf-8")
    assert f"<registry.version>{archive.version}</" in pom


def test_a_coordinate_has_its_place_in_a_repository() -> None:
    """Maven's layout, also of an archive with a classifier."""
    jar = PinnedJar("org.apache.spark:spark-avro_2.12:3.5.7", 1, "")
    assert jar.file == "spark-avro_2.12-3.5.7.jar"
    assert jar.repository_path == f"org/apache/spark/spark-avro_2.12/3.5.7/{jar.file}"
    archive = PinnedJar("org.example:app:tar.gz:all:1.0", 1, "")
    assert (archive.file, archive.version) == ("app-1.0-all.tar.gz", "1.0")
    assert archive.repository_path == "org/example/app/1.0/app-1.0-all.tar.gz"
