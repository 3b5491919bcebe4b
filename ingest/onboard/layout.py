"""The layout and the types of a new Hudi table, fixed at its creation: chosen by rule.

Does not import pyspark: table files are written without a JVM.
"""

from typing import Final

import attrs

from ingest.dialects import Dialect
from ingest.onboard.outcome import OnboardOptions
from ingest.settings import Settings
from ingest.tables import Target, Types
from ingest.typemap.readers import format_for

ROWS_PER_BUCKET: Final = 1_000_000
MOST_BUCKETS: Final = 256


def choose_buckets(expected_rows: int) -> tuple[int, str]:
    """Choose the number of buckets, which is fixed when the table is created, and say why."""
    buckets = min(max(2, -(-expected_rows // ROWS_PER_BUCKET)), MOST_BUCKETS)
    size = f"{buckets} for {expected_rows:,} expected rows, about a million each, 2 to 256"
    return buckets, f"commits look up no key. Buckets: {size}"


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
