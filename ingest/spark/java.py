"""The driver's JVM: the only code that takes py4j objects out of pyspark.

It lies below the rooms that call Java (`hudi`, `order`, `decode`, `spark`), so that each may import it.
"""

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Final
from weakref import WeakKeyDictionary

import attrs
from py4j.java_gateway import JavaClass, JavaMember
from pyspark import SparkConf, SparkContext
from pyspark.sql import Column, DataFrame, SparkSession


class JvmClass(JavaClass):  # type: ignore[misc]  # py4j has no types
    """A class whose static methods are looked up once."""

    def __getattr__(self, name: str) -> Any:
        """Return a static member.  Raises Py4JError as py4j does."""
        member = super().__getattr__(name)
        if isinstance(member, JavaMember):
            setattr(self, name, member)
        return member


@attrs.define(eq=False)
class JvmNames:
    """The packages and classes of a JVM, each class looked up once.

    py4j asks the JVM for each part of a name, each time: `org` is a package because no jar has a class `org`.
    """

    _jvm: Any
    _prefix: str = ""
    _names: dict[str, Any] = attrs.field(factory=dict, init=False)

    def __getattr__(self, name: str) -> Any:
        """Return a class, or the package of a name in lower case.  Raises Py4JError as py4j does."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._names:
            full_name = f"{self._prefix}{name}"
            if name[0].islower():
                self._names[name] = JvmNames(self._jvm, f"{full_name}.")
            else:
                named = reduce(getattr, full_name.split("."), self._jvm)
                if not isinstance(named, JavaClass):
                    return named  # a class that is missing, perhaps until its jar is added
                self._names[name] = JvmClass(named._fqn, named._gateway_client)  # noqa: SLF001
        return self._names[name]


INTERNALS: Final = "spark.ingest.internals"
"""Spark setting of a session: whether it may use the internals that docs/internals.md lists as optional."""

_JVMS: Final = WeakKeyDictionary[Any, JvmNames]()
_HADOOP: Final = WeakKeyDictionary[SparkContext, Any]()
_OFTEN_NAMED: Final = ("functions", "PythonUtils")
"""The classes that pyspark names for each column.  A miss in each of its imports searches all jars."""


def jvm_of(spark: SparkSession) -> Any:
    """Return the driver's JVM.  Its attributes are packages and classes."""
    jvm = spark._jvm  # noqa: SLF001  pyspark has no public way there
    if jvm not in _JVMS:
        _JVMS[jvm] = JvmNames(jvm)
        for name in _OFTEN_NAMED:
            setattr(jvm, name, getattr(jvm, name))
    return _JVMS[jvm]


def uses_internals(spark: SparkSession) -> bool:
    """Whether a session may use internals that can be turned off, see `[spark] internals`."""
    return spark.conf.get(INTERNALS, "true") != "false"


class TunedContext(SparkContext):
    """A context of a JVM with ingest's functions.  `TunedContext.java` says what it spares jobs."""

    def _initialize_context(self, jconf: Any) -> Any:
        jvm: Any = self._jvm
        return jvm.JavaSparkContext(jvm.io.hudicdc.ingest.spark.TunedContext(jconf))


def start_context(settings: Mapping[str, str]) -> None:
    """Start this process's context, unless it has one.  Sessions are then opened in it."""
    if SparkContext._active_spark_context is None:  # noqa: SLF001  pyspark would start one, to tell
        TunedContext(conf=SparkConf().setAll(list(settings.items())))


def hadoop_of(spark: SparkSession) -> Any:
    """Return the Hadoop configuration that all sessions of the context share."""
    context = spark.sparkContext
    if context not in _HADOOP:
        _HADOOP[context] = context._jsc.hadoopConfiguration()  # noqa: SLF001  same
    return _HADOOP[context]


def status_store(spark: SparkSession) -> Any:
    """Return Spark's account of its jobs and stages (AppStatusStore)."""
    return spark.sparkContext._jsc.sc().statusStore()  # noqa: SLF001  same


def java_session(spark: SparkSession) -> Any:
    """Return Spark's own session object."""
    return spark._jsparkSession  # noqa: SLF001  same


def java_rows(rows: DataFrame) -> Any:
    """Return the Dataset behind a DataFrame."""
    return rows._jdf  # noqa: SLF001  same


def frame_of(spark: SparkSession, java_rows: Any) -> DataFrame:
    """Return the DataFrame over a Dataset."""
    return DataFrame(java_rows, spark)


def select_expr(rows: DataFrame, *expressions: str) -> DataFrame:
    """Return `rows.selectExpr(*expressions)`, for as many as a table has columns.

    pyspark would call the JVM once more for each expression.
    """
    selects = jvm_of(rows.sparkSession).io.hudicdc.ingest.spark.LeanDataset.selectAll
    return frame_of(rows.sparkSession, selects(java_rows(rows), json.dumps(expressions)))


def empty_rows(spark: SparkSession, ddl: str) -> DataFrame:
    """Return a DataFrame without rows.

    pyspark's `createDataFrame` would start a Python process for each partition, to send it nothing.
    """
    schema = jvm_of(spark).org.apache.spark.sql.types.StructType.fromDDL(ddl)
    no_rows = jvm_of(spark).java.util.ArrayList()
    return frame_of(spark, java_session(spark).createDataFrame(no_rows, schema))


def java_column(column: Column) -> Any:
    """Return the Column object of the JVM."""
    return column._jc  # noqa: SLF001  same


def find_class(spark: SparkSession, name: str) -> Any:
    """Return a class as the session's jars give it.  Raises `Py4JJavaError` if no jar has it."""
    jvm = jvm_of(spark)
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return jvm.java.lang.Class.forName(name, False, loader)  # noqa: FBT003  Java's: do not initialise it


def java_array(spark: SparkSession, java_class: Any, items: Sequence[Any]) -> Any:
    """Return a Java array of a class."""
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001  same
    array = gateway.new_array(java_class, len(items))
    for index, item in enumerate(items):
        array[index] = item
    return array


def add_jar(spark: SparkSession, path: str) -> None:
    """Send a jar to the executors.  Tasks that start later see its classes."""
    spark.sparkContext._jsc.addJar(path)  # noqa: SLF001  same
