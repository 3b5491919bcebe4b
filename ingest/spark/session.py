"""The Spark session that Hudi needs: started here, or taken from a caller.

Hudi's memory estimator (JOL, HUDI-4687) prints `# WARNING: Unable to get Instrumentation` and the like to the
driver's stdout, at any log level.  Machine-readable output therefore never shares stdout with a running
session.
"""

import os
import resource
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from ingest.errors import SettingsError, SparkStartError
from ingest.settings.secret import MASKED_NAMES
from ingest.spark.catalog import IMPLEMENTATION, LASTING
from ingest.spark.class_archive import ClassArchive
from ingest.spark.functions import register_functions
from ingest.spark.java import INTERNALS, hadoop_of, jvm_of, start_context, uses_internals
from ingest.spark.java_options import (
    DRIVER_OPTIONS,
    EXECUTOR_OPTIONS,
    HUGE_METHODS,
    driver_options,
    executor_options,
)
from ingest.spark.jdk import check_spark_java
from ingest.spark.master import is_local, threads
from ingest.spark.session_jars import check_session_jars

SERIALIZER: Final = "org.apache.spark.serializer.KryoSerializer"
LIST_STRUCTURE: Final = "parquet.avro.write-old-list-structure"
EXTENSIONS: Final = "spark.sql.extensions"
EXTENSION: Final = "org.apache.spark.sql.hudi.HoodieSparkSessionExtension"
LIGHT_EXTENSION: Final = "io.hudicdc.ingest.hudi.HudiExtension"
"""Hudi's, without its searches of plans that do not concern it: for a local JVM with ingest's functions."""
MUST_HOLD_SQL: Final[Mapping[str, str]] = {
    # Wall clocks and instants are compared and converted in UTC.  The session's zone is never the data's.
    "spark.sql.session.timeZone": "UTC",
    # ANSI mode turns overflow and bad casts into failures of the whole batch, and ingest's converters test
    # for them.
    "spark.sql.ansi.enabled": "false",
    # Without these, bulk_insert of dates before 1582 and timestamps before 1900 fails (SPARK-31404).
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    # Hudi's vectorized reader refuses files in which a nested value has a narrower type than in the table
    # (`ParquetSchemaEvolutionUtils` of 1.2.0).  Other writers and earlier versions of ingest leave such
    # files.
    "spark.sql.parquet.enableNestedColumnVectorizedReader": "false",
    # By default Spark replaces ${env:X}, ${system:X} and ${any.setting} in every SQL text
    # (VariableSubstitution): a schema's default or name would bring the environment, passwords included, into
    # the lake.
    "spark.sql.variable.substitute": "false",
    # `ingest.sql.template` writes names and texts for the parser's defaults.
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
}
MUST_HOLD: Final[Mapping[str, str]] = {
    "spark.serializer": SERIALIZER,
    # Without it, an array with a null element kills an upsert, and the exception names no cause
    # (apache/hudi#2265).
    f"spark.hadoop.{LIST_STRUCTURE}": "false",
    **MUST_HOLD_SQL,
}
"""Settings that the user's must not contradict: the tables would be wrong, or could not be written."""

JOINED: Final[Mapping[str, str]] = {
    EXTENSIONS: EXTENSION,
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
}
"""Comma-separated settings: ingest's value is added to the user's."""

CLASS_PATH: Final = "SPARK_DIST_CLASSPATH"
"""Spark's launcher appends this environment variable to the class path of the JVM that it starts."""

