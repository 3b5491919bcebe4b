"""The settings as values, with their defaults."""

from collections.abc import Iterator
from pathlib import Path

import attrs

from ingest.settings.secret import (
    Secret,
    mask_properties,
    mask_url,
    secrets_in_property,
    secrets_in_url,
)


@attrs.frozen
class RegistrySettings:
    """The schema registry; several URLs, comma separated, are tried in turn.

    A URL `file:FOLDER` (or the bare path of a folder) is a registry kept in files.
    `logical_cluster` and `identity_pool_id` are what Confluent Cloud wants beside a bearer token.
    """

    url: str = attrs.field(default="", repr=lambda text: repr(mask_url(text)))
    basic_auth: Secret | None = None
    bearer_token: Secret | None = None
    oauth_token_url: str = attrs.field(default="", repr=lambda text: repr(mask_url(text)))
    oauth_client_id: str = ""
    oauth_client_secret: Secret | None = None
    oauth_scope: str = ""
    logical_cluster: str = ""
    identity_pool_id: str = ""
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    key_password: Secret | None = None
    timeout_s: float = 10.0
    retries: int = 2


@attrs.frozen
class KafkaSettings:
    """The brokers, and the properties of every Kafka client."""

    bootstrap_servers: str = ""
    properties: dict[str, str] = attrs.field(factory=dict, repr=mask_properties)


@attrs.frozen
class LakeSettings:
    """The root of all tables: a local folder (absolute once loaded) or any Hadoop URI.

    `lock` is `auto`, or `none` where something else lets one run of a table go at a time.  `database` is the
    one of Spark's catalog in which tables are found by name; none, where it is empty.
    """

    path: str = "lake"
    lock: str = "auto"
    database: str = ""

    def table_path(self, table: str) -> str:
        """Return where a table lies."""
        return f"{self.path.rstrip('/')}/{table}"

    def rejects_path(self, table: str) -> str:
        """Return where the records that a table set aside lie."""
        return f"{self.path.rstrip('/')}/_rejects/{table}"

    def lock_path(self, table: str) -> str:
        """Return the folder of a table's lock."""
        return f"{self.path.rstrip('/')}/_locks/{table}"


@attrs.frozen
class SparkSettings:
    """The session that `ingest` starts when spark-submit did not; `jars` is a folder of jars."""

    master: str = "local[*]"
    conf: dict[str, str] = attrs.field(factory=dict, repr=mask_properties)
    jars: Path | None = None


@attrs.frozen
class RunSettings:
    """How a run over many tables goes.

    `lock_wait_s` is how long a table waits for another run of it.  `table_timeout_s` is how long it may take,
    0 for as long as it wants: a first load may take hours.  `stop_grace_s` is what a table in its commit gets
    when it is to stop.  `metrics` is where a run's metrics go (`ingest.run.openmetrics`).  `log_level` says
    what is logged on standard error: at `info` a line for each table and run.
    """

    parallel_tables: int = 4
    lock_wait_s: float = 5.0
    table_timeout_s: float = 0.0
    stop_grace_s: float = 20.0
    metrics: str = attrs.field(default="", repr=lambda text: repr(mask_url(text)))
    log_level: str = "warning"


@attrs.frozen
class Settings:
    """One deployment; `source` is the settings file, or says that there is none."""

    registry: RegistrySettings = RegistrySettings()
    kafka: KafkaSettings = attrs.Factory(KafkaSettings)
    lake: LakeSettings = LakeSettings()
    spark: SparkSettings = attrs.Factory(SparkSettings)
    run: RunSettings = RunSettings()
    tables_dir: Path = Path("tables")
    source: str = "defaults"

    def secrets(self) -> tuple[str, ...]:
        """Return every secret text, longest first: what the log has to mask."""
        parts = (self.registry, self.kafka, self.spark, self.run)
        found = {text for part in parts for text in _secrets(part)} - {"", "true", "false"}
        return tuple(sorted(found, key=lambda text: (-len(text), text)))


def _secrets(part: RegistrySettings | KafkaSettings | SparkSettings | RunSettings) -> Iterator[str]:
    for value in attrs.asdict(part, recurse=False).values():
        match value:
            case Secret():
                yield value.reveal()
            case str():
                yield from secrets_in_url(value)
            case dict():
                for name, text in value.items():
                    yield from secrets_in_property(name, text)
            case _:
                pass
    if isinstance(part, RegistrySettings) and part.basic_auth:
        yield part.basic_auth.reveal().partition(":")[2]
