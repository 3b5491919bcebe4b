"""A source database by JDBC: direct connections for aggregates, and Spark's reader for rows.

The driver's jars get a separate class loader, so that a session that was started without them can use them.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

import attrs
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from ingest.errors import IngestError, SettingsError, SourceRefusedError, SourceUnreachableError
from ingest.settings import SourceSettings
from ingest.sources.database import Database, Trap
from ingest.spark.java import add_jar, java_array, jvm_of
from ingest.spark.java_errors import root_cause
from ingest.sql.template import Sql

FETCH_ROWS: Final = 10_000
_TEMPORARY: Final = ("08", "40", "53", "57", "HYT", "S1T")
"""Classes of SQLSTATE: connection, rollback, resources, operator intervention, time-outs."""
_LOADING: Final = threading.Lock()
_LOADERS: Final = WeakKeyDictionary[Any, dict[tuple[Path, ...], Any]]()
"""The class loader of each driver by JVM. py4j caches methods by class name, not by class."""


@attrs.define(eq=False)
class Source:
    """A source database, as the settings describe it."""

    spark: SparkSession
    name: str
    settings: SourceSettings
    database: Database

    @contextmanager
    def connect(self, *, writes: bool = False) -> Iterator["Connection"]:
        """Open a connection, read-only unless it `writes`, and close it in the end."""
        with self.errors():
            connection = self._driver().connect(self.settings.url, self._properties())
            if connection is None:
                raise self._no_driver("does not accept the URL")
        try:
            with self.errors():
                connection.setReadOnly(not writes)
                connection.setAutoCommit(writes)
            opened = Connection(self, connection)
            for statement in self.database.setup:
                opened.execute(statement)
            yield opened
        finally:
            _close(connection)

    def read(self, query: Sql, predicates: Sequence[Sql] = ()) -> DataFrame:
        """Read a query's rows by Spark, in one partition for each predicate over its columns."""
        self._use_driver()
        options = {
            "driver": self._driver_class(),
            "fetchsize": str(FETCH_ROWS),
            "queryTimeout": str(self.settings.statement_timeout_s),
            "sessionInitStatement": "; ".join(map(str, self.database.setup)),
            **self._login(),
        }
        table = f"({query}) q"
        with self.errors():
            if predicates:
                return self.spark.read.jdbc(
                    self.settings.url, table, predicates=list(map(str, predicates)), properties=options
                )
            return self.spark.read.jdbc(self.settings.url, table, properties=options)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise `SourceUnreachableError` or `SourceRefusedError` for the driver's exceptions."""
        try:
            yield
        except Py4JJavaError as error:
            raise self._failure(error) from error

    def _failure(self, error: Py4JJavaError) -> IngestError:
        problem, state = root_cause(error), _sql_state(error.java_exception)
        if state is None:
            raise error
        if state.startswith(_TEMPORARY):
            return SourceUnreachableError(self.name, problem)
        return SourceRefusedError(self.name, problem, "Check the rights of the user, and [sources]")

    def _login(self) -> dict[str, str]:
        password = self.settings.password
        login = {"user": self.settings.user, "password": password.reveal() if password else ""}
        return {key: value for key, value in login.items() if value}

    def _properties(self) -> Any:
        properties = jvm_of(self.spark).java.util.Properties()
        for key, value in self._login().items():
            properties.setProperty(key, value)
        return properties

    def _driver_class(self) -> str:
        url, drivers = self.settings.url, self.database.drivers
        return next(name for start, name in drivers.items() if url.startswith(start))

    def _driver(self) -> Any:
        name = self._driver_class()
        try:
            java_class = jvm_of(self.spark).java.lang.Class.forName(name, True, self._class_loader())  # noqa: FBT003
            return java_class.newInstance()
        except Py4JJavaError as error:
            raise self._no_driver(f"its JDBC driver {name} cannot be loaded: {root_cause(error)}") from error

    def _use_driver(self) -> None:
        """Let Spark's reader find the driver: on executors, and in this thread of the driver process."""
        thread = jvm_of(self.spark).java.lang.Thread.currentThread()
        thread.setContextClassLoader(self._class_loader())

    def _class_loader(self) -> Any:
        jars = tuple(self._jars())
        with _LOADING:
            loaders = _LOADERS.setdefault(jvm_of(self.spark), {})
            if jars not in loaders:
                loaders[jars] = self._make_loader(jars)
            return loaders[jars]

    def _make_loader(self, jars: Sequence[Path]) -> Any:
        jvm = jvm_of(self.spark)
        parent = jvm.org.apache.spark.util.Utils.getSparkClassLoader()
        if not jars:
            return parent
        for jar in jars:
            add_jar(self.spark, str(jar))
        urls = [jvm.java.io.File(str(jar)).toURI().toURL() for jar in jars]
        return jvm.java.net.URLClassLoader.newInstance(java_array(self.spark, jvm.java.net.URL, urls), parent)

    def _jars(self) -> list[Path]:
        path = self.settings.driver
        if path is None:
            return []
        jars = sorted(path.glob("*.jar")) if path.is_dir() else [path]
        if not jars or not all(jar.is_file() for jar in jars):
            raise SettingsError(
                "settings", f"sources.{self.name}.driver", f"{path} does not hold a jar",
                "Name the jar of the JDBC driver, or a folder of jars",
            )  # fmt: skip
        return jars

    def _no_driver(self, problem: str) -> SourceRefusedError:
        todo = f"Download the driver of {self.database.title}, and set sources.{self.name}.driver to its jar"
        return SourceRefusedError(self.name, problem, todo)


