"""The connectors behind tables, and how long each has been silent: no lag proves nothing if one is dead."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import attrs

from ingest.errors import IngestError
from ingest.json_values import JsonValue
from ingest.kafka.topics import list_topics
from ingest.kafka.watermarks import fetch_newest
from ingest.moments import write_duration
from ingest.names import Topic
from ingest.run.work.topics import FeedsByTable
from ingest.settings import Settings
from ingest.tables import Feed
from ingest.tables.naming import server_of


@attrs.frozen
class Connector(JsonValue):
    """A connector, its newest message in any topic, and the longest time that it may be silent."""

    json_keys = "prefix newest_message_at=newest_at silent_s max_silence_s=limit_s heartbeats=has_heartbeats"

    prefix: str
    newest_at: datetime | None
    has_heartbeats: bool
    limit_s: float

    @property
    def silent_s(self) -> float | None:
        """The age of the newest message, None without messages."""
        return round((datetime.now(UTC) - self.newest_at).total_seconds(), 1) if self.newest_at else None

    def problem(self) -> str:
        """Describe a connector that is silent beyond its limit, empty for any other."""
        age_s, limit = self.silent_s, f"limit is {write_duration(self.limit_s)}"
        if age_s is None:
            return f"connector {self.prefix} has left no message, {limit}" if self.has_heartbeats else ""
        if age_s <= self.limit_s:
            return ""
        return f"connector {self.prefix} has been silent for {write_duration(age_s)}, {limit}"


@attrs.frozen
class Connectors:
    """The connectors of tables by topic.  With an `error`, it is not known how long they are silent."""

    by_topic: Mapping[Topic, Connector] = attrs.Factory(dict)
    error: IngestError | None = None

    def of(self, feeds: Iterable[Feed]) -> Connector | None:
        """Return the connector of a table's topics, of several a silent one."""
        named = [self.by_topic[feed.topic] for feed in feeds if feed.topic in self.by_topic]
        silent = [connector for connector in named if connector.problem()]
        return next(iter(silent or named), None)


def find_connectors(settings: Settings, feeds: FeedsByTable) -> Connectors:
    """Ask the broker for the connectors' newest messages, as far as the settings limit their age."""
    limits, topics = settings.freshness, {feed.topic for several in feeds.values() for feed in several}
    if not topics or not (limits.max_silence or limits.max_quiet):
        return Connectors()
    try:
        prefixes = dict(_prefixes(settings, topics, list_topics(settings.kafka)))
    except IngestError as error:
        return Connectors(error=error)
    return Connectors({topic: connector for topic, connector in prefixes.items() if connector.limit_s})


def _prefixes(
    settings: Settings, topics: Iterable[Topic], present: Sequence[Topic]
) -> Iterator[tuple[Topic, Connector]]:
    """Yield each topic with its connector, which is asked once."""
    start = f"{settings.freshness.heartbeats}."
    beating = {name.removeprefix(start) for name in present if name.startswith(start)}
    asked = dict[str, Connector]()
    for topic in topics:
        prefix = _heartbeat_prefix(topic, beating) or server_of(topic)
        if prefix and prefix not in asked:
            asked[prefix] = _ask(settings, prefix, present, has_heartbeats=prefix in beating)
        if prefix:
            yield topic, asked[prefix]


def _heartbeat_prefix(topic: Topic, beating: Iterable[str]) -> str:
    """Return the longest prefix of a topic that has heartbeats, empty without one."""
    return max((prefix for prefix in beating if topic.startswith(f"{prefix}.")), key=len, default="")


def _ask(settings: Settings, prefix: str, present: Sequence[Topic], *, has_heartbeats: bool) -> Connector:
    """Ask for a connector's newest heartbeat.  Without it, or beyond the limit, any topic counts."""
    limits = settings.freshness
    connector = Connector(
        prefix, None, has_heartbeats, limits.max_silence if has_heartbeats else limits.max_quiet
    )
    if has_heartbeats and connector.limit_s:
        newest = fetch_newest(settings.kafka, [Topic(f"{limits.heartbeats}.{prefix}")])
        connector = attrs.evolve(connector, newest_at=_latest(newest.values()))
    if connector.limit_s and (connector.newest_at is None or connector.problem()):
        own = [name for name in present if name.startswith(f"{prefix}.")]
        newest = fetch_newest(settings.kafka, own)
        connector = attrs.evolve(connector, newest_at=_latest((connector.newest_at, *newest.values())))
    return connector


def _latest(moments: Iterable[datetime | None]) -> datetime | None:
    return max((moment for moment in moments if moment), default=None)
