"""A topic of several tables, as Debezium's ByLogicalTableRouter writes it.

The schemas of all tables have the record names of the topic, and are versions of its one value subject.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from ingest.testing import Columns, Topic
from ingest.testing.connectors import Connector, LogEntry, connector_of
from ingest.testing.envelopes import envelope_schema, key_schema
from ingest.testing.servers import LocalServers
from tests.e2e.deployment import Deployment


@attrs.frozen
class Routed(Connector):
    """A connector whose events name a table of its own, in place of the one of their topic."""

    physical: str = ""

    def source(self, topic: str, entry: LogEntry) -> dict[str, Any]:
        """Make the value of `source`."""
        del topic
        return Connector.source(self, self.physical, entry)


def make_routed(
    deployment: Deployment, topic: str, tables: Mapping[str, Columns], connector: str = "postgres"
) -> dict[str, Topic]:
    """Make one topic for tables, by the names of the topics that they would have without a router."""
    servers = LocalServers(deployment.servers)
    servers.make_topic(topic)
    values = attrs.asdict(connector_of(connector), recurse=False)
    routed: dict[str, Topic] = {}
    for name, columns in tables.items():
        source = Routed(**values, physical=name)
        keys = {next(iter(columns)): next(iter(columns.values()))}
        key_id = servers.register(f"{topic}-key", key_schema(topic, keys), "NONE")
        value_id = servers.register(f"{topic}-value", envelope_schema(topic, columns, source), "NONE")
        versions = {value_id: columns}
        routed[name] = Topic(topic, keys, servers, source, key_id, versions, value_id)
    return routed


def write_file(
    deployment: Deployment, topic: str, source_table: str, dialect: str, key: Sequence[str]
) -> str:
    """Write the table file of one table of a topic; return the table's name."""
    name = source_table.rpartition(".")[2].strip('"')
    deployment.tables.mkdir(exist_ok=True)
    (deployment.tables / f"{name}.toml").write_text(
        f'table = "{name}"\ntopic = "{topic}"\nsource_table = \'{source_table}\'\ndialect = "{dialect}"\n'
        f'[subjects]\nvalue = "{topic}-value"\n[key]\ncolumns = {list(key)!r}\n'
    )
    return name
