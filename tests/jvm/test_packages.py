"""The packages of `jvm/` depend on `spark` and on none of the others."""

import re
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "jvm/src/main/java/io/hudicdc/ingest"
IMPORT = re.compile(r"^import (?:static )?io\.hudicdc\.ingest\.(\w+)\.", re.MULTILINE)


def test_each_package_imports_spark_alone() -> None:
    """The class above them registers all functions."""
    packages = sorted(path.name for path in SOURCES.iterdir() if path.is_dir())
    assert packages == ["avro", "checksum", "framing", "hudi", "json", "latest", "position", "spark", "time"]
    for package in packages:
        texts = [file.read_text(encoding="utf-8") for file in (SOURCES / package).iterdir()]
        imported = {name for text in texts for name in IMPORT.findall(text)}
        assert imported <= ({"spark"} if package != "spark" else set()), package
