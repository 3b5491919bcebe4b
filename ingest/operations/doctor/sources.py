"""The databases of `[sources]`: reachable, with the user's login, and without traps for their connectors."""

from collections.abc import Iterator

from pyspark.sql import SparkSession

from ingest.errors import IngestError
from ingest.names import first_few
from ingest.operations.doctor.finding import Finding, Level, problems_of
from ingest.settings import Settings
from ingest.sources.databases import DATABASES
from ingest.sources.jdbc import Source, sources_of


def check_sources(settings: Settings, spark: SparkSession) -> Iterator[Finding]:
    """Connect to each database that has a JDBC driver.  An error of one does not stop the others."""
    for source in sources_of(spark, settings.sources, DATABASES).values():
        try:
            yield from _check_source(source)
        except IngestError as error:
            yield from problems_of("source", error)


def _check_source(source: Source) -> Iterator[Finding]:
    with source.connect() as connection:
        traps = connection.traps()
    yield Finding("source", "ok", f"{source.name}: {source.database.title} answers")
    for trap, names in traps.items():
        level: Level = "problem" if trap.is_problem else "warning"
        yield Finding("source", level, f"{source.name}: {trap.text} ({first_few(names)})", trap.todo)