@attrs.frozen
class Connection:
    """An open connection."""

    source: Source
    java: Any

    @property
    def name(self) -> str:
        """The name of the source in the settings."""
        return self.source.name

    @property
    def title(self) -> str:
        """The name of the database."""
        return self.source.database.title

    @property
    def settings(self) -> SourceSettings:
        """The settings of the source."""
        return self.source.settings

    def is_replica(self) -> bool:
        """Return whether the server is a replica."""
        query = self.source.database.replica
        return query is not None and self.value(query) == "true"

    def position(self) -> str | None:
        """Return the end of the log, or None if the database does not show it."""
        query = self.source.database.position
        return None if query is None else self.value(query)

    def shows_deliveries(self) -> bool:
        """Return whether the database shows how far its connector is."""
        return self.source.database.delivered is not None

    def delivery(self, position: str) -> str | None:
        """Return `delivered`, `received` (and not confirmed), `pending`, or None without one slot."""
        query, database = self.source.database.delivered, self.source.database
        if query is None:
            return None
        slot = database.literal(self.settings.slot)
        return self.value(query.of(position=database.literal(position), slot=slot))

    def traps(self, *table: str) -> dict[Trap, list[str]]:
        """Return the traps of the database, or of one table (schema and name), with the names to show."""
        found = {trap: self.rows(trap.query, 3) for trap in self.source.database.traps}
        names = {
            trap: [str(name) for *place, name in rows if not table or tuple(place) == table]
            for trap, rows in found.items()
        }
        return {trap: shown for trap, shown in names.items() if shown}

    def rows(self, query: Sql, columns: int) -> list[tuple[str | None, ...]]:
        """Return the rows of a small result, as text, and end the transaction."""
        with self.source.errors():
            statement = self.java.createStatement()
            try:
                statement.setQueryTimeout(self.source.settings.statement_timeout_s)
                result, rows = statement.executeQuery(str(query)), []
                while result.next():
                    rows.append(tuple(result.getString(index + 1) for index in range(columns)))
            finally:
                statement.close()
            if not self.java.getAutoCommit():
                self.java.rollback()
            return rows

    def value(self, query: Sql) -> str | None:
        """Return the single value of a query, or None for null or without a row."""
        rows = self.rows(query, 1)
        return rows[0][0] if rows else None

    def execute(self, statement: Sql) -> None:
        """Run a statement."""
        with self.source.errors():
            java_statement = self.java.createStatement()
            try:
                java_statement.execute(str(statement))
            finally:
                java_statement.close()
            if not self.java.getAutoCommit():
                self.java.commit()


def _close(connection: Any) -> None:
    try:
        connection.close()
    except Py4JJavaError:  # a connection that the server has ended
        return


def _sql_state(error: Any) -> str | None:
    """Return the SQLSTATE of the first SQLException in a chain.

    Return an empty text for an SQLException without a state, and None if the chain has no SQLException.
    """
    while error is not None:
        names = _ancestors(error.getClass())
        if "java.sql.SQLException" in names:
            timeout = "java.sql.SQLTimeoutException" in names
            return "HYT00" if timeout else str(error.getSQLState() or "")
        error = error.getCause()
    return None


def _ancestors(java_class: Any) -> set[str]:
    names: set[str] = set()
    while java_class is not None:
        names.add(java_class.getName())
        java_class = java_class.getSuperclass()
    return names


def sources_of(
    spark: SparkSession, settings: Mapping[str, SourceSettings], databases: Mapping[str, Database]
) -> dict[str, Source]:
    """Return every source of the settings, by its name."""
    return {
        name: Source(spark, name, source, databases[source.database])
        for name, source in settings.items()
        if source.database in databases
    }
