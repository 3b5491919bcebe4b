"""S3A's settings lead another client to the same objects, or to none: then Spark reads the table."""

from collections.abc import Mapping

import attrs
import pytest

from ingest.hudi.storage.folder import UnclearFilesError
from ingest.hudi.storage.s3_settings import S3Settings, s3_location
from ingest.spark.hadoop_settings import LOCAL, HadoopSettings, hadoop_settings

KEYS = {"fs.s3a.access.key": "a", "fs.s3a.secret.key": "s"}
PLAIN = S3Settings("lake", "a", "s")
PROVIDER = "fs.s3a.aws.credentials.provider"
HADOOP = "org.apache.hadoop.fs.s3a."


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the variables of this machine."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "ENDPOINT_URL"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)


def location(values: Mapping[str, str], path: str = "s3a://lake/a/b") -> tuple[S3Settings, str] | None:
    """Read a path with Hadoop's settings."""
    return s3_location(path, HadoopSettings("file:///", values))


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (KEYS, PLAIN),
        (KEYS | {"fs.s3a.fast.upload": "true", "fs.s3a.connection.maximum": "9"}, PLAIN),
        (KEYS | {"fs.s3a.endpoint": "s3.amazonaws.com"}, PLAIN),
        (
            KEYS | {"fs.s3a.endpoint": "https://s3.eu-west-1.amazonaws.com"},
            attrs.evolve(PLAIN, region="eu-west-1"),
        ),
        (KEYS | {"fs.s3a.endpoint.region": "ap-east-1"}, attrs.evolve(PLAIN, region="ap-east-1")),
        (
            KEYS | {"fs.s3a.endpoint": "http://h:9000", "fs.s3a.path.style.access": "true"},
            attrs.evolve(PLAIN, endpoint="h:9000", scheme="http", region="us-east-1", is_path_style=True),
        ),
        (
            KEYS | {"fs.s3a.endpoint": "h:9000", "fs.s3a.connection.ssl.enabled": "false"},
            attrs.evolve(PLAIN, endpoint="h:9000", scheme="http", region="us-east-1"),
        ),
        (KEYS | {"fs.s3a.session.token": "t"}, attrs.evolve(PLAIN, session_token="t")),  # noqa: S106  of a test
        (
            KEYS | {"fs.s3a.session.token": "t", PROVIDER: f"{HADOOP}SimpleAWSCredentialsProvider"},
            PLAIN,
        ),
        ({PROVIDER: f"{HADOOP}AnonymousAWSCredentialsProvider"}, S3Settings("lake")),
        (KEYS | {"fs.s3a.bucket.lake.access.key": "b"}, attrs.evolve(PLAIN, access_key="b")),
        (KEYS | {"fs.s3a.bucket.other.access.key": "b"}, PLAIN),
    ],
)
def test_settings_are_read_as_s3a_reads_them(values: Mapping[str, str], wanted: S3Settings) -> None:
    """Keys, endpoint, region, bucket's own settings; those of speed do not matter."""
    assert location(values) == (wanted, "a/b")


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"fs.s3a.access.key": "a"},
        KEYS | {PROVIDER: "com.amazonaws.auth.InstanceProfileCredentialsProvider"},
        KEYS | {"fs.s3a.assumed.role.arn": "arn"},
        KEYS | {"fs.s3a.proxy.host": "h"},
        KEYS | {"fs.s3a.encryption.algorithm": "SSE-C"},
        KEYS | {"fs.s3a.bucket.lake.encryption.key": "k"},
        KEYS | {"fs.s3a.endpoint": "${env.HOST}"},
        KEYS | {"fs.s3a.impl": "com.example.Fs"},
        KEYS | {"hadoop.security.credential.provider.path": "jceks://hdfs/x"},
        KEYS | {"fs.s3a.security.credential.provider.path": "jceks://hdfs/x"},
    ],
)
def test_settings_that_only_hadoop_understands_are_left_to_it(values: Mapping[str, str]) -> None:
    """Roles, proxies, encryption by the client, key stores, variables."""
    with pytest.raises(UnclearFilesError):
        location(values)


def test_keys_in_the_environment_count_as_spark_copies_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the settings come first; another endpoint there is left to Spark."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "e")
    assert location(KEYS) == (PLAIN, "a/b")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "f")
    assert location({}) == (S3Settings("lake", "e", "f"), "a/b")
    assert location(KEYS) == (PLAIN, "a/b")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://h")
    with pytest.raises(UnclearFilesError):
        location(KEYS)


@pytest.mark.parametrize("path", ["gs://lake/a", "s3://lake/a", "s3a://lake", "s3a://lake/a//b", "/lake/a"])
def test_other_paths_are_not_s3a(path: str) -> None:
    """The scheme s3 is S3A's only where a setting says so."""
    assert location(KEYS, path) is None


@pytest.mark.parametrize("name", [f"{HADOOP}S3AFileSystem", "io.hudicdc.ingest.spark.S3Files"])
def test_hadoops_class_and_ours_are_s3a(name: str) -> None:
    """Hadoop finds the class of the scheme s3 by `fs.s3.impl`."""
    assert location(KEYS | {"fs.s3.impl": name}, "s3://lake/a") == (PLAIN, "a")
    assert location(KEYS | {"fs.s3a.impl": name}) == (PLAIN, "a/b")


def test_settings_that_may_be_incomplete_are_left_to_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of Hadoop's, or a session that has started, may know other settings."""
    conf = {f"spark.hadoop.{key}": value for key, value in KEYS.items()}
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert s3_location("s3a://lake/a", hadoop_settings(conf)) == (PLAIN, "a")
    assert s3_location("s3a://lake/a", LOCAL) is None
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert s3_location("s3a://lake/a", hadoop_settings(conf)) is None
