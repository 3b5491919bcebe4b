"""The jars of a platform: used where they fit, refused by name where they do not."""

import zipfile
from pathlib import Path

import pytest

from ingest.errors import JarError
from ingest.jars.pins import read_pins
from ingest.jars.platform import RULES, PlatformJar, check_jar, coordinates, find_jars, identify, replaced


def jar_of(name: str) -> PlatformJar:
    """Return the jar that a file's name stands for."""
    jar = identify(f"/opt/spark/jars/{name}")
    assert jar is not None
    return jar


def test_each_pinned_jar_would_be_used_from_a_platform() -> None:
    """The same files in `$SPARK_HOME/jars` replace ours, all of them."""
    jars = [jar_of(pinned.file) for pinned in read_pins()]
    assert replaced(jars) == {pinned.artifact for pinned in read_pins()} == set(RULES) - {"spark-core"}


@pytest.mark.parametrize(
    "name",
    [
        "hudi-spark3.5-bundle_2.12-1.2.0-amzn-0.jar",
        "spark-core_2.12-3.5.0.jar",
        "spark-core_2.12-3.5.1-amzn-0.jar",
        "spark-avro_2.12-3.5.0.jar",
        "kafka-clients-3.9.1.jar",
        "commons-pool2-2.12.0.jar",
    ],
)
def test_other_versions_that_fit_are_used(name: str) -> None:
    """Patch releases of Spark, builds of a vendor, Kafka's clients of 3.x."""
    check_jar(jar_of(name))


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("hudi-spark3.5-bundle_2.12-1.0.2.jar", "is hudi-spark3.5-bundle 1.0.2, and ingest needs"),
        ("hudi-spark3.5-bundle_2.12-1.2.0-rc1.jar", "is hudi-spark3.5-bundle 1.2.0-rc1, and"),
        ("hudi-spark3-bundle_2.12-0.15.0-amzn-1.jar", "is hudi-spark3-bundle 0.15.0-amzn-1, and"),
        ("hudi-utilities-bundle_2.12-1.2.0.jar", "is hudi-utilities-bundle 1.2.0, and"),
        ("hudi-spark3.5-bundle_2.13-1.2.0.jar", "is for Scala 2.13, and"),
        ("spark-core_2.13-3.5.7.jar", "is for Scala 2.13, and"),
        ("spark-core_2.12-3.4.4.jar", "is spark-core 3.4.4, and ingest needs spark-core 3.5"),
        ("spark-sql-kafka-0-10_2.12-3.4.4.jar", "is spark-sql-kafka-0-10 3.4.4, and"),
        ("kafka-clients-2.8.2.jar", "is kafka-clients 2.8.2, and ingest needs kafka-clients 3.4 to 3.9"),
        ("kafka-clients-4.1.1.jar", "is kafka-clients 4.1.1, and"),
        ("commons-pool2-2.6.0.jar", "is commons-pool2 2.6.0, and"),
    ],
)  # fmt: skip
def test_a_jar_that_does_not_fit_is_refused_with_both_versions(name: str, problem: str) -> None:
    """The error has the path, the version there, and the one that fits."""
    with pytest.raises(JarError) as refused:
        check_jar(jar_of(name))
    assert refused.value.jar == f"/opt/spark/jars/{name}"
    assert refused.value.problem.startswith(problem)
    assert ", and ingest needs " in refused.value.problem


def test_two_versions_of_one_artifact_are_refused() -> None:
    """Which of them Java loads is chance."""
    jars = [jar_of("kafka-clients-3.4.1.jar"), jar_of("kafka-clients-3.9.1.jar")]
    with pytest.raises(
        JarError, match=r"is kafka-clients 3\.9\.1, and .*kafka-clients-3\.4\.1\.jar is 3\.4\.1"
    ):
        replaced(jars)


def test_jars_are_found_in_folders_by_pattern_and_by_path(tmp_path: Path) -> None:
    """As Java reads a class path; other jars are not opened."""
    for name in ("kafka-clients-3.4.1.jar", "parquet-column-1.13.1.jar", "spark-core_2.12-3.5.7.jar"):
        (tmp_path / name).write_bytes(b"not a zip file")
    for entry in (str(tmp_path), f"{tmp_path}/*"):
        assert [jar.artifact for jar in find_jars([entry])] == ["kafka-clients", "spark-core"]
    assert [jar.version for jar in find_jars([f"{tmp_path}/kafka-clients-3.4.1.jar"])] == ["3.4.1"]
    assert find_jars([f"{tmp_path}/nowhere", f"{tmp_path}/parquet-column-1.13.1.jar"]) == ()


def test_a_name_without_a_version_is_read_from_the_link_or_the_manifest(tmp_path: Path) -> None:
    """EMR has `hudi-spark-bundle.jar`, a link; an image may have a renamed file."""
    bundle = tmp_path / "hudi-spark3.5-bundle_2.12-1.0.2-amzn-0.jar"
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\nImplementation-Version: 1.0.2\r\n")
    (tmp_path / "link.d").mkdir()
    (tmp_path / "link.d" / "hudi-spark-bundle.jar").symlink_to(bundle)
    renamed = bundle.rename(tmp_path / "hudi-spark3.5-bundle.jar")

    (by_manifest,) = find_jars([str(renamed)])
    assert (by_manifest.artifact, by_manifest.version) == ("hudi-spark3.5-bundle", "1.0.2")
    (by_link,) = find_jars([str(tmp_path / "link.d")])
    assert (by_link.artifact, by_link.version) == ("hudi-spark3.5-bundle", "1.0.2-amzn-0")


def test_a_jar_of_an_unknown_version_is_refused(tmp_path: Path) -> None:
    """Nothing names its version, so nothing says that it fits."""
    path = tmp_path / "kafka-clients.jar"
    path.write_bytes(b"")
    (jar,) = find_jars([str(path)])
    with pytest.raises(JarError, match="is kafka-clients of an unknown version"):
        check_jar(jar)


def test_packages_of_the_users_are_read_too() -> None:
    """`spark.jars.packages`, in a class loader behind ours."""
    (jar,) = coordinates("org.apache.hudi:hudi-spark3.5-bundle_2.12:0.15.0, org.postgresql:postgresql:42.7.4")
    assert (jar.artifact, jar.version) == ("hudi-spark3.5-bundle", "0.15.0")
