"""The task group, the DAG of a folder, the examples and the provider, as Airflow parses them."""

import inspect
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from copy import copy
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
from ingest.schedule.states import AirflowFailException, AirflowSkipException
from tests.schedule.reports import report, script, table

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


def operator_of(dag: DAG, task_id: str) -> IngestOperator:
    """Return a task of a group."""
    operator = dag.get_task(f"ingest.{task_id}")
    assert isinstance(operator, IngestOperator)
    return operator


def tasks(dag: DAG) -> dict[str, Any]:
    """Return the tables of each task."""
    return {
        name.removeprefix("ingest."): task.tables
        for name, task in dag.task_dict.items()
        if isinstance(task, IngestOperator)
    }


def parse(folder: Path, **options: Any) -> DAG:
    """Return the DAG of a folder."""
    return ingest_dag("d", tables_dir=str(folder), **{"operator_args": WHERE, **options})


# --- folders -----------------------------------------------------------------------------------


def test_a_broken_table_file_affects_only_its_task(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing warns of it: every task parses the folder, and would say so in its own log."""
    (folder / "renamed.toml").write_text(TABLE.format(name="r") + "colour = 1\n")
    (folder / "second.toml").write_text(TABLE.format(name="r"))
    (folder / "torn file.toml").write_text("table =")
    (folder / "z.toml").write_text('table = "not a name"')

    assert list_tables(folder) == ("a", "b", "c", "r", "second", "torn file", "z")
    dag = parse(folder)
    assert list(tasks(dag).values()) == ["a", "b", "c", "r", "second", "torn file", "z"]
    (torn,) = (name for name in tasks(dag) if "torn" in name)
    assert re.fullmatch(r"torn_file-[0-9a-f]{8}", torn), "Airflow refuses the file's name as a task's"
    assert caplog.records == []


def test_a_folder_without_tables_is_an_import_error(tmp_path: Path) -> None:
    """An empty DAG would look healthy."""
    for path, words in ((tmp_path, "has no table files"), (tmp_path / "x", "does not exist")):
        with pytest.raises(UsageError, match=words):
            ingest_dag("d", tables_dir=str(path), operator_args=WHERE)


# --- DAG and group -----------------------------------------------------------------------------


def test_a_dag_has_a_task_per_table(folder: Path) -> None:
    """By name, with DAG's own arguments, and defaults for temporary failures."""
    start = datetime(2026, 1, 1)  # noqa: DTZ001  as Airflow users write it
    dag = ingest_dag(
        "lake", tables_dir=str(folder), operator_args={**WHERE, "pool": "spark"}, schedule="@hourly",
        start_date=start, tags=["lake"], default_args={"owner": "me", "retries": 7},
    )  # fmt: skip

    operator = operator_of(dag, "b")
    assert tasks(dag) == {"a": "a", "b": "b", "c": "c"}
    assert (dag.catchup, dag.tags) == (False, {"lake"})
    assert dag.max_active_runs > 1, "a table in retry does not hold up the next run"
    assert operator.max_active_tis_per_dag == 1
    assert (operator.pool, operator.owner, operator.retries) == ("spark", "me", 7)
    assert operator.retry_delay == DEFAULT_ARGS["retry_delay"] == timedelta(minutes=2)
    assert operator.outlets == [AssetAlias(name="hudi://lake")]
    assert operator.command().line("r.json") == (
        "/opt/ingest/bin/ingest", "run", "b", "--settings", "/etc/ingest/ingest.toml",
        "--tables", str(folder), "--report", "r.json",
    )  # fmt: skip


def test_tables_share_a_spark_session_and_keep_their_tasks(folder: Path) -> None:
    """Several per session, or all of them; a session with one table is that table's task."""
    two = parse(folder, tables_per_task=2)
    assert tasks(two) == {"session-1": ("a", "b"), "a": "a", "b": "b", "c": "c"}
    assert operator_of(two, "a").upstream_task_ids == {"ingest.session-1"}
    assert operator_of(two, "c").upstream_task_ids == set()
    assert (operator_of(two, "session-1").outlets, len(operator_of(two, "b").outlets)) == ([], 1)
    assert tasks(parse(folder, tables_per_task=None))["session-1"] == ("a", "b", "c")


def test_tables_are_chosen_by_name_and_glob(folder: Path) -> None:
    """So that DAGs with different schedules share a folder; a name needs no file when the DAG is parsed."""
    (folder / "b_2.toml").write_text(TABLE.format(name="b_2"))
    assert list(tasks(parse(folder, tables=["b*"]))) == ["b", "b_2"]
    assert list(tasks(parse(folder, exclude=["b*"]))) == ["a", "c"]
    assert list(tasks(parse(folder, tables=["x", "a"]))) == ["x", "a"]
    with pytest.raises(UsageError, match=r"matches 'B\*'"):
        parse(folder, tables=["B*"])
    with pytest.raises(UsageError, match="has no tables to run"):
        parse(folder, exclude=["*"])


def test_a_table_has_arguments_of_its_own(folder: Path) -> None:
    """By name or glob, the last one wins; a name without a file is a task that fails, not an import error."""
    own = {"*": {"retries": 1}, "b": {"pool": "large", "retries": 5}, "typo": {"priority_weight": 9}}
    dag = parse(folder, table_args=own, tables_per_task=2)

    assert (operator_of(dag, "a").retries, operator_of(dag, "b").retries) == (1, 5)
    assert (operator_of(dag, "a").pool, operator_of(dag, "b").pool) == ("default_pool", "large")
    assert list(tasks(dag)) == ["session-1", "a", "b", "session-2", "c", "typo"]
    for names in (["a*"], ["a"]):
        assert list(tasks(parse(folder, tables=names, table_args={"b": {}}))) == ["a"], "b is another DAG's"
    with pytest.raises(UsageError, match="table_args names 'typo'; the tables are a, b"):
        ingest_dag("d", tables=["a", "b"], table_args=own, operator_args=WHERE)


def test_a_run_of_only_some_tables_skips_the_others(
    folder: Path, program: Callable[[str], str], context: dict[str, Any]
) -> None:
    """By the param `tables`; a name that no task has fails, and nothing runs."""
    executable = program(script(0, report(table("b"))))
    dag = parse(folder, operator_args={"executable": executable})
    assert dag.params["tables"] == []

    def run(task_id: str, *only: str) -> Any:
        task = copy(operator_of(dag, task_id))  # as Airflow renders a copy
        task.render_template_fields({**context, "params": {"tables": list(only)}})
        return task.execute(context)

    assert run("b")["tables"] == run("b", "b", "c")["tables"] == [table("b")]
    with pytest.raises(AirflowSkipException, match="this run is only of a, c"):
        run("b", "a", "c")
    with pytest.raises(AirflowFailException, match="this run is of d, which no task of the DAG runs"):
        run("b", "b", "d")


def test_a_group_takes_its_tables_from_another_task(folder: Path) -> None:
    """For parsers that cannot read the folder; invalid combinations fail when the DAG is parsed."""
    with DAG("d", schedule=None) as dag:

        @task
        def names() -> list[str]:
            return list(list_tables(folder))

        tables = names()
        group = ingest_task_group("later", tables=tables, **WHERE)
        for number, wrong in enumerate(
            (
                {"tables": tables, "tables_per_task": 2},
                {"tables": tables, "exclude": ["a"]},
                {"tables": []},
                {},
            )
        ):
            with pytest.raises(UsageError):
                ingest_task_group(f"wrong{number}", **wrong, **WHERE)

    operator = dag.get_task("later.run")
    assert isinstance(operator, MappedOperator)
    assert operator.upstream_task_ids == {"names"}
    assert operator.partial_kwargs["outlets"] == [AssetAlias(name="hudi://lake")]
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
    assert list(tasks(dags["example_ingest_dag"])) == ["a", "b", "c"]


def test_the_code_of_the_page_runs(folder: Path) -> None:
    """Every Python block of docs/airflow.md, over an existing folder of tables."""
    text = (ROOT / "docs" / "airflow.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for block in blocks:
        code = block.replace("/etc/ingest/tables", str(folder))
        exec(compile(code, "docs/airflow.md", "exec"), {"IngestOperator": IngestOperator})  # noqa: S102  ours

    assert len(blocks) == 6


def test_every_argument_of_the_operator_is_on_the_page() -> None:
    """And every argument on the page exists."""
    text = (ROOT / "docs" / "airflow.md").read_text(encoding="utf-8")
    table = text.partition("## IngestOperator")[2].partition("All arguments except the last two")[0]
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
heavy = ("pyspark", "py4j", "confluent_kafka", "ingest.registry")
rooms = ("ingest.run.", "ingest.cli.", "ingest.hudi.", "ingest.operations.")
modules = [name for name, module in sys.modules.items() if not hasattr(module, "__path__")]
found = [name for name in (*modules, *heavy) if name in sys.modules and name.startswith((*heavy, *rooms))]
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
