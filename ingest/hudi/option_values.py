"""The values of the `[hudi]` options, checked before anything is read: Hudi parses most only in the write."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ingest.errors import TableFileError
from ingest.hudi.options import OWNED, tuned
from ingest.spark.java import find_class, jvm_of
from ingest.spark.java_errors import root_cause
from ingest.tables import TableConfig

CLASSES: Final = (
    *(
        f"org.apache.hudi.config.{name}"
        for name in (
            "HoodieWriteConfig",
            "HoodieCleanConfig",
            "HoodieCompactionConfig",
            "HoodieArchivalConfig",
            "HoodieClusteringConfig",
            "HoodieIndexConfig",
            "HoodieLayoutConfig",
            "HoodieLockConfig",
            "HoodieTTLConfig",
        )
    ),
    *(
        f"org.apache.hudi.common.config.{name}"
        for name in (
            "HoodieStorageConfig",
            "HoodieMetadataConfig",
            "HoodieMemoryConfig",
            "HoodieReaderConfig",
        )
    ),
)
"""The classes whose public fields declare Hudi's write options (1.2.0)."""

CODEC: Final = "hoodie.parquet.compression.codec"
_INTEGER: Final = re.compile(r"-?\d+")
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE]-?\d+)?")
_BOOLEANS: Final = ("true", "false")
_CLASS: Final = re.compile(r"org\.apache(\.\w+)+\.[A-Z]\w*")


def check_values(spark: SparkSession, table: TableConfig) -> None:
    """Compare the values of a table file's options with the type of Hudi's own defaults.

    Raises `TableFileError` for the first value that Hudi could not parse, or would take for `false`.
    """
    if not table.hudi:
        return
    for key, default in _defaults(spark, table.hudi):
        allowed = _mismatch(spark, table.hudi[key], default)
        if allowed:
            _refuse(table, key, allowed)
    _check_config(spark, table)


def _defaults(spark: SparkSession, keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Find Hudi's default values of options, as text."""
    missing = set(keys)
    for name in CLASSES:
        for field in find_class(spark, name).getFields():
            if not missing:
                return
            if field.getType().getSimpleName() != "ConfigProperty":
                continue
            declared = field.get(None)
            if declared.key() in missing and declared.hasDefaultValue():
                missing.remove(declared.key())
                yield declared.key(), str(declared.defaultValue())


def _mismatch(spark: SparkSession, value: str, default: str) -> str:
    """Return the kind of value that is allowed, or empty if this one fits."""
    if _CLASS.fullmatch(default):
        return "" if _is_class(spark, value) else "the name of a class in the session's jars"
    if default.lower() in _BOOLEANS:
        return "" if value.lower() in _BOOLEANS else "true or false"
    if _INTEGER.fullmatch(default):
        return "" if _INTEGER.fullmatch(value) else "a whole number"
    if _NUMBER.fullmatch(default):
        return "" if _NUMBER.fullmatch(value) else "a number"
    return ""


def _is_class(spark: SparkSession, name: str) -> bool:
    try:
        find_class(spark, name)
    except Py4JJavaError:
        return False
    return True


def _check_config(spark: SparkSession, table: TableConfig) -> None:
    """Let Hudi and Parquet parse names of strategies and codecs, and find options that exclude each other."""
    jvm: Any = jvm_of(spark)
    properties = jvm.java.util.Properties()
    for key, value in {**tuned(table.target), **table.hudi, **OWNED}.items():
        properties.setProperty(key, value)
    try:
        builder = jvm.org.apache.hudi.config.HoodieWriteConfig.newBuilder().withPath("/")
        builder.forTable(table.name).withProperties(properties).build()
        if CODEC in table.hudi:
            jvm.org.apache.parquet.hadoop.metadata.CompressionCodecName.fromConf(table.hudi[CODEC])
    except (Py4JJavaError, PySparkException) as error:
        problem = root_cause(error)
        culprit = next((key for key, value in table.hudi.items() if value.lower() in problem.lower()), "")
        raise TableFileError(
            f"{table.name}.toml",
            f'hudi."{culprit}"' if culprit else "hudi",
            f"Hudi cannot use the value: {problem}",
            "See the option in Hudi's configuration reference, or remove it",
        ) from error


def _refuse(table: TableConfig, key: str, allowed: str) -> None:
    problem = f"'{table.hudi[key]}' is not a value of this option: it takes {allowed}"
    raise TableFileError(f"{table.name}.toml", f'hudi."{key}"', problem, "Change or remove it")
