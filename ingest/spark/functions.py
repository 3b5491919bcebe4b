"""ingest's functions on the JVM, by their names in SQL.  Their sources are in `jvm/`."""

from collections.abc import Mapping
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType

from ingest.errors import SettingsError
from ingest.masking import salt_id_of
from ingest.spark.java import java_session, jvm_of

FUNCTIONS: Final[Mapping[str, str]] = {
    "ingest_plain_decimal": "io.hudicdc.ingest.avro.PlainDecimal",
    "ingest_document_key": "io.hudicdc.ingest.json.DocumentKey",
    "ingest_document_update": "io.hudicdc.ingest.json.DocumentUpdate",
    "ingest_document_value": "io.hudicdc.ingest.json.DocumentValue",
    "ingest_json_member": "io.hudicdc.ingest.json.JsonMember",
    "ingest_numeric_decimals": "io.hudicdc.ingest.json.NumericDecimals",
}
"""Name in SQL -> Java class.  All return text, and the classes document their arguments."""


def keep_salt(spark: SparkSession, salt: str) -> None:
    """Make the key of `ingest_hash` known to the driver's JVM, under its id."""
    jvm_of(spark).io.hudicdc.ingest.checksum.SaltedHash.keep(salt_id_of(salt), salt.encode())


def register_functions(spark: SparkSession) -> None:
    """Make the functions known to one session.  Other sessions of the same context do not see them."""
    for name, class_name in FUNCTIONS.items():
        try:
            spark.udf.registerJavaFunction(name, class_name, StringType())
        except AnalysisException as missing:
            raise SettingsError(
                "Spark session",
                "spark.jars",
                f"the class {class_name} is not among the session's jars",
                "Start the session with all of `ingest.artifacts.spark_jars()`, or add them to --jars",
            ) from missing
    # A Java UDF receives and returns objects.  These functions are expressions, which generated code calls
    # with Spark's own values.
    jvm_of(spark).io.hudicdc.ingest.Expressions.register(java_session(spark))
