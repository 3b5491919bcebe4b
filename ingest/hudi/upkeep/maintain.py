"""The upkeep of one table, after a run's commit or by `ingest maintain`.  Call only as the table's writer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from ingest.hudi.options import hudi_options, merger_options
from ingest.hudi.storage.hadoop_files import lake_errors
from ingest.hudi.table import HudiTable, write_failure
from ingest.hudi.torn_commit import remove_corrupt_instants, timeline_files
from ingest.hudi.upkeep.retention import COMPACT_NOW, count_recent, is_costly_to_read, upkeep_options
from ingest.hudi.upkeep.services import FORCED, Services, Upkeep, is_due, open_services
from ingest.tables import TableConfig


def keep_up(stored: HudiTable, table: TableConfig) -> None:
    """Do the upkeep of a table that is due.  Raises as a commit does."""
    if stored.client is None:
        return
    forced = COMPACT_NOW if is_costly_to_read(stored, table) else {}
    with lake_errors(stored.path):
        recent = count_recent(stored.client, table.target.retain_hours)
        if not is_due(stored.spark, stored.client, {**upkeep_options(table, recent), **forced}):
            return
        options = {**_options(stored, stored.client, table), **forced}
    with _writing(stored, table, options) as services:
        services.run(table.hudi)


def maintain(stored: HudiTable, table: TableConfig) -> Upkeep:
    """Do all the upkeep that there is for a table.  Raises as a commit does."""
    if stored.client is None:
        return Upkeep()
    with lake_errors(stored.path):
        options = {**_options(stored, stored.client, table), **FORCED}
    with _writing(stored, table, options) as services:
        return attrs.evolve(services, counts_bytes=True).run({})


def plan_upkeep(stored: HudiTable, table: TableConfig) -> Upkeep:
    """Return the upkeep that `maintain` would do now, without writing.  Any reader may call it."""
    if stored.client is None:
        return Upkeep()
    with lake_errors(stored.path):
        options = {**_options(stored, stored.client, table), **FORCED}
        with open_services(stored.spark, stored.path, options) as services:
            return services.plan()


def _options(stored: HudiTable, client: Any, table: TableConfig) -> dict[str, str]:
    """Return the options of a write of the table, and of its upkeep."""
    keys = stored.key_columns()
    columns = ((name, ddl) for name, ddl, _ in stored.fields() or ())
    return {
        **hudi_options(table, keys, "upsert"),
        **upkeep_options(table, count_recent(client, table.target.retain_hours)),
        **merger_options(table, keys, columns),
    }


@contextmanager
def _writing(stored: HudiTable, table: TableConfig, options: Mapping[str, str]) -> Iterator[Services]:
    """Open Hudi's table services, and read the table again afterwards."""
    stored.prepare(options, table.name)
    before = timeline_files(stored.path)
    try:
        with open_services(stored.spark, stored.path, options) as services:
            yield services
    except (Py4JJavaError, PySparkException) as error:
        remove_corrupt_instants(stored.spark, stored.path, before)
        raise write_failure(table.name, stored.path, error) from error
    stored.refresh()
