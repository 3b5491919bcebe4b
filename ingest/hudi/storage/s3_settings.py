"""S3A's settings in Hadoop's words, as far as a client other than Hadoop's needs them.

Every setting that is not known here, and may change which objects are read or by whom, is left to Hadoop.
"""

import os
import re
from collections.abc import Mapping
from typing import Final

import attrs

from ingest.hudi.storage.folder import UnclearFilesError
from ingest.spark.hadoop_settings import HadoopSettings

_S3A: Final = "fs.s3a."
_PATH: Final = re.compile(r"(s3a?)://([a-z0-9][a-z0-9.-]+)/(.+)")
_S3_CLASS: Final = "org.apache.hadoop.fs.s3a.S3AFileSystem"
S3_CLASSES: Final = frozenset({_S3_CLASS, "io.hudicdc.ingest.spark.S3Files"})
"""Hadoop's class of S3A, and the one that ingest makes of it."""
_AWS: Final = re.compile(r"(?:https?://)?s3(?:[.-]([a-z]{2}(?:-[a-z]+)+-\d))?\.amazonaws\.com(?:\.cn)?/?")
"""AWS's own endpoints, with the region if it is in the name."""
_ENDPOINT: Final = re.compile(r"(?:(https?)://)?([^/]+)/?")
_READ: Final = frozenset(
    {
        "access.key", "secret.key", "session.token", "aws.credentials.provider", "endpoint",
        "endpoint.region", "path.style.access", "connection.ssl.enabled", "impl",
    }
)  # fmt: skip
_HARMLESS: Final = (
    "attempts.", "block.size", "buffer.dir", "change.detection.", "committer.", "connection.establish.",
    "connection.maximum", "connection.timeout", "directory.marker.", "executor.", "experimental.",
    "fast.upload", "input.", "list.version", "max.total.tasks", "metadatastore.", "multiobjectdelete.",
    "multipart.", "paging.", "prefetch.", "readahead.", "retry.", "socket.", "threads.", "user.agent.",
    "vectored.",
)  # fmt: skip
"""Settings of speed, retries and writing."""
_SIMPLE: Final = "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
_TEMPORARY: Final = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"
_ANONYMOUS: Final = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
_ENVIRONMENT: Final = "com.amazonaws.auth.EnvironmentVariableCredentialsProvider"
_KEYS: Final = frozenset({_SIMPLE, _TEMPORARY, _ENVIRONMENT})
_VARIABLES: Final[Mapping[str, str]] = {
    "access.key": "AWS_ACCESS_KEY_ID",
    "secret.key": "AWS_SECRET_ACCESS_KEY",
    "session.token": "AWS_SESSION_TOKEN",
}
"""Spark copies these variables into S3A's settings (`SparkHadoopUtil`)."""


@attrs.frozen
class S3Settings:
    """How to reach a bucket.  Without keys it is read anonymously, without a region AWS is asked for it."""

    bucket: str
    access_key: str = ""
    secret_key: str = attrs.field(default="", repr=False)
    session_token: str = attrs.field(default="", repr=False)
    endpoint: str = ""
    scheme: str = "https"
    region: str = ""
    is_path_style: bool = False


def s3_location(path: str, hadoop: HadoopSettings) -> tuple[S3Settings, str] | None:
    """Return the bucket and the key of a path, or None for a path that is not S3A's.

    Raises UnclearFilesError for settings that only Hadoop understands.
    """
    match = _PATH.fullmatch(path)
    if match is None or "%" in path or "//" in match[3] or hadoop.values is None:
        return None
    if match[1] == "s3" and hadoop.values.get("fs.s3.impl") not in S3_CLASSES:
        return None
    return _settings(match[2], _bucket_values(match[2], hadoop.values)), match[3].strip("/")


def _bucket_values(bucket: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return S3A's settings by their names behind the prefix.  The bucket's own win."""
    of_buckets, own = f"{_S3A}bucket.", f"{_S3A}bucket.{bucket}."
    shared = {key: text for key, text in values.items() if not key.startswith(of_buckets)}
    merged = {**_from_environment(), **_below(_S3A, shared), **_below(own, values)}
    _check_known(bucket, values, merged)
    return merged


def _below(prefix: str, values: Mapping[str, str]) -> dict[str, str]:
    return {key.removeprefix(prefix): text for key, text in values.items() if key.startswith(prefix)}


def _check_known(bucket: str, values: Mapping[str, str], merged: Mapping[str, str]) -> None:
    unknown = {key for key in merged if key not in _READ and not key.startswith(_HARMLESS)}
    unknown |= {key for key in values if "credential.provider.path" in key}
    unknown |= {key for key, text in merged.items() if "${" in text}
    if unknown:
        raise UnclearFilesError(f"s3a://{bucket}: settings that only Hadoop knows: {sorted(unknown)}")
    if merged.get("impl", _S3_CLASS) not in S3_CLASSES or "AWS_ENDPOINT_URL" in os.environ:
        raise UnclearFilesError(f"s3a://{bucket}: another class, or another endpoint in the environment")


def _from_environment() -> dict[str, str]:
    if not all(os.environ.get(_VARIABLES[key]) for key in ("access.key", "secret.key")):
        return {}
    return {key: os.environ[name] for key, name in _VARIABLES.items() if os.environ.get(name)}


def _settings(bucket: str, values: Mapping[str, str]) -> S3Settings:
    is_encrypted = values.get("connection.ssl.enabled", "true").lower() != "false"
    endpoint, scheme, region = _endpoint(values.get("endpoint", ""), is_encrypted=is_encrypted)
    settings = S3Settings(
        bucket,
        endpoint=endpoint,
        scheme=scheme,
        region=values.get("endpoint.region", "") or region,
        is_path_style=values.get("path.style.access", "false").lower() == "true",
    )
    providers = [
        name.strip() for name in values.get("aws.credentials.provider", "").split(",") if name.strip()
    ]
    if providers == [_ANONYMOUS]:
        return settings
    keys = {name: values.get(name, "").strip() for name in _VARIABLES}
    if not set(providers) <= _KEYS or not keys["access.key"] or not keys["secret.key"]:
        raise UnclearFilesError(f"s3a://{bucket}: the credentials are not in the settings")
    has_token = bool(keys["session.token"]) and providers != [_SIMPLE]
    return attrs.evolve(
        settings,
        access_key=keys["access.key"],
        secret_key=keys["secret.key"],
        session_token=keys["session.token"] if has_token else "",
    )


def _endpoint(text: str, *, is_encrypted: bool) -> tuple[str, str, str]:
    """Return host, scheme and region, the host empty for AWS itself."""
    scheme = "https" if is_encrypted else "http"
    aws = _AWS.fullmatch(text)
    if not text or aws:
        return "", "https", (aws and aws[1]) or ""
    match = _ENDPOINT.fullmatch(text)
    if match is None:
        raise UnclearFilesError(f"cannot parse the endpoint {text}")
    return match[2], match[1] or scheme, "us-east-1"
