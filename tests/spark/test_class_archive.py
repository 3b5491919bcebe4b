"""A JVM that ended well leaves an archive of its classes, which the next one maps if it is safe and fits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.spark.class_archive import END, OLDEST, ClassArchive, class_archive
from ingest.spark.java_options import driver_options, executor_options
from ingest.spark.jdk import Java, find_java

MAP = "-XX:SharedArchiveFile="
RECORD = "-XX:+RecordDynamicDumpInfo"
SESSION = """
import sys
from pathlib import Path
from ingest.jars.artifacts import spark_jars
from ingest.spark.jdk import find_java
from ingest.spark.java import jvm_of
from ingest.spark.class_archive import class_archive
from ingest.spark.session import start_session
archive = class_archive(find_java(), "local[1]", {}, spark_jars(), Path(sys.argv[1]))
spark = start_session("test", "local[1]", {}, spark_jars(), archive, is_short=True)
archive.write_at_exit(spark)
compiler = jvm_of(spark).java.lang.management.ManagementFactory.getRuntimeMXBean()
print(spark.range(3).count(), *compiler.getInputArguments())
spark.stop()
"""


def run_session(cache: Path) -> list[str]:
    """Start a JVM with the archive of a cache folder, and end it; return what it said."""
    done = subprocess.run(
        [sys.executable, "-c", SESSION, str(cache)], capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout.split()


def make_archive(path: Path, mode: int = 0o600) -> ClassArchive:
    """Write a file where an archive would be."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(bytes(5000) + END)
    path.chmod(mode)
    return ClassArchive(path)


@pytest.mark.spark
@pytest.mark.parametrize("is_damaged", [False, pytest.param(True, marks=pytest.mark.pairs)])
def test_the_first_jvm_writes_an_archive_and_the_second_maps_it(tmp_path: Path, *, is_damaged: bool) -> None:
    """Nothing of it shows on stdout; a damaged archive is as good as none."""
    java = find_java()
    base = Path(java.program).resolve().parents[1] / "lib" / "server" / "classes.jsa"
    if java.version < OLDEST or not base.exists():
        pytest.skip(f"only Java {OLDEST} or later, with an archive of its own classes, can write one")
    first = run_session(tmp_path)
    (archive,) = (tmp_path / "class-data").iterdir()  # the JVM's stdout is ours: it has ended
    if is_damaged:
        whole = archive.read_bytes()
        middle = len(whole) // 2
        archive.write_bytes(whole[:middle] + os.urandom(100_000) + whole[middle + 100_000 :])
    second = run_session(tmp_path)

    assert (first[0], second[0]) == ("3", "3")
    assert RECORD in first
    assert "dump" not in " ".join(first)
    assert f"{MAP}{archive}" in second
    assert archive.suffix == ".jsa"


def test_an_archive_that_others_can_write_is_not_mapped(tmp_path: Path) -> None:
    """The JVM would run their code."""
    safe = make_archive(tmp_path / "safe" / "a.jsa")
    shared = make_archive(tmp_path / "shared" / "a.jsa", 0o666)
    open_folder = make_archive(tmp_path / "open" / "a.jsa")
    open_folder.path.parent.chmod(0o777)

    assert safe.options().startswith(f"{MAP}{safe.path} ")
    assert (shared.options(), open_folder.options()) == ("", "")


def test_an_archive_that_was_cut_off_is_written_again(tmp_path: Path) -> None:
    """The next run that commits replaces it."""
    archive = make_archive(tmp_path / "cut" / "a.jsa")
    archive.path.write_bytes(bytes(100))

    assert archive.options().startswith(RECORD)


ENDED = """
import sys
from pathlib import Path
from ingest.jars.artifacts import spark_jars
from ingest.spark.class_archive import ClassArchive
from ingest.spark.session import start_session
spark = start_session("test", "local[1]", {}, spark_jars(), is_short=True)
spark.sparkContext._gateway.proc.kill()
spark.sparkContext._gateway.proc.wait()
ClassArchive(Path(sys.argv[1], "class-data", "a.jsa")).write_at_exit(spark)
print("reported")
"""


@pytest.mark.spark
def test_a_jvm_that_has_ended_does_not_hide_the_report_of_a_run(tmp_path: Path) -> None:
    """Tables were committed before it ended; the archive is left to the next run."""
    done = subprocess.run(
        [sys.executable, "-c", ENDED, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )

    assert done.stdout.splitlines()[-1:] == ["reported"], done.stderr[-2000:]


def test_a_failure_is_not_repeated_at_once(tmp_path: Path) -> None:
    """A day later it is."""
    archive = ClassArchive(tmp_path / "a.jsa")
    tmp_path.chmod(0o700)
    assert archive.options().startswith(RECORD)
    archive.failure.write_text("no space")
    assert archive.options() == ""
    os.utime(archive.failure, (0, 0))
    assert archive.options().startswith(RECORD)


def test_a_folder_that_cannot_be_written_costs_the_archive_only(tmp_path: Path) -> None:
    """A run starts as without it."""
    (tmp_path / "file").touch()
    assert ClassArchive(tmp_path / "file" / "sub" / "a.jsa").options() == ""


def test_each_java_and_each_jar_has_an_archive_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where HotSpot cannot write or map one, there is none: folders in the class path end it at its start."""
    for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH"):
        monkeypatch.delenv(name, raising=False)
    java, jar = Java(find_java().program, OLDEST), tmp_path / "a.jar"
    jar.write_text("1")

    def archive(program: Java = java, master: str = "local[2]", **conf: str) -> ClassArchive | None:
        return class_archive(
            program, master, {f"spark.driver.{key}": conf[key] for key in conf}, [jar], tmp_path
        )

    first = archive()
    assert first == archive(master="local[*]")
    assert first != archive(master="yarn")
    jar.write_text("22")
    assert first != archive()
    assert archive(Java(java.program, 11)) is None
    assert archive(extraClassPath="/own.jar") is None
    assert archive(extraJavaOptions=f"{MAP}/own.jsa") is None
    assert archive(extraJavaOptions="-XX:StartFlightRecording=filename=a.jfr") is None
    assert archive(extraJavaOptions="-javaagent:agent.jar") is None
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert archive() is None


def test_a_short_run_is_spared_compiler_and_collector_threads() -> None:
    """Unless the user's options name one; a lasting run has both."""
    short = driver_options("", None, is_short=True)
    assert "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC" in short
    lasting = driver_options("", None, is_short=False)
    assert "Tiered" not in lasting
    assert "-XX:+UseParallelGC" in lasting
    own = driver_options("-XX:+UseZGC -XX:TieredStopAtLevel=3", None, is_short=True)
    assert own.count("GC") == own.count("Tiered") == 1


@pytest.mark.parametrize("is_short", [True, False])
def test_a_collector_in_javas_own_variables_wins(
    is_short: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A JVM does not start with the names of two collectors."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+UseG1GC")
    assert "GC" not in driver_options("", None, is_short=is_short)
    assert "GC" not in executor_options("", is_short=is_short)
