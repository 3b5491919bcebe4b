"""Tables by name, in the catalog of Spark's session: Hive's metastore, or a substitute (Glue).

A Hudi table is its folder, and `ingest` needs no catalog.  But queries find tables by name, with the columns
that the entry has: so the first commit makes an entry, and later ones update it.
"""

import threading
from collections.abc import Sequence
from typing import Any, Final, Protocol

from pyspark.sql import SparkSession

from ingest.errors import SettingsError
from ingest.log import logger
from ingest.spark.java import hadoop_of, java_rows, java_session, jvm_of
from ingest.spark.java_errors import root_cause
from ingest.sql.template import ident, sql

LASTING: Final = "hive"
IMPLEMENTATION: Final = "spark.sql.catalogImplementation"

_GUARD: Final = threading.Lock()
"""Tables of one run would make their database at the same moment, which metastores answer with an error."""


class CommittedTable(Protocol):
    """A table with a commit."""

    spark: SparkSession
    path: str

    def fields(self) -> Sequence[tuple[str, str, bool]] | None:
        """Return name, Spark type and nullability of the columns, or None before the first commit."""


def check_catalog(spark: SparkSession) -> None:
    """Refuse a session with its own catalog, because the names would end with the session."""
    catalog = spark.conf.get(IMPLEMENTATION, "in-memory")
    if catalog != LASTING:
        problem = f"the session's {IMPLEMENTATION} is '{catalog}', and a catalog that lasts is '{LASTING}'"
        raise SettingsError("settings", "lake.database", problem, "Set it where the session is started")


def register(table: CommittedTable, database: str, name: str) -> None:
    """Enter a table with a commit into the catalog, or bring the columns of its entry up to date.

    Names are entered in lower case, as Spark looks them up.  The rows are committed already, so a failure is
    a warning in the log, and the next commit tries again.  An entry of that name for another path stays as it
    is.
    """
    try:
        problem = _register(table, database.lower(), name.lower())
    except Exception as error:  # noqa: BLE001  the commit counts in any case
        problem = root_cause(error)
    if problem:
        entry = f"{database}.{name}"
        logger(__name__).warning("committed, but not in the catalog", entry=entry, problem=problem)


def _register(table: CommittedTable, database: str, name: str) -> str:
    """Create an entry, or update the present one.  Return the problem, if any."""
    spark = table.spark
    catalog = java_session(spark).sharedState().externalCatalog()
    with _GUARD:
        if not catalog.databaseExists(database):
            spark.sql(str(sql("create database if not exists {name}", name=ident(database))))
    path = _qualified(spark, table.path)
    if not catalog.tableExists(database, name):
        catalog.createTable(_entry(spark, database, name, path), False)  # noqa: FBT003  py4j has no names
        return ""
    entry = catalog.getTable(database, name)
    entered = _qualified(spark, entry.location().toString())
    if entered.toString() != path.toString():
        return f"that name is taken by a table at {entered.toString()}"
    columns = {field.name(): field.dataType().catalogString() for field in entry.schema().fields()}
    stored = {column: ddl for column, ddl, _ in table.fields() or ()}
    if {column: ddl for column, ddl in columns.items() if not column.startswith("_hoodie_")} != stored:
        catalog.alterTableDataSchema(database, name, _schema(spark, table.path))
    # Spark caches the relation of a name, with its columns and files.
    spark.catalog.refreshTable(str(ident(database).field(name)))
    return ""


def _entry(spark: SparkSession, database: str, name: str, path: Any) -> Any:
    """Return an entry as Spark has them for its data sources: the location, and the source that reads it.

    Hudi's own CREATE TABLE (1.2.0) writes an entry that Hive could read too, and fails for timestamps without
    a zone, a type that Hive's metastore does not have (SPARK-36180).
    """
    entries = jvm_of(spark).io.hudicdc.ingest.hudi.CatalogEntries
    return entries.of(database, name, path.toUri(), _schema(spark, path.toString()))


def _schema(spark: SparkSession, path: str) -> Any:
    """Return the columns of the table, Hudi's own among them, as an entry has them."""
    stored = java_rows(spark.read.format("hudi").load(path)).schema()
    return jvm_of(spark).io.hudicdc.ingest.hudi.CatalogEntries.columns(stored)


def _qualified(spark: SparkSession, text: str) -> Any:
    """Return a path in full, so that two spellings of it are equal."""
    path = jvm_of(spark).org.apache.hadoop.fs.Path(text)
    return path.getFileSystem(hadoop_of(spark)).makeQualified(path)
