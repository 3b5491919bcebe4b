"""Each block of docs/read.md reads a table of the version that its reader needs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from ingest.jars.artifacts import spark_jars
from tests.hudi.conftest import VERSION, Lake, timeline_of
from tests.places.matrix import BUNDLES, PROGRAMS, make_frame

pytestmark = [pytest.mark.places, pytest.mark.spark]

PAGE: Final = (Path(__file__).parents[2] / "docs" / "read.md").read_text(encoding="utf-8")
PACKAGES: Final = r'"spark\.jars\.packages", "[^"]+"'
INSTANT: Final = "20260301020007412"
COMPLETED: Final = "20260301020009118"
OURS: Final = "hudi-spark3.5-bundle_2.12-1.2.0.jar"
NEWEST: Final = [(1, "paid"), (2, "open"), (4, "new")]
SQL: Final = """
import json
print("ANSWERS", json.dumps([[*map(tuple, spark.sql(statement).collect())] for statement in {statements!r}]))
"""


def block(heading: str, language: str = "python") -> str:
    """Return the first block of a section in a language."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    found = re.search(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def write(lake: Lake, kind: str) -> tuple[str, str, str]:
    """Write a table of two commits; return its path, and the first one's instant and completion."""
    orders, types = lake.table("orders", type=kind, buckets=1), {"status": "string"}
    rows = [("c", 1, {"status": "'open'"}), ("c", 2, {"status": "'open'"}), ("c", 3, {})]
    first = lake.commit(orders, make_frame(lake, rows, types))
    later = [("u", 1, {"status": "'paid'"}), ("d", 3, {}), ("c", 4, {"status": "'new'"})]
    lake.commit(orders, make_frame(lake, later, types))
    (completed,) = timeline_of(lake.path(orders)).glob(f"{first}*commit")
    return lake.path(orders), str(first), completed.stem.rpartition("_")[2]


@pytest.fixture(scope="module")
def table(outer_spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """Return the path of a copy-on-write table, and its first commit's instant and completion."""
    return write(Lake(outer_spark, tmp_path_factory.mktemp("read") / "lake"), "cow")


def run(python: Path | str, code: str, folder: Path) -> str:
    """Run code in a process without `ingest`, in a zone of its user, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [python, "-c", code], cwd=folder, check=False, capture_output=True, text=True,
        env={**environment, "TZ": "America/New_York"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("reader", ["hudi-rs", "DuckDB", "Polars", "Daft"])
def test_a_program_prints_the_newest_rows(reader: str, table: tuple[str, str, str], tmp_path: Path) -> None:
    """Daft opens tables up to version 6 only."""
    if reader == "Daft" and VERSION > 6:
        pytest.skip("needs version 6")
    printed = run(PROGRAMS, block(reader).replace("/data/lake/orders", table[0]), tmp_path)
    found = re.findall(r"(?:\(|'id': )(\d+), '(?:status': ')?(\w+)'", re.sub(r"'_\w+': \S+ ", "", printed))
    assert sorted(found) == [(str(key), status) for key, status in NEWEST]


def test_duckdb_and_polars_show_the_newest_rows_of_a_merge_on_read_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Those that hudi-rs merges from a log file."""
    path, *_ = write(Lake(spark, tmp_path / "lake"), "mor")
    assert list(Path(path).glob(".*.log.*"))
    code = block("Merge-on-read tables").replace("/data/lake/orders", path)
    assert run(PROGRAMS, code, tmp_path).splitlines() == [f"{NEWEST}"] * 2


@pytest.mark.parametrize("bundle", [OURS, *(path.name for path in BUNDLES)])
def test_spark_shows_the_newest_rows_an_older_state_and_changes(
    bundle: str, table: tuple[str, str, str], tmp_path: Path
) -> None:
    """In a session with the settings of the page only; older versions of Hudi open tables of version 6."""
    if bundle != OURS and VERSION > 6:
        pytest.skip("needs version 6")
    path, instant, completed = table
    (jar,) = [jar for jar in (*spark_jars(), *BUNDLES) if jar.name == bundle]
    code = re.sub(PACKAGES, f'"spark.jars", "{jar}"', block("Spark"))
    statements = block("Spark", "sql").replace(INSTANT, instant).replace(COMPLETED, completed)
    code += SQL.format(statements=statements.replace(";", "").splitlines())
    printed = run(sys.executable, code.replace("/data/lake/orders", path), tmp_path)
    shown, _, answers = printed.partition("ANSWERS ")
    assert sorted(re.findall(r"\|\s*(\d+)\|\s*(\w+)\|\n", shown)) == [(str(key), it) for key, it in NEWEST]
    before, changed = [(1, "open"), (2, "open"), (3, None)], [NEWEST[0], NEWEST[2]]
    found = [[tuple(row) for row in rows] for rows in json.loads(answers.splitlines()[0])]
    assert found == [[], NEWEST, before, changed]