SPLIT_METHODS: Final[Mapping[str, str]] = {
    # For a JVM without that option: above this size Spark uses smaller, slower methods.  The default, 65,535,
    # is the largest method that Java allows (SPARK-23267).
    "spark.sql.codegen.hugeMethodLimit": "8000",
}
TUNED_SQL: Final[Mapping[str, str]] = {
    # A batch of completed rows is held between counting and writing.  Compressing it costs a tenth of a run
    # and saves little.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
}
DEFAULTS: Final[Mapping[str, str]] = {
    **TUNED_SQL,
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    # Compiled code serves each later query of the same form.  A table needs about ten classes.  The default
    # is 100, and 20 tables compiled 50 to 70 again in each round.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # Every broadcast allocates a block, by default of 4 MiB for some kilobytes, ten times in a small commit.
    "spark.broadcast.blockSize": "256k",
    "spark.scheduler.mode": "FAIR",  # several tables at a time share the executors evenly
    # Consumers stay for the next run of a session: 50 tables with two partitions each have 100 (default 64).
    "spark.kafka.consumer.cache.capacity": "128",
    # What a task has fetched beyond its range is dropped soon.  By default it stays for five minutes: of
    # 3,000,000 messages some 100,000 stayed in memory.
    "spark.kafka.consumer.fetchedData.cache.timeout": "5s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "5s",
    # Up to this number of partitions, each task of a shuffle opens a stream for each of them, with a Kryo
    # (default 200).  A commit to 100 files shuffles its rows to 100 partitions.
    "spark.shuffle.sort.bypassMergeThreshold": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The names that Spark's pages and event logs mask.  Spark's default shows an Azure storage's key, say.
    "spark.redaction.regex": MASKED_NAMES,
}
LASTING_CATALOG: Final[Mapping[str, str]] = {IMPLEMENTATION: LASTING}
"""For tables that are to be found by name: the metastore that `hive-site.xml` or the user's settings name."""
LOCAL_DEFAULTS: Final[Mapping[str, str]] = {
    "spark.driver.host": "127.0.0.1",  # loopback only, whatever the host name resolves to
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    # Never used, yet Spark makes it on the first query: not in the user's folder.
    "spark.sql.warehouse.dir": str(Path(gettempdir()) / "ingest-warehouse"),
}

OWN_CLASSES: Final[Mapping[str, str]] = {
    # Shows the progress of running tasks.
    "spark.plugins": "io.hudicdc.ingest.spark.RunningTasks",
    # Starts no `chmod` process for each file.
    "spark.hadoop.fs.file.impl": "io.hudicdc.ingest.spark.LocalFiles",
    # Reads no completed instant and no unchanged properties of a table twice.
    "spark.hadoop.fs.s3a.impl": "io.hudicdc.ingest.spark.S3Files",
}
"""For a local JVM with ingest's functions.  A context that lacks the classes does not start."""


_FEWEST_FILES: Final = 1024
"""Files that a local Spark opens in a small run: its jars, sockets and shuffle files."""


def start_session(
    app_name: str,
    master: str,
    conf: Mapping[str, str],
    jars: Sequence[Path],
    archive: ClassArchive | None = None,
    *,
    is_short: bool = False,
) -> SparkSession:
    """Start the session of a run, or take the one that this process already has.

    Under `spark-submit`, master, jars, memory and logging are the submitter's, because they were fixed with
    the JVM.  Otherwise a JVM is started.  `is_short` spares it the compiler that pays only in a long run.
    """
    active = active_session()
    if active is not None:
        return session_of(active)
    if not submitted():
        check_spark_java()
    settings = (
        session_conf(conf) if submitted() else launch_conf(master, conf, jars, archive, is_short=is_short)
    )
    is_tuned = not submitted() and _has_own_classes(conf, jars)
    with _without_interruption(), class_path(jars):
        spark = _started({**settings, "spark.app.name": app_name}, is_tuned=is_tuned)
    _check(spark)
    if submitted():
        check_session_jars(spark)
    for key, value in _split_methods(spark).items():
        spark.conf.set(key, value)
    register_functions(spark)
    prepare_context(spark)
    return spark


