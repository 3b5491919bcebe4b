"""A platform's Spark: its own jars are used where they fit, and refused by name where they do not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from pyspark import find_spark_home

from ingest.errors import JarError, UsageError
from ingest.jars.artifacts import find_artifacts, spark_jars
from ingest.jars.job_jars import job_jars, platform_artifacts
from ingest.jars.pins import read_pins
from ingest.settings.deployment import SparkSettings

OWN: Final = SparkSettings(fetch_jars=False)


def home_with(folder: Path, *jars: Path, without: str = "-") -> Path:
    """Make a folder of links to the files of the installed Spark, with other jars among its own."""
    home = Path(find_spark_home._find_spark_home())  # noqa: SLF001  no public way; not ours
    (folder / "jars").mkdir(parents=True)
    for path in home.iterdir():
        if path.name != "jars":
            (folder / path.name).symlink_to(path)
    own = [path for path in (home / "jars").iterdir() if not path.name.startswith(without)]
    for path in (*own, *jars):
        (folder / "jars" / path.name).symlink_to(path)
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes a Spark of a platform, and lets the process use it."""
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)

    def make(*jars: Path, without: str = "-") -> Path:
        folder = home_with(tmp_path / "spark", *jars, without=without)
        monkeypatch.setenv("SPARK_HOME", str(folder))
        return folder

    return make


def pinned(*artifacts: str) -> list[Path]:
    """Return the pinned jars of some artifacts, by default all."""
    folder = find_artifacts().pinned()
    return [folder.path / jar.file for jar in folder.jars if not artifacts or jar.artifact in artifacts]


def test_a_plain_spark_gets_all_of_our_jars(home: Any) -> None:
    """The distribution of Spark has none of them."""
    home()
    assert platform_artifacts(SparkSettings()) == frozenset()
    assert job_jars(SparkSettings()) == spark_jars()


def test_only_what_the_platform_lacks_is_added(home: Any) -> None:
    """Its Kafka client stays, and ours is not on the class path."""
    home(*pinned("kafka-clients", "commons-pool2"))
    added = {path.name for path in job_jars(SparkSettings())}
    missing = {path.name for path in pinned("kafka-clients", "commons-pool2")}
    assert added == {path.name for path in spark_jars()} - missing


@pytest.mark.parametrize("key", ["conf", "defaults", "SPARK_DIST_CLASSPATH"])
def test_jars_outside_of_spark_are_found(
    home: Any, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EMR names the folders of Hudi and Kafka in `spark-defaults.conf`."""
    (tmp_path / "aux").mkdir()
    for path in pinned("kafka-clients"):
        shutil.copy(path, tmp_path / "aux")
    entries = f"/nowhere/*:{tmp_path}/aux/*"
    spark = home()
    settings = OWN
    if key == "conf":
        settings = attrs.evolve(OWN, conf={"spark.driver.extraClassPath": entries})
    elif key == "defaults":
        (spark / "conf").mkdir()
        (spark / "conf" / "spark-defaults.conf").write_text(f"# x\nspark.driver.extraClassPath   {entries}\n")
    else:
        monkeypatch.setenv(key, entries)
    assert platform_artifacts(settings) == {"kafka-clients"}


def test_jars_that_must_not_be_fetched_are_named(home: Any) -> None:
    """Hudi's bundle is there, the rest is not."""
    home(*pinned("hudi-spark3.5-bundle"))
    with pytest.raises(JarError) as refused:
        job_jars(OWN)
    others = [jar.file for jar in read_pins() if not jar.file.startswith("hudi")]
    assert refused.value.jar == ", ".join(others)
    assert "[spark] fetch_jars is false" in refused.value.problem


def test_another_hudi_is_refused_with_both_versions(home: Any, tmp_path: Path) -> None:
    """In Spark's folder, among the user's jars, and in `[spark] jars`."""
    (bundle,) = pinned("hudi-spark3.5-bundle")
    older = tmp_path / "older" / "hudi-spark3.5-bundle_2.12-1.0.2.jar"
    older.parent.mkdir()
    older.symlink_to(bundle.with_name("nowhere.jar"))
    home()
    for settings in (
        SparkSettings(conf={"spark.jars": f"/x.jar,{older}"}),
        SparkSettings(conf={"spark.jars.packages": "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.0.2"}),
        SparkSettings(conf={"spark.driver.extraClassPath": str(older)}),
        SparkSettings(jars=older.parent),
    ):
        with pytest.raises(JarError, match=r"is hudi-spark3\.5-bundle 1\.0\.2, and ingest needs .* 1\.2\.0"):
            job_jars(settings)


def test_another_spark_is_refused(home: Any, tmp_path: Path) -> None:
    """Of another version, or for another Scala."""
    for name in ("spark-core_2.12-3.4.4.jar", "spark-core_2.13-3.5.7.jar"):
        (tmp_path / name).touch()
        folder = home(tmp_path / name, without="spark-core")
        with pytest.raises(UsageError, match=f"{name}: is .* and ingest needs spark-core 3.5"):
            job_jars(SparkSettings())
        shutil.rmtree(folder)


SESSION = """
import sys
from pathlib import Path
from ingest.spark.java import find_class
from ingest.settings.deployment import SparkSettings
from ingest.jars.job_jars import job_jars
from ingest.spark.session import session_of, start_session

jars = job_jars(SparkSettings(fetch_jars=False))
print("shown:", *(jar.name for jar in jars))
spark = session_of(start_session("platform", "local[1]", {}, jars))
for name in ("org.apache.hudi.DefaultSource", "org.apache.kafka.clients.consumer.KafkaConsumer"):
    print("shown:", find_class(spark, name).getProtectionDomain().getCodeSource().getLocation().getPath())
options = {"hoodie.table.name": "t", "hoodie.datasource.write.recordkey.field": "id"}
spark.range(3).write.format("hudi").options(**options).save(sys.argv[1])
print("shown:", spark.read.format("hudi").load(sys.argv[1]).count())
spark.stop()
"""


@pytest.mark.spark
def test_a_session_runs_with_the_platforms_jars_only(tmp_path: Path) -> None:
    """All six in `$SPARK_HOME/jars`, only our own added: Hudi writes a table."""
    folder = home_with(tmp_path / "spark", *pinned())
    done = subprocess.run(
        [sys.executable, "-c", SESSION, str(tmp_path / "table")],
        env=os.environ | {"SPARK_HOME": str(folder)}, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    lines = done.stdout.splitlines()  # Hudi's memory estimator prints, too
    added, hudi, kafka, count = (line.partition(": ")[2] for line in lines if line.startswith("shown: "))
    assert added == "ingest-functions.jar"
    assert {Path(hudi).parent, Path(kafka).parent} <= {folder / "jars", find_artifacts().pinned().path}
    assert count == "3"
