"""The session has Hudi's settings and the user's, and changes nothing of the caller's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import InheritableThread
from pyspark.sql import Row, SparkSession

from ingest.errors import SettingsError
from ingest.jars.artifacts import spark_jars
from ingest.spark.functions import FUNCTIONS
from ingest.spark.java import INTERNALS
from ingest.spark.java_options import DRIVER_OPTIONS, EXECUTOR_OPTIONS
from ingest.spark.session import (
    EXTENSION,
    EXTENSIONS,
    LIGHT_EXTENSION,
    class_path,
    launch_conf,
    reading_sql,
    session_conf,
    session_of,
    submitted,
)
from ingest.sql.template import ident, literal


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.serializer", "org.apache.spark.serializer.JavaSerializer"),
        ("spark.sql.session.timeZone", "Europe/Berlin"),
        ("spark.sql.ansi.enabled", "true"),
        ("spark.sql.variable.substitute", "true"),
        ("spark.sql.parser.escapedStringLiterals", "true"),
        ("spark.sql.parser.quotedRegexColumnNames", "true"),
        ("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY"),
        ("spark.hadoop.parquet.avro.write-old-list-structure", "true"),
    ],
)
def test_a_setting_that_must_hold_is_not_overruled_in_silence(key: str, value: str) -> None:
    """The error names the key to leave out."""
    with pytest.raises(SettingsError) as refused:
        session_conf({key: value})

    assert refused.value.key == f'spark.conf."{key}"'


def test_a_jvm_without_internals_has_only_the_options_that_it_needs() -> None:
    """No classes of ours, no archive, no compiler's options; the zone and the end without memory stay."""
    conf = launch_conf("local", {INTERNALS: "false"}, spark_jars(), is_short=True)
    assert (conf[EXTENSIONS], conf[INTERNALS]) == (EXTENSION, "false")
    assert not any("hudicdc" in value for value in conf.values())
    options = conf[DRIVER_OPTIONS].split()
    assert [option.partition("=")[0] for option in options] == [
        "-Duser.timezone", "-XX:+ExitOnOutOfMemoryError", "-Dlog4j2.configurationFile",
    ]  # fmt: skip
    assert conf[EXECUTOR_OPTIONS] == "-Duser.timezone=UTC"


def test_the_users_settings_win_and_lists_are_joined() -> None:
    """A user's own extension stays next to Hudi's."""
    conf = session_conf({"spark.ui.enabled": "true", "spark.sql.extensions": "a.B"})

    assert conf["spark.ui.enabled"] == "true"
    assert conf["spark.sql.extensions"] == "a.B,org.apache.spark.sql.hudi.HoodieSparkSessionExtension"


def test_a_short_run_spares_the_optimising_compiler_on_a_cluster_too() -> None:
    """The driver and each executor are JVMs of this run."""
    for is_short in (True, False):
        conf = launch_conf("spark://host:7077", {}, [], is_short=is_short)
        for key in ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"):
            assert ("-XX:TieredStopAtLevel=1" in conf[key]) == is_short


def test_a_local_master_has_as_many_shuffle_partitions_as_threads() -> None:
    """200 empty tasks a shuffle are most of a small table's time; a user's own number stays."""
    key = "spark.sql.shuffle.partitions"

    assert launch_conf("local[3]", {}, [])[key] == "3"
    assert launch_conf("local", {}, [])[key] == "1"
    assert key not in launch_conf("local-cluster[2,1,1024]", {}, [])
    assert launch_conf("local[3]", {key: "8"}, [])[key] == "8"
    assert key not in launch_conf("spark://host:7077", {}, [])
    assert "spark.driver.host" not in launch_conf("spark://host:7077", {}, [])


def test_only_a_local_jvm_with_our_functions_has_the_light_extension() -> None:
    """Elsewhere the class may be missing; the user's extensions stay in their order."""
    jars = spark_jars()

    assert launch_conf("local", {EXTENSIONS: "a.B"}, jars)[EXTENSIONS] == f"a.B,{LIGHT_EXTENSION}"
    assert (
        launch_conf("local", {EXTENSIONS: f"{EXTENSION},a.B"}, jars)[EXTENSIONS] == f"{LIGHT_EXTENSION},a.B"
    )
    assert launch_conf("local", {}, [])[EXTENSIONS] == EXTENSION
    assert launch_conf("spark://host:7077", {}, jars)[EXTENSIONS] == EXTENSION


def test_jars_are_added_by_absolute_path_to_the_users(tmp_path: Path) -> None:
    """A cluster's executors fetch them; a local master has ours on its class path instead."""
    jars = [tmp_path / "x" / ".." / "a.jar"]
    conf = launch_conf("spark://host:7077", {"spark.jars": "/own.jar"}, jars)

    assert conf["spark.jars"] == f"/own.jar,{tmp_path.resolve()}/a.jar"
    assert "spark.jars" not in launch_conf("local", {}, jars)
    with class_path(jars):
        assert os.environ["SPARK_DIST_CLASSPATH"].endswith(f"{tmp_path.resolve()}/a.jar")


def test_a_jvm_started_here_runs_in_utc_unless_the_user_says_otherwise() -> None:
    """Hudi names commits after the JVM's zone."""
    keys = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")

    assert all("-Duser.timezone=UTC" in launch_conf("local", {}, [])[key] for key in keys)
    own = launch_conf("local", dict.fromkeys(keys, "-Duser.timezone=Asia/Tokyo"), [])
    assert all(own[key].count("user.timezone") == 1 for key in keys)


