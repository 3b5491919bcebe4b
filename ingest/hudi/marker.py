"""What a Hudi table takes for a delete: kept in its own properties since it was created."""

from collections.abc import Mapping
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ingest.errors import LakeUnreachableError
from ingest.hudi.java_errors import root_cause
from ingest.hudi.metaclient import open_table
from ingest.hudi.options import MARKER
from ingest.java import jvm_of

PROPERTY: Final = f"hoodie.record.merge.property.{MARKER}"
"""Hudi goes by this one, and passes over the option of a write that says otherwise."""


def agree_on_deletes(spark: SparkSession, path: str, options: Mapping[str, str]) -> None:
    """Bring the table's properties to what the table file says now: whether a delete is a row."""
    table = open_table(spark, path)
    if table is None or table.getTableConfig().getProps().getProperty(PROPERTY) == options[MARKER]:
        return
    jvm = jvm_of(spark)
    properties = jvm.java.util.Properties()
    properties.setProperty(PROPERTY, options[MARKER])
    try:
        jvm.org.apache.hudi.common.table.HoodieTableConfig.update(
            table.getStorage(), table.getMetaPath(), properties
        )
    except Py4JJavaError as error:
        raise LakeUnreachableError(path, root_cause(error)) from error
