"""The task group, the DAG of a folder, the examples and the provider, as Airflow parses them."""

import inspect
import json
import re
import runpy
import subprocess
import sys
from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from airflow.providers_manager import ProvidersManager
from airflow.sdk import DAG, AssetAlias, task
from airflow.sdk.definitions.mappedoperator import MappedOperator

from ingest.errors import UsageError
from ingest.schedule import IngestOperator, ingest_dag, ingest_task_group, list_tables
from ingest.schedule.dag import DEFAULT_ARGS

ROOT = Path(__file__).parents[2]
TABLE = (
    'table = "{name}"\ntopic = "s.d.{name}"\ndialect = "sqlserver"\n[subjects]\nvalue = "s.d.{name}-value"\n'
)
WHERE = {"executable": "/opt/ingest/bin/ingest", "settings": "/etc/ingest/ingest.toml"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of three table files, one of them broken."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.toml").write_text(TABLE.format(name=name))
    (tmp_path / "c.toml").write_text(TABLE.format(name="c") + "colour = 1\n")
    return tmp_path


def mapped(dag: DAG, task_id: str = "ingest.run") -> MappedOperator:
    """Return a group's mapped task."""
    operator = dag.get_task(task_id)
    assert isinstance(operator, MappedOperator)
    return operator


def shares(dag: DAG) -> Any:
    """Return the arguments of each mapped task."""
    return mapped(dag).expand_input.value["tables"]


# --- folders -----------------------------------------------------------------------------------