def test_the_users_log_configuration_stays() -> None:
    """Ours comes only where there is none."""
    key = "spark.driver.extraJavaOptions"

    assert "spark/log4j2.properties -Xss4m" in launch_conf("local", {key: "-Xss4m"}, [])[key]
    assert launch_conf("local", {key: "-Dlog4j2.configurationFile=my"}, [])[key].count("log4j2") == 1


def test_spark_submit_is_recognised_by_the_gateway_it_hands_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then master and jars are the submitter's."""
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert not submitted()
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert submitted()


@pytest.mark.spark
def test_a_callers_session_keeps_its_own_settings(outer_spark: SparkSession) -> None:
    """Our session works in UTC next to one that does not."""
    key = "spark.sql.session.timeZone"
    before = outer_spark.conf.get(key)

    assert session_of(outer_spark).conf.get(key) == "UTC"
    assert outer_spark.conf.get(key) == before != "UTC"


def test_a_session_without_the_adapter_reads_by_rows() -> None:
    """A query with flat and nested scans of one Hudi table fails in batches."""
    assert reading_sql(f"org.other.Extension,{LIGHT_EXTENSION}") == {}
    assert reading_sql(EXTENSION) == {"spark.sql.parquet.enableVectorizedReader": "false"}


VARIABLES = (
    "${env:HOME}",
    "${system:user.home}",
    "${spark.app.name}",
    "Dear ${user}",
    "$x",
    "a{2}",
    "it's",
    "\\n",
)


@pytest.mark.spark
@pytest.mark.parametrize("fresh_thread", [False, True])
def test_no_name_or_text_of_ours_is_replaced(outer_spark: SparkSession, *, fresh_thread: bool) -> None:
    """Not in a caller's session that does substitute, nor in a thread of a run, which starts without one."""
    caller = outer_spark.newSession()
    for key in ("variable.substitute", "parser.escapedStringLiterals", "parser.quotedRegexColumnNames"):
        caller.conf.set(f"spark.sql.{key}", "true")
    caller.conf.set("spark.sql.ansi.enabled", "true")
    results: list[Row] = []

    def select() -> None:
        rows = session_of(caller).createDataFrame([VARIABLES], list(VARIABLES))
        named = [str(ident(text).alias(f"{text}.")) for text in VARIABLES]
        written = [str(literal(text).alias(f"{text}!")) for text in VARIABLES]
        results.extend(rows.selectExpr(*named, *written).collect())

    if fresh_thread:
        thread = InheritableThread(target=select)
        thread.start()
        thread.join()
    else:
        select()
    assert [tuple(row) for row in results] == [(*VARIABLES, *VARIABLES)]
    assert results[0].__fields__ == [f"{text}{end}" for end in ".!" for text in VARIABLES]


@pytest.mark.spark
def test_a_callers_session_without_hudis_parts_is_refused() -> None:
    """What is missing can only be set before a session starts, so it is named."""
    script = """
from pyspark.sql import SparkSession
from ingest.errors import SettingsError
from ingest.spark.session import session_of
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
try:
    session_of(spark)
except SettingsError as error:
    print("refused:", error.key)
finally:
    spark.stop()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert "refused: spark.serializer" in done.stdout


@pytest.mark.spark
def test_our_functions_are_known_in_our_session_alone(outer_spark: SparkSession) -> None:
    """The caller's session has no functions that it did not ask for."""
    ours = session_of(outer_spark)

    assert ours.sql("SELECT ingest_document_key(' 1 ')").collect()[0][0] == "1"
    assert all(ours.catalog.functionExists(name) for name in FUNCTIONS)
    assert not any(outer_spark.catalog.functionExists(name) for name in FUNCTIONS)


@pytest.mark.spark
def test_a_session_without_our_functions_jar_is_refused() -> None:
    """A caller's session has jars of its own; what is missing is named before anything is read."""
    script = """
from pyspark.sql import SparkSession
from ingest.jars.artifacts import spark_jars
from ingest.errors import SettingsError
from ingest.spark.session import start_session
jars = [jar for jar in spark_jars() if "ingest-functions" not in jar.name]
try:
    start_session("test", "local[1]", {}, jars)
except SettingsError as error:
    print("refused:", error)
finally:
    SparkSession.getActiveSession().stop()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert (
        "refused: Spark session: spark.jars: the class io.hudicdc.ingest.avro.PlainDecimal is not among"
        in done.stdout
    )
    assert "Start the session with all of `ingest.artifacts.spark_jars()`" in done.stdout


@pytest.mark.spark
@pytest.mark.parametrize(
    ("limit", "memory", "reason"),
    [
        ("resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))", "2g", "may open 64 files (`ulimit -n`)"),
        ("", "300m", 'Raise [spark.conf] "spark.driver.memory", for example to "2g"'),
    ],
    ids=["files", "memory"],
)
def test_a_jvm_that_cannot_start_says_what_it_lacks(limit: str, memory: str, reason: str) -> None:
    """In an error of ours, not in a stack of Java's."""
    script = f"""
import resource
from ingest.jars.artifacts import spark_jars
from ingest.errors import SparkStartError
from ingest.spark.session import start_session
{limit}
try:
    start_session("x", "local[1]", {{"spark.driver.memory": "{memory}"}}, spark_jars())
except SparkStartError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("Spark did not start: ")
    assert reason in done.stdout
