"""The jars of a session that was not started here: under spark-submit, or a caller's."""

from collections.abc import Mapping
from typing import Any, Final

import attrs
from pyspark.sql import SparkSession

from ingest.errors import JarError
from ingest.jars.job_jars import check_spark
from ingest.jars.platform import HUDI, PlatformJar, check_jar, identify
from ingest.spark.java import find_class, jvm_of

_CLASSES: Final[Mapping[str, str]] = {
    HUDI: "org.apache.hudi.DefaultSource",
    "spark-sql-kafka-0-10": "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    "kafka-clients": "org.apache.kafka.clients.consumer.KafkaConsumer",
}
"""Classes of the artifacts that a session needs."""


def check_session_jars(spark: SparkSession) -> None:
    """Check the versions in a session that was not started here.

    Raises `UsageError` for Spark's, `JarError` for a jar's.
    """
    jvm = jvm_of(spark)
    scala = str(jvm.scala.util.Properties.versionNumberString()).rpartition(".")[0]
    core = PlatformJar(f"Spark {spark.version}", "spark-core", scala, spark.version)
    check_spark((core,))
    for artifact, class_name in _CLASSES.items():
        check_jar(_loaded(spark, artifact, class_name))


def _loaded(spark: SparkSession, artifact: str, class_name: str) -> PlatformJar:
    """Return the jar from which a session loads a class.  Raises `JarError` if no jar has it."""
    try:
        loaded: Any = find_class(spark, class_name)
    except Exception:  # noqa: BLE001  py4j's, whatever the class loader raises
        raise JarError(
            artifact, "is not among the session's jars", "Add it to --jars: `ingest jars list`"
        ) from None
    source = loaded.getProtectionDomain().getCodeSource()
    path = str(source.getLocation().getPath()) if source is not None else class_name
    if artifact == "kafka-clients":
        version = str(jvm_of(spark).org.apache.kafka.common.utils.AppInfoParser.getVersion())
    else:
        version = loaded.getPackage().getImplementationVersion() or ""
    jar = identify(path) or PlatformJar(path, artifact, "", "")
    return attrs.evolve(jar, version=version or jar.version)
