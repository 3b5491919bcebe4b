"""Tables by name, in the catalog of Spark's session: Hive's metastore, or what stands in for it (Glue).

A Hudi table is its folder, and `ingest` needs no catalog.  But queries find tables by name, with the columns
that the entry has: so an entry is made after the first commit, and follows the table from then on.
"""

import threading
from typing import Any, Final

from pyspark.sql import SparkSession

from ingest.errors import SettingsError
from ingest.hudi.java_errors import root_cause
from ingest.hudi.present import present
from ingest.java import hadoop_of, java_session, jvm_of
from ingest.log import logger
from ingest.typemap.sparktype import quote

LASTING: Final = "hive"
IMPLEMENTATION: Final = "spark.sql.catalogImplementation"

_GUARD: Final = threading.Lock()
"""Tables of one run would make their database at the same moment, which metastores answer with an error."""


def check_catalog(spark: SparkSession) -> None:
    """Refuse a session whose catalog ends with it: names would be gone before anybody asked for them."""
    found = spark.conf.get(IMPLEMENTATION, "in-memory")
    if found != LASTING:
        problem = f"the session's {IMPLEMENTATION} is '{found}', and a catalog that lasts is '{LASTING}'"
        raise SettingsError("settings", "lake.database", problem, "Set it where the session is started")


def register(spark: SparkSession, database: str, table: str, path: str) -> None:
    """Enter a table that has a commit into the catalog, or bring the columns of its entry up to date.

    Names are entered in small letters, as Spark looks them up.  The rows are committed by now, so what goes
    wrong is a warning in the log; the next commit tries again.  An entry of that name for another place stays
    as it is.
    """
    try:
        problem = _register(spark, database.lower(), table.lower(), path)
    except Exception as error:  # noqa: BLE001  whatever it is, the commit counts
        problem = root_cause(error)
    if problem:
        entry = f"{database}.{table}"
        logger(__name__).warning("committed, but not in the catalog", entry=entry, problem=problem)


def _register(spark: SparkSession, database: str, table: str, path: str) -> str:
    """Make an entry, or mend the one there is; say what is wrong with it, if anything is."""
    catalog = java_session(spark).sharedState().externalCatalog()
    with _GUARD:
        if not catalog.databaseExists(database):
            spark.sql(f"create database if not exists {quote(database)}")
    place = _place(spark, path)
    wanted = {column: kind for column, kind, _ in present(spark, path) or ()}
    if not catalog.tableExists(database, table):
        catalog.createTable(_entry(spark, database, table, place), False)  # noqa: FBT003  py4j has no names
        return ""
    entry = catalog.getTable(database, table)
    there = _place(spark, entry.location().toString())
    if there.toString() != place.toString():
        return f"that name is taken by a table at {there.toString()}"
    found = {field.name(): field.dataType().catalogString() for field in entry.schema().fields()}
    if {column: kind for column, kind in found.items() if not column.startswith("_hoodie_")} != wanted:
        catalog.alterTableDataSchema(database, table, _schema(spark, path))
    spark.catalog.refreshTable(f"{quote(database)}.{quote(table)}")
    return ""


def _entry(spark: SparkSession, database: str, table: str, place: Any) -> Any:
    """Return an entry as Spark has them for its data sources: the location, and the source that reads it.

    Hudi's own CREATE TABLE writes an entry that Hive could read too, and fails for timestamps without a zone
    (Hudi 1.2.0).
    """
    entries = jvm_of(spark).io.hudicdc.ingest.CatalogEntries
    return entries.of(database, table, place.toUri(), _schema(spark, place.toString()))


def _schema(spark: SparkSession, path: str) -> Any:
    """Return the columns of the table, Hudi's own among them, as an entry has them."""
    stored = spark.read.format("hudi").load(path)._jdf.schema()  # noqa: SLF001  (pyspark has no way there)
    return jvm_of(spark).io.hudicdc.ingest.CatalogEntries.columns(stored)


def _place(spark: SparkSession, path: str) -> Any:
    """Write a path in full, as two spellings of it become the same."""
    place = jvm_of(spark).org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(hadoop_of(spark)).makeQualified(place)
