"""The settings as values, with their defaults.

The `help` of each field is its entry in docs/reference/settings.md.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import attrs

from ingest.config.convert import Seconds
from ingest.config.rules import AtLeast, WrongValueError, not_empty, quoted, suggest, wrong_value
from ingest.names import HEARTBEATS
from ingest.settings.iceberg import IcebergSettings
from ingest.settings.lake import LakeSettings
from ingest.settings.lineage import LineageSettings
from ingest.settings.masking import MaskingSettings
from ingest.settings.secret import (
    Secret,
    mask_properties,
    mask_url,
    secrets_in_property,
    secrets_in_url,
    spellings,
)
from ingest.settings.source import SourceSettings
from ingest.tables.defaults import Defaults
from ingest.tables.target import Reader
from ingest.tables.types import Timestamps


def _masked(text: str) -> str:
    return repr(mask_url(text))


def _http_url(_: Any, attribute: "attrs.Attribute[Any]", value: Secret | None) -> None:
    if value is not None and not value.reveal().startswith(("http://", "https://")):
        raise WrongValueError(attribute.name, "found a text that is not shown; allowed: an http(s) URL")


def _known_readers(_: Any, attribute: "attrs.Attribute[Any]", value: tuple[str, ...]) -> None:
    for name in value:
        if name not in get_args(Reader):
            raise wrong_value(
                name, quoted(get_args(Reader)), suggest(name, get_args(Reader)), key=attribute.name
            )


@attrs.frozen
class RegistrySettings:
    """The schema registry."""

    url: str = attrs.field(
        default="",
        repr=_masked,
        metadata={
            "help": "Address of the schema registry (Confluent's API). Several addresses, comma separated, "
            "are tried in turn. `file:FOLDER`, or the bare path of a folder, is a registry kept in files."
        },
    )
    basic_auth: Secret | None = attrs.field(
        default=None, metadata={"help": "`user:password`. Excludes the other ways to log in."}
    )
    bearer_token: Secret | None = attrs.field(default=None, metadata={"help": "A token, sent as it is."})
    oauth_token_url: str = attrs.field(
        default="",
        repr=_masked,
        metadata={"help": "Address that issues tokens (OAuth 2, client credentials)."},
    )
    oauth_client_id: str = attrs.field(default="", metadata={"help": "The OAuth client."})
    oauth_client_secret: Secret | None = attrs.field(
        default=None, metadata={"help": "Secret of the OAuth client."}
    )
    oauth_scope: str = attrs.field(
        default="", metadata={"help": "Scope of the token, if the server requires one."}
    )
    logical_cluster: str = attrs.field(
        default="",
        metadata={"expert": True, "help": "Confluent Cloud, with a token: the registry's logical cluster."},
    )
    identity_pool_id: str = attrs.field(
        default="", metadata={"expert": True, "help": "Confluent Cloud, with a token: the identity pool."}
    )
    ca: Path | None = attrs.field(
        default=None,
        metadata={"help": "PEM file of the certificate authorities to trust, by default the system's."},
    )
    certificate: Path | None = attrs.field(
        default=None, metadata={"help": "PEM file of the client's certificate."}
    )
    key: Path | None = attrs.field(
        default=None,
        metadata={"help": "PEM file of the client's key, if the certificate's file does not hold it."},
    )
    key_password: Secret | None = attrs.field(
        default=None, metadata={"help": "Password that encrypts the key."}
    )
    timeout_s: Seconds = attrs.field(
        default=10.0,
        validator=AtLeast(0.001),
        metadata={"expert": True, "help": "Time limit of one request with its whole answer, in seconds."},
    )
    retries: int = attrs.field(
        default=2,
        validator=AtLeast(0),
        metadata={"expert": True, "help": "Retries of a request that got no answer."},
    )


@attrs.frozen
class KafkaSettings:
    """The brokers, and the properties of every Kafka client."""

    bootstrap_servers: str = attrs.field(
        default="", metadata={"help": "The brokers, `host:port`, comma separated."}
    )
    properties: dict[str, str] = attrs.field(
        factory=dict,
        repr=mask_properties,
        metadata={
            "help": "Properties of every Kafka client by their librdkafka names, such as "
            '`"security.protocol" = "SASL_SSL"`. Spark\'s source gets their Java equivalents. '
            "[Logins and secrets](../security.md) has examples."
        },
    )
    group: str = attrs.field(
        default="",
        metadata={
            "help": "Consumer group for which each run stores its offsets, after its commits, for tools that "
            "show lag. Never read back. Empty: no group."
        },
    )
    timeout_s: Seconds = attrs.field(
        default=15.0,
        validator=AtLeast(0.001),
        metadata={
            "expert": True,
            "help": "Time limit of an answer about topics, offsets or groups, in seconds.",
        },
    )
    read_timeout_s: Seconds = attrs.field(
        default=60.0,
        validator=AtLeast(1.0),
        metadata={
            "expert": True,
            "help": "Time that a read waits for a broker that does not answer, in seconds. The table then "
            "ends with exit code 75.",
        },
    )


@attrs.frozen
class TypesSettings:
    """The types of new tables.  Each table file holds the choice of its table."""

    timestamps: Timestamps = attrs.field(
        default="ntz",
        metadata={
            "help": "`[types] timestamps` of the table files that `ingest onboard` writes. `utc` lets more "
            "readers open the tables, at a price: see [Readers](readers.md)."
        },
    )


@attrs.frozen
class OnboardSettings:
    """The table files that `ingest onboard` writes."""

    name: str = attrs.field(
        default="{topic}",
        validator=not_empty,
        metadata={
            "help": "Template of table names: `{server} {database} {schema} {table} {topic}`. `--name` of "
            "`ingest onboard` overrides it. A topic with a table file keeps its table."
        },
    )
    readers: tuple[Reader, ...] = attrs.field(
        default=(),
        validator=_known_readers,
        metadata={
            "help": 'Readers of new tables, such as `["spark", "daft"]`, or `any`. They decide '
            "`[target] table_version` and `[types] timestamps` of the table files that `ingest onboard` "
            "writes, and become `[target] readers`: see [Readers](readers.md). Empty: version 9, and "
            "`[types] timestamps` of the settings."
        },
    )


@attrs.frozen
class SparkSettings:
    """The session that `ingest` starts when spark-submit did not."""

    master: str = attrs.field(
        default="local[*]",
        validator=not_empty,
        metadata={"help": "Spark's master. Ignored under spark-submit."},
    )
    conf: dict[str, str] = attrs.field(
        factory=dict,
        repr=mask_properties,
        metadata={
            "help": "Spark settings by their own names. Settings that would corrupt tables are refused."
        },
    )
    jars: Path | None = attrs.field(
        default=None,
        metadata={"expert": True, "help": "Folder of jars that replaces the ones that `ingest` brings."},
    )
    repository: str = attrs.field(
        default="",
        repr=_masked,
        metadata={
            "expert": True,
            "help": "Base address of the Maven repository that `ingest jars fetch`, and the first start, get "
            "the pinned jars from. `https://USER:PASSWORD@HOST/PATH` logs in. Empty: the mirror of the "
            "central repository in `~/.m2/settings.xml`, else the repository of Spark's own `--packages`.",
        },
    )
    fetch_jars: bool = attrs.field(
        default=True,
        metadata={
            "expert": True,
            "help": "Fetch the pinned jars that the platform's Spark lacks. `false`: all but the jar of "
            "`ingest` itself have to be on Spark's class path. Ignored under spark-submit.",
        },
    )
    class_archive: bool = attrs.field(
        default=True,
        metadata={
            "expert": True,
            "help": "Keep an archive of the loaded classes in the cache folder, 180 MB, so that later runs "
            "start faster. Written once, after the first run that commits. Ignored under spark-submit.",
        },
    )
    internals: bool = attrs.field(
        default=True,
        metadata={
            "expert": True,
            "help": "Use internals of Spark, Hudi, Hadoop and the JVM that make runs faster. `false` turns "
            "off all that are optional, for a bug report: see [Internals](../internals.md).",
        },
    )


@attrs.frozen
class RunSettings:
    """The limits of a run over many tables, and its metrics and log."""

    parallel_tables: int = attrs.field(
        default=4, validator=AtLeast(1), metadata={"help": "Number of tables processed in parallel."}
    )
    share_reads: bool = attrs.field(
        default=False,
        metadata={
            "expert": True,
            "help": "Read a topic from Kafka once for all tables of a run that read the same offsets of it, "
            "such as current rows and [history](../history.md). Spark keeps the messages, in memory or on "
            "disk, until the last of these tables is done. Up to 10,000 messages are read for each table.",
        },
    )
    lock_wait_s: Seconds = attrs.field(
        default=5.0,
        validator=AtLeast(0),
        metadata={"expert": True, "help": "Seconds that a table waits for another run of it to end."},
    )
    table_timeout_s: Seconds = attrs.field(
        default=0.0,
        validator=AtLeast(0),
        metadata={
            "expert": True,
            "help": "Time limit per table, in seconds. 0: no limit, as a first load may take hours.",
        },
    )
    stop_grace_s: Seconds = attrs.field(
        default=20.0,
        validator=AtLeast(0),
        metadata={
            "expert": True,
            "help": "Seconds that a table in its commit gets to finish when the run is stopped.",
        },
    )
    heartbeat_s: Seconds = attrs.field(
        default=30.0,
        validator=AtLeast(0),
        metadata={
            "expert": True,
            "help": "Seconds between log lines that name the tables at work and their steps, where standard "
            "error is not a terminal. 0: no lines.",
        },
    )
    upkeep: Literal["inline", "maintain"] = attrs.field(
        default="inline",
        metadata={
            "help": "Compaction, cleaning and archiving of a table's files. `inline`: after a run's commit, "
            "if there is work. `maintain`: only by `ingest maintain`, which you schedule apart from runs."
        },
    )
    metrics: str = attrs.field(
        default="",
        repr=_masked,
        metadata={
            "help": "Target of a run's metrics: a file, a folder (ending in `/`) for a textfile collector, "
            "or the URL of a Pushgateway's group. Empty: no metrics."
        },
    )
    notify: Secret | None = attrs.field(
        default=None,
        validator=_http_url,
        metadata={
            "help": "URL of a webhook: gets a POST when a table begins to fail, and when it recovers. "
            "[Metrics](../metrics.md#webhook) describes the JSON."
        },
    )
    state: Path | None = attrs.field(
        default=None,
        metadata={
            "help": "Folder of the state between runs: the last runs and the last outcome of each table, the "
            "failing tables, for `notify`, the last `ingest verify` of each table, and its rows, for "
            "`ingest status`. By default `.ingest/state` next to the settings file. Share it between hosts "
            "that run the same tables."
        },
    )
    name: str = attrs.field(
        default="",
        metadata={"help": "Name of the deployment, the title of its pages. By default its folder's name."},
    )
    keep_runs: int = attrs.field(
        default=300,
        validator=AtLeast(0),
        metadata={
            "help": "Number of run reports to keep for `ingest runs`. 0 keeps only the last outcome of each "
            "table."
        },
    )
    log_level: Literal["debug", "info", "warning", "error"] = attrs.field(
        default="warning",
        metadata={"help": "Level of the log on standard error. `info` adds a line per table and run."},
    )


@attrs.frozen
class FreshnessSettings:
    """How far tables may be behind, which a table file may change, and how long connectors may be silent."""

    max_behind: Seconds = attrs.field(
        default=0.0,
        validator=AtLeast(0),
        metadata={
            "help": 'Largest age of the oldest unread message of a table, such as "15 min". An older '
            "one makes `ingest status` say `behind`. 0: no limit."
        },
    )
    max_silence: Seconds = attrs.field(
        default=900.0,
        validator=AtLeast(0),
        metadata={
            "help": "Largest age of the newest message of a connector that has a heartbeat topic. An "
            "older one makes `ingest status` say `silent`. Must be larger than the connector's "
            "`heartbeat.interval.ms`. Needs a broker of Kafka 3.0 or later. 0: no limit."
        },
    )
    max_quiet: Seconds = attrs.field(
        default=0.0,
        validator=AtLeast(0),
        metadata={
            "help": "The same for connectors without a heartbeat topic, by the newest message of all topics "
            "with their prefix. A source without changes is as quiet as a dead connector. 0: no limit."
        },
    )
    heartbeats: str = attrs.field(
        default=HEARTBEATS,
        validator=not_empty,
        metadata={"expert": True, "help": "The connectors' `topic.heartbeat.prefix`."},
    )


@attrs.frozen
class Settings:
    """One deployment.  `source` is the settings file, or says that it is missing."""

    registry: RegistrySettings = RegistrySettings()
    kafka: KafkaSettings = attrs.Factory(KafkaSettings)
    lake: LakeSettings = LakeSettings()
    spark: SparkSettings = attrs.Factory(SparkSettings)
    run: RunSettings = RunSettings()
    freshness: FreshnessSettings = FreshnessSettings()
    types: TypesSettings = TypesSettings()
    onboard: OnboardSettings = OnboardSettings()
    lineage: LineageSettings = LineageSettings()
    iceberg: IcebergSettings = attrs.Factory(IcebergSettings)
    masking: MaskingSettings = attrs.Factory(MaskingSettings)
    sources: dict[str, SourceSettings] = attrs.field(factory=dict)
    defaults: Defaults = attrs.Factory(Defaults)
    tables_dir: Path = Path("tables")
    source: str = "defaults"

    @property
    def state_dir(self) -> Path:
        """The folder of the state between runs."""
        return self.run.state or self.tables_dir.parent / ".ingest" / "state"

    @property
    def title(self) -> str:
        """The deployment's name, by default its folder's."""
        return self.run.name or self.tables_dir.parent.name

    def secrets(self) -> tuple[str, ...]:
        """Return every secret text that the log masks, in all its spellings, longest first."""
        sections: tuple[_Section, ...] = (
            *(self.registry, self.kafka, self.spark, self.run, self.lineage, self.iceberg, self.masking),
            *self.sources.values(),
        )
        plain = {text for section in sections for text in _secrets(section)} - {"", "true", "false"}
        secrets = {spelling for text in plain for spelling in spellings(text)}
        return tuple(sorted(secrets, key=lambda text: (-len(text), text)))


_Section = (
    RegistrySettings
    | KafkaSettings
    | SparkSettings
    | RunSettings
    | LineageSettings
    | IcebergSettings
    | MaskingSettings
    | SourceSettings
)


def _secrets(section: _Section) -> Iterator[str]:
    for value in attrs.asdict(section, recurse=False).values():
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
    if isinstance(section, RegistrySettings) and section.basic_auth:
        yield section.basic_auth.reveal().partition(":")[2]