def _started(settings: Mapping[str, str], *, is_tuned: bool) -> SparkSession:
    """Start the session.  Raises `SparkStartError` if the JVM or the context does not start."""
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        if is_tuned:
            start_context(settings)
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        if error.getErrorClass() != "JAVA_GATEWAY_EXITED":
            raise
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        problem = "its JVM ended at once, and says why above"
        if files < _FEWEST_FILES:
            problem += (
                f". This process may open {files} files (`ulimit -n`), and Spark needs about {_FEWEST_FILES}"
            )
        todo = 'Check `ulimit -n`, the free memory and [spark.conf] "spark.driver.memory"'
        raise SparkStartError(problem, todo) from None
    except Py4JJavaError as error:
        problem = str(error.java_exception.getMessage()).splitlines()[0]
        todo = "Correct [spark] and [spark.conf] in the settings"
        if "heap size" in problem:
            todo = 'Raise [spark.conf] "spark.driver.memory", for example to "2g"'
        raise SparkStartError(problem, todo) from None


@contextmanager
def class_path(jars: Sequence[Path]) -> Iterator[None]:
    """Let a JVM that is started meanwhile have the jars on its class path, behind Spark's own.

    `spark.jars` would give them a separate class loader.  Hudi's bundle has classes in Parquet's packages
    that use Parquet's package-private methods (`org.apache.parquet.schema.SchemaRepair` in 1.2.0, of PR 14161
    of apache/hudi), and these packages are one only in one loader.  The second commit to a file with a nested
    `timestamp_ntz` failed with an IllegalAccessError.
    """
    before = os.environ.get(CLASS_PATH)
    os.environ[CLASS_PATH] = os.pathsep.join([*filter(None, [before]), *(str(jar.resolve()) for jar in jars)])
    try:
        yield
    finally:
        if before is None:
            del os.environ[CLASS_PATH]
        else:
            os.environ[CLASS_PATH] = before


@contextmanager
def _without_interruption() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back until the JVM has started, and let it ignore both.

    An interrupted `launch_gateway` of pyspark removes the folder to which the starting JVM writes its port.
    The JVM then never sees EOF on its stdin (SPARK-4415), and is orphaned.

    A scheduler that stops a run signals all its processes, and a JVM that ended at once would interrupt a
    commit.  A JVM that is started while SIGTERM is ignored ignores it too, and ends with this process, at
    that EOF.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupts: list[int] = []
    term = {signal.SIGTERM}
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    # Linux keeps a blocked signal even if it is ignored, and delivers it when it is unblocked.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, term)
    before_term = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before_term)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, before)
    if interrupts:
        signal.raise_signal(signal.SIGINT)


def prepare_context(spark: SparkSession) -> None:
    """Make the jobs of a context cheaper that no other program shares, if it may use internals."""
    if not uses_internals(spark):
        return
    jvm = jvm_of(spark)
    # Spark takes the size of its cache of code from the session of the thread that first loads this class.  A
    # thread of a run has none, and Spark would take the default.
    jvm.org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator.resetCompileTime()
    jvm.io.hudicdc.ingest.spark.HadoopOrigins.forget(hadoop_of(spark))


def active_session() -> SparkSession | None:
    """Return the session of this thread, or else of this process, if there is one."""
    return SparkSession.getActiveSession()


def session_of(spark: SparkSession) -> SparkSession:
    """Open a new session next to the caller's, which keeps its SQL settings.

    One Hadoop setting exists only in the shared context, and is set there.  Spark's own Parquet ignores it.
    """
    _check(spark)
    check_session_jars(spark)
    hadoop_of(spark).set(LIST_STRUCTURE, "false")
    own = spark.newSession()
    reading = reading_sql(own.conf.get(EXTENSIONS, "") or "")
    for key, value in {**TUNED_SQL, **_split_methods(spark), **reading, **MUST_HOLD_SQL}.items():
        own.conf.set(key, value)
    register_functions(own)
    return own


def reading_sql(extensions: str) -> dict[str, str]:
    """Return the settings by which a session with these extensions reads Hudi tables.

    Hudi 1.2.0 keeps whether it reads in batches in a place that all scans of a query share.  Without the
    adapter for Spark that ingest's extension brings, a query with flat and nested scans of a table fails.
    """
    return {} if LIGHT_EXTENSION in extensions else {"spark.sql.parquet.enableVectorizedReader": "false"}


