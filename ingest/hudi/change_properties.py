"""Properties of a table that later commits update: Hudi ignores the options of a write there."""

import json
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import SparkSession

from ingest.hudi.options import MARKER, TIMELINE_ZONE
from ingest.java import jvm_of

MARKER_PROPERTY: Final = f"hoodie.record.merge.property.{MARKER}"
"""The text in the column of operations that makes a row a delete."""


def agree_on_properties(spark: SparkSession, client: Any, options: Mapping[str, str]) -> None:
    """Set the table's marker of deletes and its timeline's zone as a write's options have them.

    The zone may change only when the clock is past the newest instant, see `ingest.hudi.clock`.
    """
    set_properties(spark, client, {MARKER_PROPERTY: options[MARKER], TIMELINE_ZONE: options[TIMELINE_ZONE]})


def set_properties(spark: SparkSession, client: Any, properties: Mapping[str, str]) -> bool:
    """Set properties of a table that differ, in one step for readers; False if none does.

    Call only as the writer.  Raises Py4JJavaError.
    """
    current = client.getTableConfig().getProps()
    changed = {key: value for key, value in properties.items() if current.getProperty(key) != value}
    if changed:
        jvm_of(spark).io.hudicdc.ingest.PropertiesFile.update(client, json.dumps(changed))
        client.reload()
    return bool(changed)
