"""The rows of a table in a database with SQL, by the queries of its layout."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import attrs
from pyspark.sql import DataFrame

from ingest.errors import SourceRefusedError
from ingest.sources.database import Checksum, HashChecksum
from ingest.sources.jdbc import Connection, Source
from ingest.sources.layout import Layout
from ingest.sources.origin import Origin, check_database
from ingest.sources.queries import Queries, SourceTable
from ingest.sql.template import sql
from ingest.verify.chunks import in_list
from ingest.verify.looks import KEYS_PER_QUERY, Opened, Part, leads_of


@attrs.frozen
class SqlRows:
    """Reads rows by Spark, and their number by a connection."""

    queries: Queries
    source: Source
    connection: Connection

    def errors(self) -> AbstractContextManager[None]:
        """Translate the driver's exceptions into `IngestError`s."""
        return self.source.errors()

    def count(self, *, with_versions: bool = False) -> tuple[int, ...]:
        """Return the number of rows, and the sum of their versions if requested."""
        query = self.queries.count_query(with_versions=with_versions)
        (numbers,) = self.connection.rows(query, 2 if with_versions else 1)
        return tuple(int(number or 0) for number in numbers)

    def of_part(self, part: Part) -> DataFrame:
        """Return the rows of a part, with their checksum."""
        query = self.queries.rows_query(buckets=part.buckets)
        return self._bounded(self.source.read(query, part.predicates))

    def of_keys(self, rows: DataFrame, *, with_columns: bool = False) -> DataFrame:
        """Return at least the rows that have one of the keys."""
        query = self.queries.rows_query(with_columns=with_columns)
        return self._bounded(self.source.read(query, self._part_of(rows).predicates))

    def _part_of(self, rows: DataFrame) -> Part:
        leads = leads_of(rows)
        if leads is None:
            return Part()
        database, has_ranges = self.queries.database, self.queries.layout.has_ranges
        values = [sql("{n}", n=int(lead)) if has_ranges else database.literal(lead) for lead in leads]
        batches = [values[i : i + KEYS_PER_QUERY] for i in range(0, len(values), KEYS_PER_QUERY)]
        return Part(tuple(in_list(sql("b"), batch) for batch in batches))

    def _bounded(self, rows: DataFrame) -> DataFrame:
        """Read with no more queries at a time than the settings allow."""
        return rows.coalesce(self.source.settings.parallel)


@contextmanager
def open_table(source: Source, origin: Origin, make: Callable[[SourceTable], Layout]) -> Iterator[Opened]:
    """Connect to a source, pair its table with the lake's, and close the connection in the end."""
    with source.connect() as connection:
        query = source.database.current
        check_database(origin, source.name, None if query is None else connection.value(query))
        table = read_table(connection, origin)
        checksum = _choose_checksum(connection)
        layout = make(table)
        if layout.mode != "full":
            layout = layout.with_checksum(checksum)
        queries = Queries(layout, source.database, table, checksum)
        yield Opened(connection, layout, SqlRows(queries, source, connection))


def read_table(connection: Connection, origin: Origin) -> SourceTable:
    """Read the columns of a table of the source.  Raises `SourceRefusedError` for a table without any."""
    database = connection.source.database
    schema, table = origin.parts
    query = database.columns.of(schema=database.literal(schema), table=database.literal(table))
    columns = {str(name): str(column_type) for name, column_type in connection.rows(query, 2)}
    if not columns:
        problem = f"does not have the table {origin}, or does not let its user see it"
        raise SourceRefusedError(
            connection.source.name, problem, "Check the table, and the rights of the user"
        )
    return SourceTable(origin.parts, columns)


def _choose_checksum(connection: Connection) -> Checksum | HashChecksum:
    """Return the cheapest checksum that the database and Spark compute alike."""
    database = connection.source.database
    hashing = database.hashing
    if hashing is not None and all(connection.value(query) == "true" for query in hashing.conditions):
        return hashing
    return database.md5
