"""Reads tables by programs other than Spark: jobs as JSON on standard input, results on standard output.

Runs in build/readers, which has these programs and not `ingest`.  A reader that panics raises an exception
that is not an `Exception`.
"""

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import cells
import daft
import duckdb
import polars as pl
import pyarrow as pa
from hudi import HudiQueryType, HudiReadOptions, HudiTable

SHOWN = 160
"""Characters of a problem."""


def hudi_rs(path: str, options: HudiReadOptions) -> list[dict[str, Any]]:
    """Read by hudi-rs."""
    batches = HudiTable(path).read(options)
    return [record for batch in batches for record in pa.table(batch).to_pylist()]


def base_files(path: str) -> list[str]:
    """Return the newest base files, which hudi-rs lists."""
    slices = HudiTable(path).get_file_slices()
    return [f"{path}/{file_slice.base_file_relative_path()}" for file_slice in slices]


def in_duckdb(path: str) -> list[dict[str, Any]]:
    """Read the newest base files in DuckDB."""
    records: list[dict[str, Any]] = (
        duckdb.connect().read_parquet(base_files(path)).to_arrow_table().to_pylist()
    )
    return records


READERS: dict[str, Callable[[str, str], list[dict[str, Any]]]] = {
    "hudi-rs snapshot": lambda path, _: hudi_rs(path, HudiReadOptions()),
    "hudi-rs time travel": lambda path, at: hudi_rs(path, HudiReadOptions().with_as_of_timestamp(at)),
    "hudi-rs incremental": lambda path, at: hudi_rs(
        path, HudiReadOptions().with_query_type(HudiQueryType.Incremental).with_start_timestamp(at)
    ),
    "Daft": lambda path, _: daft.read_hudi(path).to_pylist(),
    "DuckDB": lambda path, _: in_duckdb(path),
    "Polars": lambda path, _: pl.read_parquet(base_files(path)).to_dicts(),
}


def answer(job: dict[str, str]) -> dict[str, Any]:
    """Return the rows that a reader finds, or its problem."""
    try:
        time = job["completed" if "incremental" in job["reader"] else "instant"]
        return {**job, "rows": cells.rows_of(READERS[job["reader"]](job["path"], time))}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  a panic of Rust
        return {**job, "problem": f"{type(error).__name__}: {error}"[:SHOWN]}


def main() -> None:
    """Answer all jobs."""
    jobs = json.load(sys.stdin)
    answers = [answer({**job, "reader": reader}) for job in jobs for reader in READERS]
    packages = ("hudi", "daft", "duckdb", "polars")
    json.dump({"versions": {name: version(name) for name in packages}, "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
