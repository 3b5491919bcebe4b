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


BY_TIME = ("time travel", "incremental")
"""Queries that need the times of a commit."""


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
    files = duckdb.connect().read_parquet(base_files(path), union_by_name=True, hive_partitioning=False)
    return in_utc(files.to_arrow_table()).to_pylist()


def in_utc(table: pa.Table) -> pa.Table:
    """Return instants in UTC: Python has no year 0 in other zones."""
    fields = (
        field.with_type(pa.timestamp(field.type.unit, "UTC"))
        if pa.types.is_timestamp(field.type) and field.type.tz
        else field
        for field in table.schema
    )
    return table.cast(pa.schema(fields))


def in_polars(path: str) -> list[dict[str, Any]]:
    """Read the newest base files in Polars."""
    frames = [pl.read_parquet(file) for file in base_files(path)]
    return pl.concat(frames, how="diagonal_relaxed").to_dicts()


READERS: dict[str, Callable[[str, str], list[dict[str, Any]]]] = {
    "hudi-rs snapshot": lambda path, _: hudi_rs(path, HudiReadOptions()),
    "hudi-rs time travel": lambda path, at: hudi_rs(path, HudiReadOptions().with_as_of_timestamp(at)),
    "hudi-rs incremental": lambda path, at: hudi_rs(
        path, HudiReadOptions().with_query_type(HudiQueryType.Incremental).with_start_timestamp(at)
    ),
    "Daft": lambda path, _: daft.read_hudi(path).to_pylist(),
    "DuckDB": lambda path, _: in_duckdb(path),
    "Polars": lambda path, _: in_polars(path),
}


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """Return the rows that a reader finds, or its problem."""
    try:
        time = job.get("completed" if "incremental" in job["reader"] else "instant", "")
        return {**job, "rows": cells.rows_of(READERS[job["reader"]](job["path"], time), job["columns"])}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  a panic of Rust
        return {**job, "problem": f"{type(error).__name__}: {error}"[:SHOWN]}


def main() -> None:
    """Answer all jobs."""
    jobs = json.load(sys.stdin)
    answers = [
        answer({**job, "reader": reader})
        for job in jobs
        for reader in READERS
        if "instant" in job or not reader.endswith(BY_TIME)
    ]
    packages = ("hudi", "daft", "duckdb", "polars")
    json.dump({"versions": {name: version(name) for name in packages}, "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
