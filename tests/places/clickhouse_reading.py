"""Reads tables by ClickHouse, as `reading.py` does.  It reads a Hudi table in S3 only, by each job's URL."""

import json
import sys
from importlib.metadata import version
from typing import Any

import cells
import chdb

SHOWN = 160
"""Characters of a problem."""
CREDENTIALS = "'places', 'places'"


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """Return the rows that ClickHouse finds, or its problem."""
    columns = ", ".join(f"`{name}`" for name in job["columns"])
    job = {**job, "reader": "ClickHouse"}
    try:
        found = chdb.query(
            f"select {columns} from hudi('{job['url']}', {CREDENTIALS}, 'Parquet')", "ArrowTable"
        )
        return {**job, "rows": cells.rows_of(found.to_pylist(), job["columns"])}
    except Exception as error:  # noqa: BLE001  a problem is an answer
        return {**job, "problem": str(error)[:SHOWN]}


def main() -> None:
    """Answer all jobs."""
    answers = [answer(job) for job in json.load(sys.stdin)]
    json.dump({"versions": {"chdb": version("chdb")}, "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
