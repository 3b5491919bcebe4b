"""Tables by name: in the catalog of Spark's session, which is Hive's metastore or what takes its place (Glue).

A Hudi table is its folder, and needs no catalog.  One that has an entry is found by name, and Hive and others
see the columns that the entry names: so it is brought up to date after each commit.
"""

import threading

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ingest.compile.sparktype import quote
from ingest.errors import CatalogError
from ingest.hudi.cause import root_cause

_GUARD = threading.Lock()
"""Tables of one run would make their database at the same time; metastores answer the later with an error."""


def register(spark: SparkSession, database: str, table: str, path: str) -> None:
    """Enter a table that has a commit into the catalog, or the columns that it has by now.

    Raises `CatalogError`; a table of that name at another place stays as it is.
    """
    try:
        with _GUARD:
            if not spark.catalog.databaseExists(database):
                spark.sql(f"create database if not exists {quote(database)}")
        if spark.catalog.tableExists(f"{quote(database)}.{quote(table)}"):
            _refresh(spark, database, table, path)
        else:
            spark.sql(f"create table {quote(database)}.{quote(table)} using hudi location '{_escaped(path)}'")
    except (Py4JError, PySparkException) as error:
        raise CatalogError(f"{database}.{table}", root_cause(error)) from error
