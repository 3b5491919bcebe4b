"""Properties of a table that later commits update: Hudi ignores the options of a write there."""

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
    properties_of_write = {MARKER_PROPERTY: options[MARKER], TIMELINE_ZONE: options[TIMELINE_ZONE]}
    current = client.getTableConfig().getProps()
    changed = {key: value for key, value in properties_of_write.items() if current.getProperty(key) != value}
    if not changed:
        return
    jvm = jvm_of(spark)
    properties = jvm.java.util.Properties()
    for key, value in changed.items():
        properties.setProperty(key, value)
    jvm.org.apache.hudi.common.table.HoodieTableConfig.update(
        client.getStorage(), client.getMetaPath(), properties
    )
    client.reload()