def test_a_broken_table_file_affects_only_its_task(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A warning names it, and its task fails with the reason."""
    assert list_tables(folder) == ("a", "b", "c")

    (warning,) = (record.getMessage() for record in caplog.records)
    assert f"{folder}/c.toml:6: subjects.colour: unknown key" in warning


def test_a_folder_without_tables_is_an_import_error(tmp_path: Path) -> None:
    """An empty DAG would look healthy."""
    for path, words in ((tmp_path, "has no table files"), (tmp_path / "x", "does not exist")):
        with pytest.raises(UsageError, match=words):
            ingest_dag("d", tables_dir=str(path), operator_args=WHERE)


# --- DAG and group -----------------------------------------------------------------------------


def test_a_dag_has_a_mapped_task_per_table(folder: Path) -> None:
    """With DAG's own arguments, and defaults for temporary failures."""
    start = datetime(2026, 1, 1)  # noqa: DTZ001  as Airflow users write it
    dag = ingest_dag(
        "lake", tables_dir=str(folder), operator_args={**WHERE, "pool": "spark"}, schedule="@hourly",
        start_date=start, tags=["lake"], default_args={"owner": "me", "retries": 7},
    )  # fmt: skip

    operator = mapped(dag)
    assert shares(dag) == ["a", "b", "c"]
    assert (dag.catchup, dag.max_active_runs, dag.tags) == (False, 1, {"lake"})
    assert (operator.pool, operator.owner, operator.retries) == ("spark", "me", 7)
    assert operator.retry_delay == DEFAULT_ARGS["retry_delay"] == timedelta(minutes=2)
    assert operator.partial_kwargs["outlets"] == [AssetAlias(name="hudi://lake")]
    again = operator.unmap({"tables": "b"})
    assert isinstance(again, IngestOperator)
    assert again.command().line("r.json") == (
        "/opt/ingest/bin/ingest", "run", "b", "--settings", "/etc/ingest/ingest.toml",
        "--tables", str(folder), "--report", "r.json",
    )  # fmt: skip


def test_tables_share_a_task_and_its_spark_session(folder: Path) -> None:
    """Several per task, or all of them; names take precedence over the folder."""
    for per_task, expected in ((2, [["a", "b"], ["c"]]), (None, [["a", "b", "c"]])):
        dag = ingest_dag("d", tables_dir=str(folder), tables_per_task=per_task, operator_args=WHERE)
        assert shares(dag) == expected
    assert shares(ingest_dag("d", tables=["x"], tables_dir=str(folder), operator_args=WHERE)) == ["x"]


def test_a_group_takes_its_tables_from_another_task(folder: Path) -> None:
    """For parsers that cannot read the folder; invalid combinations fail when the DAG is parsed."""
    with DAG("d", schedule=None) as dag:

        @task
        def names() -> list[str]:
            return list(list_tables(folder))

        tables = names()
        group = ingest_task_group("later", tables=tables, **WHERE)
        for wrong in ({"tables": tables, "tables_per_task": 2}, {"tables": []}, {}):
            with pytest.raises(UsageError):
                ingest_task_group(f"wrong{len(wrong)}{len(dag.task_dict)}", **wrong, **WHERE)

    assert mapped(dag, "later.run").upstream_task_ids == {"names"}
    assert group.group_id == "later"


def test_a_wrong_argument_fails_when_the_dag_is_parsed(folder: Path) -> None:
    """Airflow names it."""
    with pytest.raises(TypeError, match="max_offset"):
        ingest_dag("d", tables_dir=str(folder), operator_args={**WHERE, "max_offset": 1})


# --- examples and provider ---------------------------------------------------------------------


def test_the_examples_are_dags(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file contains the word airflow, without which Airflow skips it."""
    monkeypatch.setenv("INGEST_TABLES", str(folder))
    dags = {}
    for path in sorted((ROOT / "ingest" / "schedule" / "example_dags").glob("example_*.py")):
        assert "airflow" in path.read_text().lower()
        dags |= {
            value.dag_id: value for value in runpy.run_path(str(path)).values() if isinstance(value, DAG)
        }

    assert list(dags) == ["example_ingest_dag", "example_after_customers"]
    assert shares(dags["example_ingest_dag"]) == ["a", "b", "c"]


def test_the_code_of_the_page_runs(folder: Path) -> None:
    """Every Python block of docs/airflow.md, over an existing folder of tables."""
    text = (ROOT / "docs" / "airflow.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for block in blocks:
        code = block.replace("/etc/ingest/tables", str(folder))
        exec(compile(code, "docs/airflow.md", "exec"), {"IngestOperator": IngestOperator})  # noqa: S102  ours

    assert len(blocks) == 5


def test_every_argument_of_the_operator_is_on_the_page() -> None:
    """And every argument on the page exists."""
    text = (ROOT / "docs" / "airflow.md").read_text(encoding="utf-8")
    table = text.partition("## IngestOperator")[2].partition("All but the last two")[0]
    named = re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines() if "| " in line))
    own = {
        name
        for name, parameter in inspect.signature(IngestOperator.__init__).parameters.items()
        if parameter.kind == parameter.KEYWORD_ONLY
    }

    assert set(named) == own - {"task_id"}
    assert own - set(IngestOperator.template_fields) == {"kill_after_s", "lake"}


def test_airflow_discovers_the_provider() -> None:
    """By its entry point, validated against Airflow's schema of providers."""
    provider = ProvidersManager().providers["hudi-cdc-ingest"]

    assert provider.data["package-name"] == "hudi-cdc-ingest"
    modules = [name for entry in provider.data["operators"] for name in entry["python-modules"]]
    assert all(find_spec(name) for name in modules)


# --- parsing -----------------------------------------------------------------------------------

PARSE = """
import json, socket, sys, time
def refuse(*_): raise AssertionError("parsing reached the network")
socket.socket.connect = socket.getaddrinfo = refuse
import airflow.sdk
started = time.process_time()
from ingest.schedule import ingest_dag
dag = ingest_dag("d", tables_dir=sys.argv[1], operator_args={"executable": "/x/ingest"})
heavy = ("pyspark", "py4j", "confluent_kafka", "ingest.run", "ingest.registry", "ingest.cli")
found = [name for name in sys.modules if name in heavy]
print(json.dumps({"heavy": found, "cpu_s": time.process_time() - started}))
"""


def test_parsing_a_thousand_tables_is_light(tmp_path: Path) -> None:
    """Neither Spark nor a Kafka client is imported, no socket connects; CPU time stays below 2 s."""
    for number in range(1_000):
        (tmp_path / f"t{number}.toml").write_text(TABLE.format(name=f"t{number}"))

    done = subprocess.run(
        [sys.executable, "-c", PARSE, str(tmp_path)], capture_output=True, text=True, check=True
    )

    measured = json.loads(done.stdout.splitlines()[-1])
    assert measured["heavy"] == []
    assert measured["cpu_s"] < 2
