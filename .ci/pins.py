"""Write `ingest/jars/pins.json`: coordinates from `jars/pom.xml`, sizes and checksums from `jars/lib`.

`make pins` runs it; `tests/jars/test_pins.py` compares the file with both.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

ROOT: Final = Path(__file__).parents[1]
NAMESPACE: Final = {"m": "http://maven.apache.org/POM/4.0.0"}
PARTS: Final = ("groupId", "artifactId", "version")


def pins() -> Iterator[dict[str, Any]]:
    """Yield an entry for each artifact of the profile `spark`."""
    pom = ET.parse(ROOT / "jars" / "pom.xml").getroot()  # noqa: S314  our own file
    names = {
        item.tag.partition("}")[2]: item.text or "" for item in pom.iterfind("m:properties/*", NAMESPACE)
    }
    profile = next(
        item
        for item in pom.iterfind("m:profiles/m:profile", NAMESPACE)
        if item.findtext("m:id", "", NAMESPACE) == "spark"
    )
    for item in profile.iterfind("m:dependencies/m:dependency", NAMESPACE):
        texts = [item.findtext(f"m:{part}", "", NAMESPACE) for part in PARTS]
        group, name, version = (
            re.sub(r"\$\{([^}]+)\}", lambda match: names[match[1]], text) for text in texts
        )
        content = (ROOT / "jars" / "lib" / f"{name}-{version}.jar").read_bytes()
        yield {
            "coordinate": f"{group}:{name}:{version}",
            "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }


if __name__ == "__main__":
    text = json.dumps(list(pins()), indent=2)
    (ROOT / "ingest" / "jars" / "pins.json").write_text(text + "\n", encoding="utf-8")
