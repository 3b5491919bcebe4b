"""Read all columns of a Hudi table by the reader and at the path that the arguments name; print its rows."""

import sys

import daft
import duckdb
import polars as pl
from hudi import HudiReadOptions, HudiTable


def read(reader: str, path: str) -> int:
    """Return the number of rows, all of whose columns are in memory."""
    if not path:
        return 0
    if reader == "hudi-rs":
        return sum(batch.num_rows for batch in HudiTable(path).read(HudiReadOptions()))
    if reader == "Daft":
        return len(daft.read_hudi(path).to_arrow())
    slices = HudiTable(path).get_file_slices()
    files = [f"{path}/{file_slice.base_file_relative_path()}" for file_slice in slices]
    if reader == "DuckDB":
        return duckdb.connect().read_parquet(files).to_arrow_table().num_rows
    return pl.read_parquet(files).height


if __name__ == "__main__":
    print(read(*sys.argv[1:]))
