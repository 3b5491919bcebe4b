"""Iceberg tables of the Parquet files that Hudi's tables have."""
