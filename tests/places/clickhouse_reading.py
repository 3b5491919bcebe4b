"""Reads tables by ClickHouse, as `reading.py` does.  It reads a Hudi table in S3 only, by each job's URL."""

import json
import sys
from importlib.metadata import version
from typing import Any

import cells
import chdb

SHOWN = 160
"""Characters of a problem."""
AS_BYTES = "settings output_format_arrow_string_as_string = 0"
CREDENTIALS = "'places', 'places'"


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """Return the rows that ClickHouse finds, or its problem."""
    columns = ", ".join(f"`{name}`" for name in job["columns"])
    job = {**job, "reader": "ClickHouse"}
    try:
        found = chdb.query(
            f"select {columns} from hudi('{job['url']}', {CREDENTIALS}, 'Parquet') {AS_BYTES}", "ArrowTable"
        )
        records = [{name: of_bytes(value) for name, value in row.items()} for row in found.to_pylist()]
        return {**job, "rows": cells.rows_of(records, job["columns"])}
    except Exception as error:  # noqa: BLE001  a problem is an answer
        return {**job, "problem": str(error)[:SHOWN]}


def of_bytes(value: Any) -> Any:
    """Return a value whose bytes are text if they are UTF-8: ClickHouse has one type for both."""
    match value:
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                return value
        case dict():
            return {of_bytes(key): of_bytes(item) for key, item in value.items()}
        case list() | tuple():
            return type(value)(map(of_bytes, value))
        case _:
            return value


def main() -> None:
    """Answer all jobs."""
    answers = [answer(job) for job in json.load(sys.stdin)]
    json.dump({"versions": {"chdb": version("chdb")}, "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
