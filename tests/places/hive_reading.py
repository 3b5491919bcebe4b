"""Reads tables by Hive's query engine, as `reading.py` does.

Hive is the one in the jars of pyspark, with the bundle of Hudi that is the first argument.  Its metastore is
in the same process, or at the address that is the second argument.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import cells
import pyspark

SHOWN = 160
"""Characters of a problem."""
JARS = Path(pyspark.__file__).parent / "jars"
PROGRAM = Path(__file__).parent / "Hive.java"
(ENGINE,) = JARS.glob("hive-exec-*-core.jar")
VERSION = ENGINE.name.split("-")[2]
OPENED = ("lang", "net", "util", "util.concurrent")
"""Packages of java.base into which Hive reaches by reflection."""


def command(folder: str) -> list[str]:
    """Return the program with its settings; its files are in a folder."""
    conf = {
        # Hive has timestamps as wall clocks, and shows those of Hudi's files in the zone of its JVM.
        "user.timezone": "UTC",
        "file.encoding": "UTF-8",
        "java.io.tmpdir": folder,
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/derby;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"file://{folder}/warehouse",
        "hive.exec.scratchdir": f"file://{folder}/scratch",
        "hive.cbo.enable": "false",  # by a library that Spark does not have
    }
    if sys.argv[2:]:
        conf["hive.metastore.uris"] = sys.argv[2]
    options = [f"-D{key}={value}" for key, value in conf.items()]
    class_path = f"{JARS}/*:{sys.argv[1]}"
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED]
    return ["java", "-Xmx1g", "-XX:TieredStopAtLevel=1", *opened, *options, "-cp", class_path, str(PROGRAM)]


def answer(job: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return the rows that Hive finds, or its problem, without addresses of objects."""
    job = {**job, "reader": "Hive"}
    if "problem" in found:
        return {**job, "problem": re.sub(r"@[0-9a-f]+", "", found["problem"])[:SHOWN]}
    rows = [dict(zip(job["columns"], row, strict=True)) for row in found["rows"]]
    return {**job, "rows": cells.rows_of(rows, job["columns"])}


def main() -> None:
    """Answer all jobs."""
    jobs = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.run(
            command(folder), cwd=folder, input=json.dumps(jobs), stdout=subprocess.PIPE, check=True, text=True
        )
    answers = [answer(job, found) for job, found in zip(jobs, json.loads(process.stdout), strict=True)]
    json.dump({"versions": {"Hive": VERSION}, "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
