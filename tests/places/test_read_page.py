"""Each block of docs/read.md reads a table of the version that its reader needs."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark
import pytest
from pyspark.sql import SparkSession

from ingest.jars.artifacts import spark_jars
from ingest.local.ports import choose_port
from ingest.local.servers import Addresses
from tests.hudi.conftest import VERSION, Lake, timeline_of
from tests.places.deployment import Place, jar_folder
from tests.places.matrix import BUNDLES, PROGRAMS, make_frame
from tests.places.metastore import running_metastore
from tests.places.process import running
from tests.places.s3 import S3

pytestmark = [pytest.mark.places, pytest.mark.spark, pytest.mark.servers]

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


def run(python: Path | str, code: str, folder: Path, *arguments: str) -> str:
    """Run code in a process without `ingest`, in a zone of its user, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [python, "-c", code, *arguments], cwd=folder, check=False, capture_output=True, text=True,
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


QUERY: Final = """
import sys
from sqlalchemy import create_engine, inspect, text

engine = create_engine(sys.argv[1])
columns = [column["name"] for column in inspect(engine).get_columns("orders")]
print(inspect(engine).get_schema_names(), columns[-2:])
with engine.connect() as connection:
    print(sorted(map(tuple, connection.execute(text("select id, v from orders")))))
    print(sorted(map(tuple, connection.execute(text("select id, v from marts.newest")))))
"""
PROJECT: Final = {
    "dbt_project.yml": "name: shop\nprofile: shop\n"
    "models: {shop: {+materialized: table, +file_format: parquet}}\n",
    "profiles.yml": "shop: {target: dev, outputs: {dev: {type: spark, method: thrift, host: 127.0.0.1, "
    "port: PORT, user: ingest, schema: marts}}}\n",
    "models/newest.sql": "select id, v from {{ source('bronze', 'orders') }}\n",
}


@pytest.fixture
def empty_metastore(tmp_path_factory: pytest.TempPathFactory, s3: S3) -> Iterator[str]:
    """Run a metastore that no other test enters tables in."""
    with running_metastore(tmp_path_factory.mktemp("metastore"), s3) as uri:
        yield uri


def test_dbt_and_sqlalchemy_read_a_table_that_a_run_entered_in_the_metastore(
    empty_metastore: str,
    outer_spark: SparkSession,
    servers: Addresses,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a Spark Thrift server that starts as the page says; dbt builds a table of the rows."""
    conf = {"spark.hadoop.hive.metastore.uris": empty_metastore}
    place = Place(tmp_path, servers, outer_spark, str(tmp_path / "lake"), conf)
    place.create("cow")
    monkeypatch.setenv("INGEST_LAKE_DATABASE", "bronze")
    for _ in range(2):
        place.change()
        with place.start(jar_folder(tmp_path / f"jars{len(place.rows)}", []), "run") as process:
            assert process.wait(300) == 0
    project = {**PROJECT, "models/sources.yml": f"version: 2\n{block('dbt and Superset', 'yaml')}"}
    with running_thrift_server(block("dbt and Superset", "bash"), empty_metastore, tmp_path) as port:
        for name, text in project.items():
            (tmp_path / "shop" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "shop" / name).write_text(text.replace("PORT", str(port)))
        dbt = [PROGRAMS.parent / "dbt", "run", "--profiles-dir", "."]
        done = subprocess.run(dbt, cwd=tmp_path / "shop", check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:]
        printed = run(PROGRAMS, QUERY, tmp_path, f"hive://ingest@127.0.0.1:{port}/bronze").splitlines()
    rows = f"{sorted(place.rows.items())}"
    assert printed == ["['bronze', 'default', 'marts'] ['id', 'v']", rows, rows]


@contextmanager
def running_thrift_server(command: str, metastore: str, folder: Path) -> Iterator[int]:
    """Run the server of a block of the page, on a free port of loopback, which is yielded."""
    (jar,) = [jar for jar in spark_jars() if jar.name == OURS]
    port, log = choose_port(), folder / "server.log"
    words = command.replace(f"/opt/jars/{OURS}", str(jar)).replace("thrift://metastore-1:9083", metastore)
    program, *options = shlex.split(words.replace("\\\n", " "))
    places = {"hive.server2.thrift.port": port, "hive.server2.thrift.bind.host": "127.0.0.1"}
    settings = ["--master", "local[1]", "--conf", f"spark.sql.warehouse.dir={folder}/warehouse"]
    binds = [word for key, value in places.items() for word in ("--hiveconf", f"{key}={value}")]
    server = [Path(pyspark.__file__).parent / "bin" / program, *settings, *options, *binds]
    env = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}
    with running(server, log, lambda: b"HiveThriftServer2 started" in log.read_bytes(), env):
        yield port


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
