"""The pins in the package, against the pom and the jars that Maven resolved."""

import json
import runpy
from pathlib import Path

from ingest.jars.artifacts import find_artifacts
from ingest.jars.folder import JarFolder
from ingest.jars.pins import FILE, PinnedJar, read_pins

ROOT = Path(__file__).parents[2]


def test_the_pins_are_those_of_the_pom_and_the_resolved_jars() -> None:
    """`make pins` after a change of jars/pom.xml: an installed package must fetch what the suite ran with."""
    pins = runpy.run_path(str(ROOT / ".ci" / "pins.py"))["pins"]
    assert json.loads(FILE.read_text()) == list(pins())


def test_every_resolved_jar_is_pinned() -> None:
    """No jar of a checkout is missing in an installed package, but our own."""
    lib = find_artifacts().root / "lib"
    assert {path.name for path in lib.glob("*.jar")} - {"ingest-functions.jar"} == {
        jar.file for jar in read_pins()
    }
    assert set(JarFolder(lib).states().values()) == {"present"}


def test_a_coordinate_has_its_place_in_a_repository() -> None:
    """Maven's layout."""
    jar = PinnedJar("org.apache.spark:spark-avro_2.12:3.5.7", 1, "")
    assert jar.file == "spark-avro_2.12-3.5.7.jar"
    assert jar.repository_path == f"org/apache/spark/spark-avro_2.12/3.5.7/{jar.file}"
