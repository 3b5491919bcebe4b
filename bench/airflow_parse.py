"""What a DAG file of 1,000 tables costs Airflow's DAG processor, in Airflow's own environment."""

import json
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-airflow" / "bin" / "python"
TABLES = 1_000
TABLE = """\
table = "t{number}"
topic = "server1.dbo.t{number}"
dialect = "sqlserver"

[subjects]
key = "server1.dbo.t{number}-key"
value = "server1.dbo.t{number}-value"

[key]
columns = ["id"]

[target]
type = "cow"
partition_by = []
delete = "hard"
"""
PARSE = """
import json, sys, time
started = time.process_time()
import airflow.sdk
airflow_s = time.process_time() - started
from ingest.schedule import ingest_dag
dag = ingest_dag("d", tables_dir=sys.argv[1], operator_args={"executable": "/opt/ingest/bin/ingest"})
ours_s = time.process_time() - started - airflow_s
print(json.dumps({"airflow_s": airflow_s, "ours_s": ours_s}))
"""


def parse_seconds() -> float:
    """Return the CPU seconds of a DAG file that calls `ingest_dag`, Airflow itself being imported."""
    if not PYTHON.exists():
        subprocess.run(["make", ".venv-airflow/.stamp"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        tables = Path(folder, "tables")
        tables.mkdir()
        for number in range(TABLES):
            (tables / f"t{number}.toml").write_text(TABLE.format(number=number), encoding="utf-8")
        done = subprocess.run(
            [PYTHON, "-c", PARSE, tables],
            env={"AIRFLOW_HOME": folder, "PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    return float(json.loads(done.stdout.splitlines()[-1])["ours_s"])
