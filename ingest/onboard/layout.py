"""The layout and the types of a new Hudi table, fixed at its creation: chosen by rule.

Does not import pyspark: table files are written without a JVM.
"""

from collections.abc import Sequence
from typing import Final, Literal

import attrs

from ingest.dialects import Dialect
from ingest.onboard.outcome import OnboardOptions
from ingest.settings import Settings
from ingest.tables import Target, Types
from ingest.typemap.readers import format_for

ROWS_PER_BUCKET: Final = 1_000_000
MOST_BUCKETS: Final = 256


@attrs.frozen
class TableLayout:
    """The layout of a new table, and the reason that the table file shows."""

    index: Literal["bucket", "global_simple"]
    buckets: int
    reason: str


def choose_target(expected_rows: int, partition_by: Sequence[str], key_columns: Sequence[str]) -> TableLayout:
    """Choose index and buckets: both are fixed when the table is created."""
    buckets = min(max(2, -(-expected_rows // ROWS_PER_BUCKET)), MOST_BUCKETS)
    if not partition_by:
        size = f"{buckets} for {expected_rows:,} expected rows, about a million each, 2 to 256"
        return TableLayout("bucket", buckets, f"commits look up no key. Buckets: {size}")
    if set(partition_by) <= set(key_columns):
        reason = "partitioned inside the key, so commits look up no key. Buckets count in each partition"
        return TableLayout("bucket", 2, reason)
    reason = "partitioned outside the key: a lookup over all partitions, or a row that moves is doubled"
    return TableLayout("global_simple", buckets, reason)


def new_target(settings: Settings, options: OnboardOptions) -> Target:
    """Return the target of a new table: by `[defaults]`, then its readers, and its version by these."""
    target, given = settings.defaults.target, settings.defaults.given.get("target", {})
    target = attrs.evolve(target, readers=settings.onboard.readers or target.readers)
    if "table_version" not in given:
        target = attrs.evolve(target, table_version=format_for(target.readers).table_version)
    return attrs.evolve(target, mode="append" if options.append else "upsert")


def new_types(settings: Settings, dialect: Dialect) -> Types:
    """Return the types of a new table: by `[defaults]`, then by its readers, settings and connector."""
    types, given = settings.defaults.types, settings.defaults.given.get("types", {})
    if "timestamps" not in given:
        readers = settings.onboard.readers or settings.defaults.target.readers
        wanted = (format_for(readers).timestamps, settings.types.timestamps)
        types = attrs.evolve(types, timestamps="utc" if "utc" in wanted else "ntz")
    if "out_of_range" not in given:
        types = attrs.evolve(types, out_of_range="null" if dialect.has_infinity else "fail")
    return types