def submitted() -> bool:
    """Tell whether `spark-submit` started this process.

    Its PythonRunner starts the driver's JVM first and hands the port down in this variable.  When pyspark
    starts the JVM itself, the variable is not in this process's environment.
    """
    return "PYSPARK_GATEWAY_PORT" in os.environ


def session_conf(conf: Mapping[str, str]) -> dict[str, str]:
    """Merge the user's settings with ingest's.  The user's win, except over the settings that must hold."""
    for key, value in MUST_HOLD.items():
        if conf.get(key, value) != value:
            raise SettingsError(
                "settings",
                f'spark.conf."{key}"',
                f"'{conf[key]}' is not possible: ingest needs '{value}'",
                "Leave it out",
            )
    joined = {key: _joined(conf.get(key, ""), ours) for key, ours in JOINED.items()}
    return {**DEFAULTS, **conf, **MUST_HOLD, **joined}


def launch_conf(
    master: str,
    conf: Mapping[str, str],
    jars: Sequence[Path],
    archive: ClassArchive | None = None,
    *,
    is_short: bool = False,
) -> dict[str, str]:
    """Return all settings of a JVM still to be started: `session_conf` with master, jars and Java's options.

    Executors of a cluster fetch the jars.  A local master's executors are the driver (see `class_path`).
    """
    local = is_local(master)
    is_tuned = conf.get(INTERNALS) != "false"
    has_functions = local and _has_own_classes(conf, jars)
    defaults = {
        **(LOCAL_DEFAULTS if local else {}),
        **({"spark.sql.shuffle.partitions": str(threads(master))} if local else {}),
        **(OWN_CLASSES if has_functions else {}),
    }
    to_fetch = [] if local else [str(jar.resolve()) for jar in jars]
    own_jars = _joined(conf.get("spark.jars", ""), *to_fetch)
    settings = session_conf(conf)
    extensions = settings[EXTENSIONS]
    fixed = {
        "spark.master": master,
        **({"spark.jars": own_jars} if own_jars else {}),
        DRIVER_OPTIONS: driver_options(
            conf.get(DRIVER_OPTIONS, ""), archive, is_short=is_short, is_tuned=is_tuned
        ),
        EXECUTOR_OPTIONS: executor_options(
            conf.get(EXECUTOR_OPTIONS, ""), is_short=is_short, is_tuned=is_tuned
        ),
        EXTENSIONS: extensions.replace(EXTENSION, LIGHT_EXTENSION) if has_functions else extensions,
    }
    return {**defaults, **settings, **fixed}


def _has_own_classes(conf: Mapping[str, str], jars: Sequence[Path]) -> bool:
    """Whether a JVM still to be started may use ingest's classes in place of Spark's and Hadoop's."""
    has_functions = any(jar.name.startswith("ingest-functions") for jar in jars)
    return has_functions and conf.get(INTERNALS) != "false"


def _split_methods(spark: SparkSession) -> Mapping[str, str]:
    """Return the settings of a session with JVMs, driver's or executors', that skip huge methods."""
    local = is_local(str(spark.sparkContext.master))
    options = spark.conf.get(DRIVER_OPTIONS if local else EXECUTOR_OPTIONS, "") or ""
    return {} if HUGE_METHODS in options else SPLIT_METHODS


def _joined(*values: str) -> str:
    """Join comma-separated lists, without doubles, in order."""
    return ",".join(dict.fromkeys(item for value in values for item in value.split(",") if item))


def _check(spark: SparkSession) -> None:
    """Refuse a session that Hudi could not write with: its static settings can no longer be changed."""
    required = {"spark.serializer": (SERIALIZER,), EXTENSIONS: (EXTENSION, LIGHT_EXTENSION)}
    for key, accepted in required.items():
        current = spark.conf.get(key, "") or ""
        if not set(accepted) & set(current.split(",")):
            raise SettingsError(
                "Spark session",
                key,
                f"found '{current}', and Hudi needs '{accepted[0]}'",
                "Set it before the session starts",
            )
