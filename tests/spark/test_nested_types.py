"""Every type, nested in arrays, maps and structs, survives several commits in the JVM that the CLI starts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

SCRIPT = Path(__file__).with_name("nested_types.py")


@pytest.mark.parametrize("targets", ["usual", pytest.param("others", marks=pytest.mark.pairs)])
def test_nested_values_of_every_type_are_committed_again_and_again(tmp_path: Path, targets: str) -> None:
    """COW by both first loads, MOR with compaction; in the JVM of a plain start: class loaders differ."""
    done = subprocess.run(
        [sys.executable, SCRIPT, str(tmp_path), targets],
        capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["wrong"] == []
    assert report["tables"] == 4


SPLIT = """
from pathlib import Path
from pyspark.sql import SparkSession
from ingest.jars.artifacts import spark_jars
from ingest.errors import SettingsError
from ingest.hudi.class_path import check_class_path
from ingest.names import Subject, Topic
from ingest.spark.session import launch_conf, session_of
from ingest.tables import Subjects, TableConfig
from ingest.sql.types import parse_ddl
builder = SparkSession.builder.config("spark.jars", ",".join(map(str, spark_jars())))
for key, value in launch_conf("local[1]", {}, []).items():
    builder = builder.config(key, value)
spark = session_of(builder.getOrCreate())
table = TableConfig(
    name="t", topic=Topic("t"), dialect="sqlserver", subjects=Subjects(value=Subject("t-value"))
)
check_class_path(spark, table, {"a": parse_ddl("timestamp_ntz"), "b": parse_ddl("array<timestamp>")})
try:
    check_class_path(spark, table, {"a": parse_ddl("map<string,timestamp_ntz>")})
except SettingsError as error:
    print("refused:", error)
"""


def test_a_session_that_loads_hudi_apart_from_parquet_is_refused_such_columns() -> None:
    """As `spark-submit --jars` does; `plan` refuses as `run` does, since both fit the rows to the table."""
    done = subprocess.run(
        [sys.executable, "-c", SPLIT], capture_output=True, text=True, check=True, timeout=300
    )

    assert "refused: Spark session: spark.jars: table t, column a: Hudi cannot rewrite" in done.stdout
    assert "spark.executor.extraClassPath" in done.stdout
